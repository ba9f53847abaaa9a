// SPDX-License-Identifier: Apache-2.0
#include "calls/http/call_pages.hpp"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "calls/http/page_json.hpp"

namespace weft::detail::http {

namespace {

/// Returns a time as RFC 3339 writes it: "2026-11-29T21:10:03.123Z".
std::string time_text(std::chrono::system_clock::time_point time) {
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof text - size, ".%03dZ", static_cast<int>(milliseconds % 1000));
  return text;
}

void write_samples(Json& json, std::string_view name, const std::vector<CallSample>& samples) {
  json.name(name).begin('[');
  for (const CallSample& sample : samples) {
    json.begin('{').text("method", sample.method_name.empty() ? "_OTHER" : sample.method_name);
    json.text("code", to_string(sample.code)).text("ended", time_text(sample.ended));
    json.field("calls", sample.calls).flag("stream", sample.is_stream);
    json.time("duration_us", sample.parts.all()).time("waited_us", sample.parts.waited);
    json.time("ran_us", sample.parts.ran).time("sending_us", sample.parts.sending);
    if (!sample.message.empty()) json.text("message", sample.message);
    if (!sample.endpoint.empty()) json.text("endpoint", sample.endpoint).text("caller", sample.caller);
    json.end('}');
  }
  json.end(']');
}

}  // namespace

PageContent write_calls(const ServerView& server, const Request&) {
  return json_page([samples = server.samples()](Json& json) {
    json.time("slow_from_us", samples.slow_from);
    write_samples(json, "slow", samples.slow);
    write_samples(json, "failed", samples.failed);
  });
}

}  // namespace weft::detail::http
