// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "weft/base/time.hpp"
#include "weft/detail/runtime/random_numbers.hpp"

namespace weft::detail {

/// Wait between attempts: from `min` to `max`, doubled with each failure, jittered down to its half.
class Backoff {
 public:
  Backoff(Duration min, Duration max) : min_(min), max_(std::max(min, max)) {}

  void reset() noexcept { wait_ = Duration::zero(); }
  Duration next(RandomNumbers& random) noexcept {
    wait_ = wait_ > max_ / 2 ? max_ : std::clamp(wait_ * 2, min_, max_);
    return Duration{
        static_cast<Duration::rep>(static_cast<double>(wait_.count()) * random.between(0.5, 1.0))};
  }

 private:
  const Duration min_;
  const Duration max_;
  Duration wait_ = Duration::zero();
};

}  // namespace weft::detail
