// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace weft {

/// Time as every layer sees it. Where "now" comes from is the loop's clock, which tests replace.
using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::nanoseconds;

/// A timeout that never passes.
inline constexpr Duration kNoTimeout = Duration::max();

/// The moment by which something must have ended; a value type.
class Deadline {
 public:
  /// No deadline at all.
  constexpr Deadline() = default;
  constexpr explicit Deadline(TimePoint at) : at_(at) {}

  static constexpr Deadline infinite() { return Deadline{}; }
  /// `now + timeout`; infinite, or the earliest time there is, where that would overflow.
  static constexpr Deadline after(TimePoint now, Duration timeout) {
    Duration::rep at = 0;
    if (__builtin_add_overflow(now.time_since_epoch().count(), timeout.count(), &at)) [[unlikely]] {
      return timeout > Duration::zero() ? infinite() : Deadline{TimePoint::min()};
    }
    return Deadline{TimePoint{Duration{at}}};
  }

  constexpr bool is_infinite() const { return at_ == TimePoint::max(); }
  constexpr TimePoint at() const { return at_; }
  constexpr bool expired(TimePoint now) const { return at_ <= now; }
  /// Returns the time that is left, never negative; Duration::max() when infinite.
  constexpr Duration remaining(TimePoint now) const {
    if (is_infinite()) return Duration::max();
    return expired(now) ? Duration::zero() : Duration{at_ - now};
  }
  constexpr Deadline earlier(Deadline other) const { return at_ < other.at_ ? *this : other; }
  friend constexpr bool operator==(Deadline, Deadline) = default;

 private:
  TimePoint at_ = TimePoint::max();
};

}  // namespace weft
