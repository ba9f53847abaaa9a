// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <utility>

#include "metrics/label_text.hpp"
#include "weft/detail/calls/client/client_options.hpp"
#include "weft/detail/calls/client/pool_options.hpp"
#include "weft/detail/calls/server/server_options.hpp"
#include "weft/detail/transport/tls_stats.hpp"
#include "weft/metrics.hpp"

namespace weft {

namespace detail {

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram, kInfo };

/// Samples of one metric. The name lacks the suffix that its type adds.
struct MetricFamily {
  std::string_view name;
  MetricType type = MetricType::kCounter;
  std::string_view help;
  std::string samples;
};

namespace {

/// Value of rpc.system.name in the conventions of OpenTelemetry.
constexpr std::string_view kSystem = "weft";
/// Value of rpc.method there for requests for no method, whose names a stranger chooses.
constexpr std::string_view kOtherMethods = "_OTHER";

/// Suffix that the samples of a type have.
constexpr std::string_view suffix_of(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "_total";
    case MetricType::kInfo:
      return "_info";
    default:
      return "";
  }
}

constexpr std::string_view type_name(MetricType type, MetricsFormat format) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
    case MetricType::kInfo:
      return format == MetricsFormat::kOpenMetrics ? "info" : "gauge";
  }
  return "";
}

void add_number(std::string& text, std::uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text.append(digits, end);
}

