// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/limits/token_bucket.hpp"

#include <algorithm>
#include <cmath>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

TokenBucket::TokenBucket(Rate rate, TimePoint now) noexcept : rate_(rate), tokens_(rate.burst), at_(now) {
  WEFT_ASSERT(fault_of(rate) == nullptr,
              "Rate: per_second is above zero, burst is at least 1, both are at most 1e9");
}

double TokenBucket::available(TimePoint now) const noexcept {
  if (now <= at_) return tokens_;
  const double seconds = std::chrono::duration<double>(now - at_).count();
  return std::min(rate_.burst, tokens_ + seconds * rate_.per_second);
}

bool TokenBucket::try_take(TimePoint now, double tokens) noexcept {
  tokens_ = available(now);
  at_ = std::max(at_, now);
  if (tokens_ < tokens) return false;
  tokens_ -= tokens;
  return true;
}

Duration TokenBucket::wait(TimePoint now, double tokens) const noexcept {
  if (tokens > rate_.burst) return kNoTimeout;
  const double missing = tokens - available(now);
  if (missing <= 0) return Duration::zero();
  // One more nanosecond, so that rounding never says a moment at which the last bit of a token is missing.
  const double nanoseconds = std::ceil(missing / rate_.per_second * 1e9) + 1;
  if (nanoseconds >= 9e18) return kNoTimeout;
  return std::max(Duration::zero(), at_ - now) + Duration{static_cast<Duration::rep>(nanoseconds)};
}

}  // namespace weft::detail
