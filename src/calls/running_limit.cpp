// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/running_limit.hpp"

#include "calls/admission.hpp"

namespace weft::detail {

// The method first: what is refused by the server then was in the way of no other method.
bool RunningLimit::try_enter(std::size_t held) noexcept {
  std::size_t running = running_.load(std::memory_order_relaxed);
  do {
    if (running >= max_) return false;
    if (of_server_ && !leaves_others_a_share(held, 1, max_ - running)) return false;
  } while (!running_.compare_exchange_weak(running, running + 1, std::memory_order_relaxed));
  if (server_ == nullptr || server_->try_enter(held)) return true;
  running_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void RunningLimit::leave() noexcept {
  running_.fetch_sub(1, std::memory_order_relaxed);
  if (server_ != nullptr) server_->leave();
}

}  // namespace weft::detail