// Seconds with all nanoseconds, so that nothing is lost by a rounding.
void add_seconds(std::string& text, Duration value) {
  const auto count = static_cast<std::uint64_t>(std::max(value, Duration::zero()).count());
  add_number(text, count / 1'000'000'000);
  char fraction[11];
  std::snprintf(fraction, sizeof fraction, ".%09llu", static_cast<unsigned long long>(count % 1'000'000'000));
  std::string_view digits{fraction};
  while (digits.size() > 2 && digits.back() == '0') digits.remove_suffix(1);
  text += digits;
}

/// Bytes of a line of a histogram without the name of the method, about.
constexpr std::size_t kHistogramLineBytes = 160;

/// Labels of a sample, without the braces: `name="value",...`.
class Labels {
 public:
  Labels& add(std::string_view name, std::string_view value) {
    if (!text_.empty()) text_ += ',';
    text_ += name;
    text_ += "=\"";
    add_label_text(text_, value);
    text_ += '"';
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The bounds of LatencyHistogram in seconds, as canonical numbers of OpenMetrics.
constexpr std::array<std::string_view, LatencyHistogram::kBounds + 1> kBoundTexts = {
    "1e-06", "2e-06", "5e-06", "1e-05", "2e-05", "5e-05", "0.0001", "0.0002", "0.0005",
    "0.001", "0.002", "0.005", "0.01",  "0.02",  "0.05",  "0.1",    "0.2",    "0.5",
    "1.0",   "2.0",   "5.0",   "10.0",  "20.0",  "50.0",  "100.0",  "+Inf"};

/// Statistics of all methods of one name: specialisations of a template share one.
using Methods = std::map<std::string_view, MethodStats>;

void add_method(MethodStats& to, const MethodStats& from) {
  to.calls += from.calls;
  to.answered += from.answered;
  to.refused += from.refused;
  to.dropped += from.dropped;
  to.running += from.running;
  for (std::size_t code = 0; code < kStatusCodes; ++code) {
    to.failed[code] += from.failed[code];
    to.refused_codes[code] += from.refused_codes[code];
  }
  for (const CodeLatency& latency : from.latencies) {
    const auto same = std::find_if(to.latencies.begin(), to.latencies.end(),
                                   [&](const CodeLatency& other) { return other.code == latency.code; });
    if (same != to.latencies.end()) {
      same->histogram += latency.histogram;
    } else {
      to.latencies.push_back(latency);
    }
  }
  to.waited += from.waited;
  to.ran += from.ran;
  to.bytes_received += from.bytes_received;
  to.bytes_sent += from.bytes_sent;
}

std::string words_to_name(std::string_view words) {
  std::string name{words};
  std::replace_if(name.begin(), name.end(), [](char letter) { return letter == ' ' || letter == '-'; }, '_');
  return name;
}

/// Writes samples into the families of a page.
class Writer {
 public:
  explicit Writer(std::vector<MetricFamily>& families) : families_(families) {}

  /// The next samples are of this metric. All arguments live as long as the program.
  Writer& metric(std::string_view name, MetricType type, std::string_view help) {
    const auto same = std::find_if(families_.begin(), families_.end(),
                                   [&](const MetricFamily& family) { return family.name == name; });
    if (same != families_.end()) {
      family_ = &*same;
    } else {
      family_ = &families_.emplace_back(MetricFamily{name, type, help, {}});
    }
    return *this;
  }
  Writer& counter(std::string_view name, std::string_view help) {
    return metric(name, MetricType::kCounter, help);
  }
  Writer& gauge(std::string_view name, std::string_view help) {
    return metric(name, MetricType::kGauge, help);
  }
  Writer& put(const Labels& labels, std::uint64_t value) {
    begin(suffix_of(family_->type), labels.text());
    add_number(family_->samples, value);
    family_->samples += '\n';
    return *this;
  }
  Writer& put(const Labels& labels, Duration value) {
    begin(suffix_of(family_->type), labels.text());
    add_seconds(family_->samples, value);
    family_->samples += '\n';
    return *this;
  }
  void reserve(std::size_t bytes) { family_->samples.reserve(bytes); }
  void put(const Labels& labels, const LatencyHistogram& histogram) {
    std::string& out = family_->samples;
    std::string bucket{family_->name};
    bucket.append("_bucket{").append(labels.text()).append(",le=\"");
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < kBoundTexts.size(); ++i) {
      below += histogram.counts[i];
      out += bucket;
      out += kBoundTexts[i];
      out += "\"} ";
      add_number(out, below);
      out += '\n';
    }
    begin("_sum", labels.text());
    add_seconds(out, histogram.sum);
    out += '\n';
    begin("_count", labels.text());
    add_number(out, below);
    out += '\n';
  }

 private:
  void begin(std::string_view suffix, std::string_view labels) {
    std::string& out = family_->samples;
    out += family_->name;
    out += suffix;
    if (!labels.empty()) {
      out += '{';
      out += labels;
      out += '}';
    }
    out += ' ';
  }

  std::vector<MetricFamily>& families_;
  MetricFamily* family_ = nullptr;
};

void put_latencies(Writer& out, const Methods& methods) {
  out.metric("rpc_server_call_duration_seconds", MetricType::kHistogram,
             "Time from the receipt of a request to the end of the loop's turn that sent the answer.");
  std::size_t bytes = 0;
  for (const auto& [name, method] : methods) {
    bytes += method.latencies.size() * (kBoundTexts.size() + 2) * (name.size() + kHistogramLineBytes);
  }
  out.reserve(bytes);
  for (const auto& [name, method] : methods) {
    for (const CodeLatency& latency : method.latencies) {
      Labels labels;
      labels.add("rpc_system_name", kSystem).add("rpc_method", name);
      labels.add("rpc_response_status_code", to_string(latency.code));
      out.put(labels, latency.histogram);
    }
  }
}

void put_outcomes(Writer& out, const Methods& methods) {
  out.counter("weft_server_calls", "Calls that have ended, by their outcome and code.");
  const auto put = [&out](std::string_view method, std::string_view outcome, std::string_view code,
                          std::uint64_t count) {
    out.put(Labels{}.add("method", method).add("outcome", outcome).add("code", code), count);
  };
  for (const auto& [name, method] : methods) {
    put(name, "answered", to_string(StatusCode::kOk), method.answered);
    for (std::size_t i = 0; i < kStatusCodes; ++i) {
      const std::string_view code = to_string(static_cast<StatusCode>(i));
      if (method.failed[i] != 0) put(name, "failed", code, method.failed[i]);
      if (method.refused_codes[i] != 0) put(name, "refused", code, method.refused_codes[i]);
    }
    if (method.dropped != 0) put(name, "dropped", "", method.dropped);
  }
}

void put_methods(Writer& out, const ServerStats& stats) {
  Methods methods;
  for (const MethodStats& method : stats.methods) add_method(methods[method.name], method);
  add_method(methods[kOtherMethods], stats.unknown);
  put_latencies(out, methods);
  put_outcomes(out, methods);
  const auto put_each = [&](auto value_of) {
    for (const auto& [name, method] : methods) out.put(Labels{}.add("method", name), value_of(method));
  };
  out.gauge("weft_server_calls_running", "Calls whose handlers have not ended.");
  put_each([](const MethodStats& method) { return std::uint64_t{method.running}; });
  out.counter("weft_server_calls_waited_seconds", "Time that calls spent before their handlers began.");
  put_each([](const MethodStats& method) { return method.waited; });
  out.counter("weft_server_calls_ran_seconds", "Time that calls spent in their handlers.");
  put_each([](const MethodStats& method) { return method.ran; });
  out.counter("weft_server_request_bytes", "Arguments, metadata and attachments of served requests.");
  put_each([](const MethodStats& method) { return method.bytes_received; });
  out.counter("weft_server_answer_bytes", "Results and their attachments.");
  put_each([](const MethodStats& method) { return method.bytes_sent; });
}

void put_refusals(Writer& out, const RefusalCounts& refused) {
  out.counter("weft_server_refusals", "Requests and connections that were refused, by the reason.");
  for (std::size_t i = 0; i < kRefusalReasons; ++i) {
    const auto reason = static_cast<RefusalReason>(i);
    out.put(Labels{}.add("reason", words_to_name(to_string(reason))), refused[reason]);
  }
}

void put_traffic(Writer& out, const ConnectionStats& traffic, const Labels& labels) {
  const auto put = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    out.counter(name, help).put(labels, value);
  };
  put("weft_transport_received_bytes", "Bytes that connections received.", traffic.bytes_received);
  put("weft_transport_sent_bytes", "Bytes that connections sent.", traffic.bytes_sent);
  put("weft_transport_received_frames", "Whole frames that connections received.", traffic.frames_received);
  put("weft_transport_sent_frames", "Frames that connections sent.", traffic.frames_sent);
  put("weft_transport_receives", "Receptions that brought bytes.", traffic.receives);
  put("weft_transport_sends", "Transmissions that took bytes.", traffic.sends);
  put("weft_stream_received_items", "Items of streams that were received.", traffic.items_received);
  put("weft_stream_sent_items", "Items of streams that were sent.", traffic.items_sent);
}

void put_loops(Writer& out, const std::vector<LoopStats>& loops) {
  const auto put = [&](std::string_view name, std::string_view help, auto value_of) {
    out.counter(name, help);
    for (std::size_t i = 0; i < loops.size(); ++i) {
      out.put(Labels{}.add("loop", std::to_string(i)), value_of(loops[i]));
    }
  };
  put("weft_loop_busy_seconds", "Time that a loop was not asleep.",
      [](const LoopStats& loop) { return loop.busy; });
  put("weft_loop_turns", "Turns of a loop.", [](const LoopStats& loop) { return loop.turns; });
  put("weft_loop_quick_turns", "Turns that asked no descriptors.",
      [](const LoopStats& loop) { return loop.quick_turns; });
  put("weft_loop_polls", "Questions to the kernel that could not block.",
      [](const LoopStats& loop) { return loop.polls; });
  put("weft_loop_sleeps", "Questions to the kernel that could block.",
      [](const LoopStats& loop) { return loop.sleeps; });
  put("weft_loop_wakeups", "Times that another thread woke a loop.",
      [](const LoopStats& loop) { return loop.wakeups; });
  put("weft_loop_reports", "Events of descriptors.", [](const LoopStats& loop) { return loop.reports; });
}

/// Counters that a client and a pool have in common.
struct ClientCounts {
  std::size_t in_flight = 0;
  std::size_t waiting = 0;
  std::uint64_t calls = 0;
  std::uint64_t late_answers = 0;
  std::uint64_t connects = 0;
  std::uint64_t connect_failures = 0;
};

void put_client(Writer& out, const ClientCounts& counts, const ConnectionStats& traffic,
                std::string_view target) {
  const Labels labels = Labels{}.add("target", target);
  out.gauge("weft_client_calls_in_flight", "Calls that were sent and not answered.")
      .put(labels, std::uint64_t{counts.in_flight});
  out.gauge("weft_client_calls_waiting", "Calls that wait for a connection or for room.")
      .put(labels, std::uint64_t{counts.waiting});
  out.counter("weft_client_calls", "Requests that were queued.").put(labels, counts.calls);
  out.counter("weft_client_late_answers", "Answers to calls that had ended.")
      .put(labels, counts.late_answers);
  out.counter("weft_client_connects", "Connections that came up.").put(labels, counts.connects);
  out.counter("weft_client_connect_failures", "Attempts to connect that failed.")
      .put(labels, counts.connect_failures);
  put_traffic(out, traffic, Labels{}.add("side", "client").add("target", target));
}

void put_pool(Writer& out, const PoolStats& stats, std::string_view target) {
  const auto labels = [target](std::string_view name, std::string_view value) {
    return Labels{}.add("target", target).add(name, value);
  };
  const std::size_t free = stats.connections - std::min(stats.connections_busy, stats.connections);
  out.gauge("weft_pool_connections", "Connections of a pool, by their state.")
      .put(labels("state", "busy"), std::uint64_t{stats.connections_busy})
      .put(labels("state", "free"), std::uint64_t{free})
      .put(labels("state", "making"), std::uint64_t{stats.connections_making})
      .put(labels("state", "leaving"), std::uint64_t{stats.connections_leaving});
  out.counter("weft_pool_connections_ended", "Connections of a pool that have ended, by the reason.")
      .put(labels("reason", "lost"), stats.connections_lost)
      .put(labels("reason", "idle"), stats.connections_idle)
      .put(labels("reason", "renewed"), stats.connections_renewed);
  const Labels of_target = Labels{}.add("target", target);
  out.counter("weft_pool_waits", "Calls that had to wait for a connection or for room.")
      .put(of_target, stats.waits);
  out.counter("weft_pool_retries", "Repetitions of calls whose connection was lost.")
      .put(of_target, stats.retries);
  out.counter("weft_pool_retries_refused", "Repetitions that the retry budget did not allow.")
      .put(of_target, stats.retries_refused);
}

void put_handshakes(Writer& out, const TlsStats& stats, std::string_view credentials) {
  out.counter("weft_tls_handshakes", "Handshakes of TLS that have ended, by their outcome.");
  const auto put = [&](std::string_view outcome, std::uint64_t count) {
    out.put(Labels{}.add("credentials", credentials).add("outcome", outcome), count);
  };
  put("done", stats.handshakes);
  put("not_tls", stats.not_tls);
  put("certificates_refused", stats.certificates_refused);
  put("nothing_common", stats.nothing_common);
  put("broken", stats.broken);
  put("lost", stats.lost);
  put("late", stats.late);
  put("pushed_out", stats.pushed_out);
  put("over_rate", stats.over_rate);
  put("out_of_memory", stats.out_of_memory);
}

}  // namespace
}  // namespace detail

using detail::Labels;
using detail::MetricType;
using detail::Writer;

std::string_view media_type(MetricsFormat format) {
  return format == MetricsFormat::kOpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                               : "text/plain; version=0.0.4; charset=utf-8";
}

MetricsPage::MetricsPage(MetricsFormat format) : format_(format) {
  Writer{families_}
      .metric("weft_build", MetricType::kInfo, "Version of Weft, and the compiler of this program.")
      .put(Labels{}.add("version", WEFT_VERSION).add("compiler", __VERSION__), std::uint64_t{1});
}

MetricsPage::MetricsPage(MetricsPage&& other) noexcept = default;
MetricsPage& MetricsPage::operator=(MetricsPage&& other) noexcept = default;
MetricsPage::~MetricsPage() = default;

void MetricsPage::add(const ServerStats& stats) {
  Writer out{families_};
  put_methods(out, stats);
  put_refusals(out, stats.refused);
  out.gauge("weft_server_connections", "Connections that are open.")
      .put({}, std::uint64_t{stats.connections});
  out.counter("weft_server_connections_accepted", "Connections that were accepted.")
      .put({}, stats.connections_accepted);
  out.counter("weft_server_connections_refused", "Connections that were turned away.")
      .put({}, stats.connections_refused);
  out.counter("weft_server_loops_held", "Times that a handler or other work held a loop up.")
      .put({}, stats.loops_held);
  put_traffic(out, stats.traffic, Labels{}.add("side", "server"));
  const Labels process = Labels{}.add("budget", "process");
  out.gauge("weft_memory_used_bytes", "Memory that is charged to a budget.")
      .put(process, std::uint64_t{stats.memory.used});
  out.gauge("weft_memory_limit_bytes", "Limit of a budget of memory.")
      .put(process, std::uint64_t{stats.memory.limit});
  put_loops(out, stats.loops);
}

void MetricsPage::add(const ClientStats& stats, std::string_view target) {
  Writer out{families_};
  put_client(out,
             {stats.calls_in_flight, stats.calls_waiting, stats.calls, stats.late_answers, stats.connections,
              stats.connect_failures},
             stats.traffic, target);
}

void MetricsPage::add(const PoolStats& stats, std::string_view target) {
  Writer out{families_};
  put_client(out,
             {stats.calls_in_flight, stats.calls_waiting, stats.calls, stats.late_answers, stats.connects,
              stats.connect_failures},
             stats.traffic, target);
  put_pool(out, stats, target);
}

void MetricsPage::add(const TlsStats& stats, std::string_view credentials) {
  Writer out{families_};
  put_handshakes(out, stats, credentials);
  const Labels labels = Labels{}.add("credentials", credentials);
  out.counter("weft_tls_resumed_handshakes", "Handshakes without certificates, of a session before.")
      .put(labels, stats.resumed);
  out.counter("weft_tls_plain_connections", "Peers without TLS that were served.").put(labels, stats.plain);
  out.counter("weft_tls_reloads", "Times that changed files were read again.").put(labels, stats.reloads);
  out.counter("weft_tls_reload_failures",
              "Times that changed files were not good, and the last good ones stayed.")
      .put(labels, stats.reloads_failed);
}

std::string MetricsPage::text() const {
  std::string text;
  std::size_t size = 0;
  for (const detail::MetricFamily& family : families_) size += family.samples.size() + 256;
  text.reserve(size);
  for (const detail::MetricFamily& family : families_) {
    std::string name{family.name};
    if (format_ == MetricsFormat::kPrometheus) name += detail::suffix_of(family.type);
    text += "# HELP " + name + ' ';
    text += family.help;
    text += "\n# TYPE " + name + ' ';
    text += detail::type_name(family.type, format_);
    text += '\n';
    text += family.samples;
  }
  if (format_ == MetricsFormat::kOpenMetrics) text += "# EOF\n";
  return text;
}

std::string metrics_text(const ServerStats& stats, MetricsFormat format) {
  MetricsPage page{format};
  page.add(stats);
  return page.text();
}

}  // namespace weft
