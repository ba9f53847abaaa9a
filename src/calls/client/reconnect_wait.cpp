// SPDX-License-Identifier: Apache-2.0
#include "calls/client/reconnect_wait.hpp"

#include "weft/detail/base/saturated.hpp"

namespace weft::detail {

Duration ReconnectWait::next(TimePoint now, RandomNumbers& random) {
  const bool was_connected = connected_at_.has_value();
  const bool lasted = was_connected && has_lasted(*connected_at_, now);
  if (lasted) backoff_.reset();
  connected_at_.reset();
  const Duration wait = std::max(backoff_.next(random.next()), lasted ? Duration::zero() : kLeast);
  if (!was_connected || spread_ == Duration::zero()) return wait;
  return saturated_sum(wait, scaled(spread_, random.between(0, 1)));
}

}  // namespace weft::detail
