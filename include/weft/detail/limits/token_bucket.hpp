// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/time.hpp"
#include "weft/detail/limits/rate.hpp"

namespace weft::detail {

/// A token bucket: what it lets through in any time t is at most `burst` + `per_second` * t. Full at first.
/// Takes no memory. Thread: one at a time.
class TokenBucket {
 public:
  TokenBucket(Rate rate, TimePoint now) noexcept;

  /// Takes `tokens`, or none of them where there are fewer. A `now` before an earlier one adds nothing.
  bool try_take(TimePoint now, double tokens = 1) noexcept;
  /// Returns the time after which try_take() would succeed if nobody else takes any: zero when it would now,
  /// kNoTimeout when `tokens` are more than the burst.
  Duration wait(TimePoint now, double tokens = 1) const noexcept;
  /// Returns the tokens that are there at `now`.
  double available(TimePoint now) const noexcept;

 private:
  Rate rate_;
  double tokens_;
  TimePoint at_;
};

}  // namespace weft::detail
