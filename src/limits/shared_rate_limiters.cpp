// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/limits/shared_rate_limiters.hpp"

#include <algorithm>

namespace weft::detail {

namespace {

constexpr std::size_t kParts = 16;

}  // namespace

SharedRateLimiters::SharedRateLimiters(Rate each, std::size_t callers_max, std::size_t threads,
                                       TimePoint now) {
  const std::size_t parts = threads > 1 ? kParts : 1;
  for (std::size_t i = 0; i < parts; ++i) {
    parts_.push_back(std::make_unique<Part>(each, std::max<std::size_t>(1, callers_max / parts), now));
  }
}

// By bits that RateLimiters does not choose its chains by, unless it has millions.
Duration SharedRateLimiters::take(TimePoint now, std::uint64_t caller) noexcept {
  Part& part = *parts_[(caller >> 60) & (parts_.size() - 1)];
  const std::lock_guard lock(part.mutex);
  return part.limiters.take(now, caller);
}

std::size_t SharedRateLimiters::size() const noexcept {
  std::size_t sum = 0;
  for (const auto& part : parts_) {
    const std::lock_guard lock(part->mutex);
    sum += part->limiters.size();
  }
  return sum;
}

}  // namespace weft::detail
