// SPDX-License-Identifier: Apache-2.0
#include "calls/reconnect_wait.hpp"

#include <algorithm>

namespace weft::detail {

Duration ReconnectWait::next(TimePoint now, RandomNumbers& random) {
  const bool lasted = connected_at_ && now - *connected_at_ >= max_;
  connected_at_.reset();
  wait_ = lasted ? min_ : std::clamp(wait_ * 2, min_, max_);
  const double jittered = static_cast<double>(wait_.count()) * random.between(0.5, 1.0);
  return Duration{static_cast<Duration::rep>(jittered)};
}

}  // namespace weft::detail
