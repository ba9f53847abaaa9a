// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft {

/// Options of a limit that finds by itself how many calls run at the same time best: a server works on no
/// more than that, and refuses the others.
struct AdaptiveLimitOptions {
  /// Initial limit. From 1 to `limit_max`.
  std::uint32_t limit_initial = 32;
  std::uint32_t limit_max = 10'000;
  /// Latency that is still taken for that of a server without a queue, as a multiple of the latency without
  /// load; above 1. More lets a longer queue stand, and less gives goodput away where latencies vary.
  double tolerance = 1.5;
  /// The limit changes once in so long, at most; above zero.
  Duration window = std::chrono::milliseconds{100};
  /// Calls that a window must have seen to end; above zero.
  std::uint32_t window_calls_min = 10;
  /// The latency without load is measured again each time that this has passed.
  Duration probe_interval = std::chrono::seconds{30};
  /// Limit while it is measured, if the limit is not lower; above zero.
  std::uint32_t probe_limit = 4;
  /// Calls that it is measured by; above zero.
  std::uint32_t probe_calls = 25;
  /// Time after which a probe ends with the calls observed so far; above zero. Without calls, for example
  /// while the server stands still, the earlier measurement stays.
  Duration probe_time_max = std::chrono::seconds{2};
};

}  // namespace weft
