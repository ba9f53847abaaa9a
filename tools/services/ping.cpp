// SPDX-License-Identifier: Apache-2.0
#include "services/ping.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "weft/detail/functions/described_functions.hpp"
#include "weft/weft.hpp"

namespace weft::services {

namespace {

/// A server refuses a call that it does not know, or that the caller may not make, only after it has received
/// it.
bool has_answered(const Status& status) {
  return status.ok() || status.code() == StatusCode::kUnimplemented ||
         status.code() == StatusCode::kPermissionDenied || status.code() == StatusCode::kUnauthenticated;
}

/// Makes a call with a short answer, and returns its time in milliseconds.
Task<Result<double>> round_trip(Client* client) {
  const auto begin = std::chrono::steady_clock::now();
  // No function has this name, so the list is empty.
  auto answer = co_await client->call<detail::kDescribedFunctions>("weft.functions.v1");
  if (!has_answered(answer.status())) co_return answer.status();
  co_return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Task<Result<std::string>> ping(Client* client, unsigned count, bool as_json) {
  // The first one waits for the connection.
  const Result<double> first = co_await round_trip(client);
  if (!first.ok()) co_return first.status();
  std::vector<double> times;
  for (unsigned i = 0; i < std::max(1u, count); ++i) {
    const Result<double> time = co_await round_trip(client);
    if (!time.ok()) co_return time.status();
    times.push_back(*time);
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  char text[300];
  std::snprintf(text, sizeof text,
                as_json
                    ? "{\"connect_and_first_ms\":%.3f,\"round_trips\":%zu,\"min_ms\":%.3f,\"median_ms\":%.3f,"
                      "\"max_ms\":%.3f}"
                    : "connected and answered in %.3f ms; %zu round trips: least %.3f ms, median %.3f ms, "
                      "most %.3f ms",
                *first, times.size(), times.front(), median, times.back());
  co_return std::string{text};
}

Task<Result<std::string>> health(Client* client, bool as_json) {
  const Result<double> time = co_await round_trip(client);
  if (!time.ok()) co_return time.status();
  co_return std::string{as_json ? "{\"healthy\":true}" : "healthy: it answers calls"};
}

}  // namespace weft::services
