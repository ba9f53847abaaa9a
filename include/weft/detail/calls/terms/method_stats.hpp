// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/terms/latency_histogram.hpp"

namespace weft {

namespace detail {

inline constexpr std::size_t kStatusCodes = 17;
static_assert(is_status_code(kStatusCodes - 1) && !is_status_code(kStatusCodes));

}  // namespace detail

/// Counters of one method of a server, over all its loops. At rest each call is in exactly one of answered,
/// refused, dropped, and failed; while calls are under way the numbers may be inconsistent.
struct MethodStats {
  std::string_view name{};     ///< as it was registered; the server's
  std::uint64_t calls = 0;     ///< requests taken
  std::uint64_t answered = 0;  ///< with a result
  std::uint64_t refused = 0;  ///< failed before the handler ran, or for their arguments: ServerStats::refused
  std::uint64_t dropped = 0;  ///< never answered: their connection was gone
  std::size_t running = 0;    ///< coroutines, replies to come, and blocking calls that have not ended
  /// Failed otherwise, by their StatusCode: see failed_with().
  std::array<std::uint64_t, detail::kStatusCodes> failed{};
  /// The refused ones by their StatusCode: see refused_with().
  std::array<std::uint64_t, detail::kStatusCodes> refused_codes{};

  // Zero and empty unless ServerOptions::call_times is set.

  /// Durations of the calls that were answered, failed or refused: from the receipt of the whole request to
  /// the end of the loop's turn that queued the answer. One entry for each code that occurred.
  std::vector<CodeLatency> latencies{};
  Duration waited{};                 ///< sum of the parts of these durations before the handlers began
  Duration ran{};                    ///< sum of the other parts
  std::uint64_t bytes_received = 0;  ///< of arguments, metadata and attachments of requests that were served
  std::uint64_t bytes_sent = 0;      ///< of results and their attachments

  /// Returns the durations of all calls together.
  LatencyHistogram latency() const {
    LatencyHistogram all;
    for (const CodeLatency& of_code : latencies) all += of_code.histogram;
    return all;
  }
  std::uint64_t refused_with(StatusCode code) const { return refused_codes[static_cast<std::size_t>(code)]; }
  std::uint64_t failed_with(StatusCode code) const { return failed[static_cast<std::size_t>(code)]; }
  /// Returns the number of failures with any code.
  std::uint64_t failures() const { return std::accumulate(failed.begin(), failed.end(), std::uint64_t{0}); }
};

}  // namespace weft
