// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/running_limit.hpp"

#include "calls/terms/admission.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

// The method's limit first: a call refused by the server's limit then has not blocked other methods.
bool RunningLimit::try_enter(std::size_t held) noexcept {
  std::size_t running = running_.load(std::memory_order_relaxed);
  do {
    if (running >= max_) return false;
    if (of_server_ && !leaves_others_a_share(held, 1, max_ - running)) return false;
  } while (!running_.compare_exchange_weak(running, running + 1, std::memory_order_relaxed));
  if (server_ != nullptr && !server_->try_enter(held)) {
    running_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  if (const Loop* loop = Loop::current()) time_.begins(loop->now(), running);
  return true;
}

void RunningLimit::leave() noexcept {
  const std::size_t running = running_.fetch_sub(1, std::memory_order_relaxed);
  if (const Loop* loop = Loop::current()) time_.ends(loop->now(), running);
  if (server_ != nullptr) server_->leave();
}

Duration RunningLimit::wait() const noexcept {
  if (server_ != nullptr && running() < max_) return server_->wait();
  return time_.wait(1, 1);
}

}  // namespace weft::detail
