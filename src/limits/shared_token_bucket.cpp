// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/limits/shared_token_bucket.hpp"

#include <algorithm>
#include <cmath>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

namespace {

/// A hundred years, so that sums with the present stay in range.
constexpr double kLongest = 3.2e18;

Duration::rep nanoseconds(double seconds) {
  return static_cast<Duration::rep>(std::min(std::ceil(seconds * 1e9), kLongest));
}

}  // namespace

SharedTokenBucket::SharedTokenBucket(Rate rate) noexcept
    : apart_(nanoseconds(1 / rate.per_second)),
      all_but_one_(nanoseconds((rate.burst - 1) / rate.per_second)) {
  WEFT_ASSERT(fault_of(rate) == nullptr,
              "Rate: per_second is above zero, burst is at least 1, both are at most 1e9");
}

Duration SharedTokenBucket::wait_from(Duration::rep full_at, TimePoint now) const noexcept {
  const Duration::rep ahead = full_at - now.time_since_epoch().count();
  return Duration{std::max<Duration::rep>(0, ahead - all_but_one_)};
}

Duration SharedTokenBucket::wait(TimePoint now) const noexcept {
  return wait_from(full_at_.load(std::memory_order_relaxed), now);
}

Duration SharedTokenBucket::take(TimePoint now) noexcept {
  const Duration::rep at = now.time_since_epoch().count();
  Duration::rep full_at = full_at_.load(std::memory_order_relaxed);
  Duration::rep next = 0;
  do {
    const Duration missing = wait_from(full_at, now);
    if (missing > Duration::zero()) return missing;
    next = std::max(full_at, at) + apart_;
  } while (!full_at_.compare_exchange_weak(full_at, next, std::memory_order_relaxed));
  return Duration::zero();
}

}  // namespace weft::detail
