// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/limits/backoff.hpp"

#include <algorithm>

#include "weft/detail/base/saturated.hpp"

namespace weft::detail {

Backoff::Backoff(Duration min, Duration max) noexcept
    : min_(std::max(min, Duration::zero())), max_(std::max(min_, max)) {}

Duration Backoff::next(std::uint64_t random) noexcept {
  // Half of the longest is compared, for the double of a very long one would overflow.
  wait_ = wait_ > max_ / 2 ? max_ : std::clamp(wait_ * 2, min_, max_);
  const double share = 0.5 + 0.5 * static_cast<double>(random >> 11) * 0x1p-53;
  return scaled(wait_, share);
}

}  // namespace weft::detail
