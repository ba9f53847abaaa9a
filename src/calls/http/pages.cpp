// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "calls/http/call_pages.hpp"
#include "calls/http/console_page.hpp"
#include "calls/http/log_page.hpp"
#include "calls/http/page.hpp"
#include "calls/http/page_json.hpp"
#include "weft/detail/calls/server/server_options.hpp"
#include "weft/detail/http/media_type.hpp"
#include "weft/detail/transport/url.hpp"
#include "weft/metrics.hpp"

namespace weft::detail::http {

namespace {

PageContent write_metrics(const ServerView& server, const Request& request) {
  // The wider format wins a tie: a client that names none gets text that all collectors read.
  const unsigned open = accept_weight(request, "application/openmetrics-text");
  const bool is_open = open > accept_weight(request, "text/plain");
  const MetricsFormat format = is_open ? MetricsFormat::kOpenMetrics : MetricsFormat::kPrometheus;
  return {.type = media_type(format), .text = metrics_text(server.stats(), format)};
}

PageContent write_health(const ServerView& server, const Request&) {
  const bool draining = server.is_draining();
  return {.status = draining ? 503 : 200,
          .text = draining ? "{\"live\":true,\"ready\":false,\"draining\":true}\n"
                           : "{\"live\":true,\"ready\":true,\"draining\":false}\n"};
}

void write_codes(Json& json, std::string_view name, const std::array<std::uint64_t, kStatusCodes>& counts) {
  json.name(name).begin('{');
  for (std::size_t code = 0; code < kStatusCodes; ++code) {
    if (counts[code] != 0) json.field(to_string(static_cast<StatusCode>(code)), counts[code]);
  }
  json.end('}');
}

void write_method(Json& json, std::string_view name, const MethodStats& method) {
  const LatencyHistogram latency = method.latency();
  json.begin('{').text("name", name).field("calls", method.calls).field("running", method.running);
  json.field("answered", method.answered).field("dropped", method.dropped);
  write_codes(json, "failed", method.failed);
  write_codes(json, "refused", method.refused_codes);
  json.time("p50_us", latency.quantile(0.5)).time("p90_us", latency.quantile(0.9));
  json.time("p99_us", latency.quantile(0.99)).time("waited_us", method.waited).time("ran_us", method.ran);
  json.field("bytes_received", method.bytes_received).field("bytes_sent", method.bytes_sent);
  json.name("durations").begin('[');
  for (const std::uint64_t count : latency.counts) json.number(count);
  json.end(']').end('}');
}

PageContent write_methods(const ServerView& server, const Request&) {
  return json_page([stats = server.stats()](Json& json) {
    json.name("bounds_us").begin('[');
    for (const Duration bound : LatencyHistogram::bounds()) {
      json.number(static_cast<std::uint64_t>(bound / std::chrono::microseconds{1}));
    }
    json.end(']').name("methods").begin('[');
    for (const MethodStats& method : stats.methods) write_method(json, method.name, method);
    json.end(']').name("unknown");
    write_method(json, "_OTHER", stats.unknown);
  });
}

PageContent write_connections(const ServerView& server, const Request&) {
  return json_page([stats = server.stats()](Json& json) {
    json.field("open", stats.connections).field("accepted", stats.connections_accepted);
    json.field("refused", stats.connections_refused).field("protocol_errors", stats.protocol_errors);
    json.field("bytes_received", stats.traffic.bytes_received).field("bytes_sent", stats.traffic.bytes_sent);
    json.field("frames_received", stats.traffic.frames_received);
    json.field("frames_sent", stats.traffic.frames_sent).field("receives", stats.traffic.receives);
    json.field("sends", stats.traffic.sends).field("items_received", stats.traffic.items_received);
    json.field("items_sent", stats.traffic.items_sent);
  });
}

PageContent write_loops(const ServerView& server, const Request&) {
  return json_page([stats = server.stats()](Json& json) {
    json.field("held", stats.loops_held).name("loops").begin('[');
    for (const LoopStats& loop : stats.loops) {
      json.begin('{').time("busy_us", loop.busy).field("turns", loop.turns);
      json.field("quick_turns", loop.quick_turns).field("polls", loop.polls).field("sleeps", loop.sleeps);
      json.field("wakeups", loop.wakeups).field("reports", loop.reports).end('}');
    }
    json.end(']');
  });
}

PageContent write_memory(const ServerView& server, const Request&) {
  return json_page([memory = server.stats().memory](Json& json) {
    json.name("process").begin('{').field("used_bytes", memory.used);
    json.field("limit_bytes", memory.limit).end('}');
  });
}

constexpr Page kPages[] = {{"/calls", write_calls},
                           {"/connections", write_connections},
                           {"/console", write_console, nullptr, {}, true},
                           {"/health", write_health},
                           {"/log", write_log, set_log, "/log/set"},
                           {"/loops", write_loops},
                           {"/memory", write_memory},
                           {"/methods", write_methods},
                           {"/metrics", write_metrics}};

/// Returns true if `host`, without a port, is an address of this host or localhost.
bool is_loopback(std::string_view host) {
  if (host.starts_with('[')) host = host.substr(1, host.find(']') - 1);
  const std::string name{host};
  in_addr address{};
  if (::inet_pton(AF_INET, name.c_str(), &address) == 1) return ntohl(address.s_addr) >> 24 == 127;
  in6_addr wide{};
  if (::inet_pton(AF_INET6, name.c_str(), &wide) != 1) return equal_ignoring_case(name, "localhost");
  return IN6_IS_ADDR_LOOPBACK(&wide) || (IN6_IS_ADDR_V4MAPPED(&wide) && wide.s6_addr[12] == 127);
}

}  // namespace

const Page* find_page(std::string_view path) noexcept {
  const auto* const page = std::find_if(std::begin(kPages), std::end(kPages),
                                        [path](const Page& each) { return each.path == path; });
  return page != std::end(kPages) ? page : nullptr;
}

bool is_local(std::string_view local, std::string_view host) {
  const Result<Url> url = Url::parse(local);
  if (!url.ok()) return false;
  if (url->scheme == "unix" || url->scheme == "memory") return true;
  if (!host.starts_with('[')) host = host.substr(0, host.find(':'));
  return is_loopback(url->host) && is_loopback(host);
}

}  // namespace weft::detail::http
