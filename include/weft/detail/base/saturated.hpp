// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Returns `a + b`, or the nearest Duration there is.
constexpr Duration saturated_sum(Duration a, Duration b) {
  Duration::rep sum = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &sum)) [[likely]] {
    return Duration{sum};
  }
  return b < Duration::zero() ? Duration::min() : Duration::max();
}

/// Returns `at + by`, or the nearest TimePoint there is. kNoTimeout after any time is TimePoint::max(). All
/// arithmetic on times from options or peers uses these functions.
constexpr TimePoint saturated_sum(TimePoint at, Duration by) {
  if (by == kNoTimeout) return TimePoint::max();
  return TimePoint{saturated_sum(at.time_since_epoch(), by)};
}

/// Returns `a - b`, or the nearest Duration there is.
constexpr Duration saturated_difference(TimePoint a, TimePoint b) {
  Duration::rep difference = 0;
  if (!__builtin_sub_overflow(a.time_since_epoch().count(), b.time_since_epoch().count(), &difference))
      [[likely]] {
    return Duration{difference};
  }
  return a < b ? Duration::min() : Duration::max();
}

/// Returns `time * factor`, or the nearest Duration there is; `factor` is a number.
constexpr Duration scaled(Duration time, double factor) {
  const double product = static_cast<double>(time.count()) * factor;
  // The limits themselves are no doubles, and the next ones beyond them are no Duration.
  if (product >= static_cast<double>(Duration::max().count())) return Duration::max();
  if (product <= static_cast<double>(Duration::min().count())) return Duration::min();
  return Duration{static_cast<Duration::rep>(product)};
}

}  // namespace weft::detail
