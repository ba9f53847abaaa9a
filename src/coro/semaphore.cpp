// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/semaphore.hpp"

namespace weft {

void Semaphore::serve() noexcept {
  while (has_waiters()) {
    auto& first = static_cast<AcquireAwaiter&>(waiters_.front());
    if (first.permits_ > available_) return;
    available_ -= first.permits_;
    first.grant();
  }
}

Semaphore::AcquireAwaiter::~AcquireAwaiter() {
  if (is_granted()) {
    semaphore_.release(permits_);
  } else if (is_waiting()) {
    leave();
    semaphore_.serve();
  }
}

}  // namespace weft
