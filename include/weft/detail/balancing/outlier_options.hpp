// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/balancing/balancing_policy.hpp"

namespace weft {

/// Rules by which OutlierEjection leaves endpoints out. Times are above zero, shares from 0 to 1.
struct OutlierOptions {
  /// Failures in a row that eject; zero: they do not count. It takes more of them where the other endpoints
  /// fail often too. An endpoint that has not answered a call since it came into the list is ejected after
  /// two.
  std::uint32_t failures_in_a_row = 5;
  /// Share of an endpoint's calls of a window that eject when they failed; above 1: it does not count.
  double failure_share = 0.5;
  /// Mean latency of a window that ejects, as a multiple of the mean of all others; zero: it does not count.
  double latency_factor = 0;
  /// Time that failures and latencies are counted over.
  Duration window = std::chrono::seconds{10};
  /// Minimum number of calls for a window to count; above zero.
  std::uint32_t window_calls_min = 20;

  /// Time of a first ejection. It doubles with each that follows, up to `ejection_max`, and halves with each
  /// `ejection_max` that the endpoint then serves.
  Duration ejection_min = std::chrono::seconds{10};
  Duration ejection_max = std::chrono::minutes{5};
  /// Share of the endpoints that may be ejected at one time; one always may if there are two, and one always
  /// stays.
  double ejected_share_max = 1;
  /// Time in which the share of an endpoint that comes back, and has answered a first call, grows from a
  /// tenth to the whole.
  Duration slow_start = std::chrono::seconds{10};
  /// Share of the reachable endpoints that are in use. If it is lower and all of them fail, they are
  /// overloaded or the fault is on this side: all ejections end at once. This happens at most once in
  /// `ejection_min`; with zero, never.
  double panic_share = 0.3;
};

}  // namespace weft
