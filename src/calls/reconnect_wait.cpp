// SPDX-License-Identifier: Apache-2.0
#include "calls/reconnect_wait.hpp"

namespace weft::detail {

Duration ReconnectWait::next(TimePoint now, RandomNumbers& random) {
  if (connected_at_ && now - *connected_at_ >= lasting_) backoff_.reset();
  connected_at_.reset();
  return backoff_.next(random.next());
}

}  // namespace weft::detail
