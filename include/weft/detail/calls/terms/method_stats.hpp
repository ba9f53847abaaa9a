// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "weft/detail/base/status.hpp"

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

  std::uint64_t failed_with(StatusCode code) const { return failed[static_cast<std::size_t>(code)]; }
  /// Returns the number of failures with any code.
  std::uint64_t failures() const { return std::accumulate(failed.begin(), failed.end(), std::uint64_t{0}); }
};

}  // namespace weft
