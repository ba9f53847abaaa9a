// SPDX-License-Identifier: Apache-2.0
#include "load/report.hpp"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace weft::load {
namespace {

/// A nanosecond is as fine as the clock is; more digits would only be noise.
double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

template <typename... Args>
std::string format(const char* text, Args... args) {
  char line[200];
  const int length = std::snprintf(line, sizeof line, text, args...);
  return {line, static_cast<std::size_t>(length)};
}

}  // namespace

std::string to_json(const Report& report) {
  nlohmann::ordered_json json;
  json["qps"] = rounded(report.qps);
  json["gbps"] = rounded(report.gbps);
  json["p50_us"] = rounded(report.p50_us);
  json["p90_us"] = rounded(report.p90_us);
  json["p99_us"] = rounded(report.p99_us);
  json["p999_us"] = rounded(report.p999_us);
  json["max_us"] = rounded(report.max_us);
  json["errors"] = report.errors;
  json["cpu_us_per_call"] = rounded(report.cpu_us_per_call);
  json["calls"] = report.calls;
  json["seconds"] = rounded(report.seconds);
  if (!report.carrier.empty()) json["carrier"] = report.carrier;
  if (const auto& beside = report.beside) {
    json["transfers"] = beside->transfers;
    json["transfers_gbps"] = rounded(beside->transfers_gbps);
    json["timer_p99_us"] = rounded(beside->timer_p99_us);
    json["timer_max_us"] = rounded(beside->timer_max_us);
    json["server_timer_p99_us"] = rounded(beside->server_timer_p99_us);
    json["server_timer_max_us"] = rounded(beside->server_timer_max_us);
  }
  return json.dump();
}

std::string to_table(const Report& report, const ClientOptions& options) {
  std::string text = format("%llu B%s, %u connection%s x %u in flight, %.3g s, ",
                            static_cast<unsigned long long>(options.size_bytes),
                            options.attachment ? " as an attachment" : "", options.connections,
                            options.connections == 1 ? "" : "s", options.depth, report.seconds);
  if (options.streams != Streams::kNone) text += "streams, ";
  text += options.rate > 0 ? format("open loop, %.10g /s due", options.rate) : "closed loop";
  text += report.carrier.empty() ? "\n" : ", over " + report.carrier + "\n";
  text += format("  %-12s %14.0f /s\n", options.streams == Streams::kNone ? "calls" : "items", report.qps);
  text += format("  %-12s %14.3f Gb/s\n", "payload", report.gbps);
  text += format("  %-12s %14.1f us\n", "p50", report.p50_us);
  text += format("  %-12s %14.1f us\n", "p90", report.p90_us);
  text += format("  %-12s %14.1f us\n", "p99", report.p99_us);
  text += format("  %-12s %14.1f us\n", "p99.9", report.p999_us);
  text += format("  %-12s %14.1f us\n", "max", report.max_us);
  text += format("  %-12s %14.3f us per call\n", "client CPU", report.cpu_us_per_call);
  text += format("  %-12s %14llu\n", "errors", static_cast<unsigned long long>(report.errors));
  if (const auto& beside = report.beside) {
    text += format("  %-12s %14.3f Gb/s beside, %llu in all\n", "transfers", beside->transfers_gbps,
                   static_cast<unsigned long long>(beside->transfers));
    text += format("  %-12s %14.1f us late at p99, %.1f at most\n", "1 ms timer", beside->timer_p99_us,
                   beside->timer_max_us);
    text += format("  %-12s %14.1f us late at p99, %.1f at most\n", "the server's",
                   beside->server_timer_p99_us, beside->server_timer_max_us);
  }
  return text;
}

void print_report(const Report& report, const ClientOptions& options) {
  const std::string text = options.json ? to_json(report) + "\n" : to_table(report, options);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace weft::load
