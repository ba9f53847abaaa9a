// SPDX-License-Identifier: Apache-2.0
#include "weft/limits/adaptive_limit.hpp"

#include "weft/detail/base/assert.hpp"

namespace weft {

AdaptiveLimit::AdaptiveLimit(AdaptiveLimitOptions options, TimePoint now) noexcept
    : controller_(options, now) {}

bool AdaptiveLimit::try_begin(TimePoint now) noexcept {
  controller_.tick(now, in_flight_);
  if (in_flight_ >= limit()) return false;
  controller_.began(++in_flight_);
  return true;
}

void AdaptiveLimit::dropped() noexcept {
  WEFT_ASSERT(in_flight_ > 0, "each call that ends has begun");
  --in_flight_;
}

void AdaptiveLimit::ended(TimePoint now, Duration latency) noexcept {
  dropped();
  controller_.ended(now, latency, in_flight_);
}

}  // namespace weft
