// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/time.hpp"
#include "weft/detail/limits/rate.hpp"

namespace weft::detail {

/// A token bucket: in any time t at most `burst` + `per_second` * t tokens pass. Full at first. Allocates
/// nothing. Thread: one at a time.
class TokenBucket {
 public:
  TokenBucket(Rate rate, TimePoint now) noexcept;

  /// Takes `tokens`, or nothing if fewer are available. A `now` before an earlier one adds nothing.
  bool try_take(TimePoint now, double tokens = 1) noexcept;
  /// Returns the time after which try_take() would succeed unless another caller takes tokens: zero if it
  /// would succeed now, kNoTimeout if `tokens` exceed the burst.
  Duration wait(TimePoint now, double tokens = 1) const noexcept;
  /// Returns the number of tokens available at `now`.
  double available(TimePoint now) const noexcept;

 private:
  Rate rate_;
  double tokens_;
  TimePoint at_;
};

}  // namespace weft::detail
