// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/waiter.hpp"

namespace weft::detail {

void Waiter::enqueue(WaitList& list, std::coroutine_handle<> coroutine, CancelScope* scope) noexcept {
  executor_ = Executor::current();
  WEFT_ASSERT(executor_ != nullptr, "waiting needs a current executor");
  handle = coroutine;
  state_ = State::kWaiting;
  list.push_back(*this);
  if (scope != nullptr) scope->add(*this);
}

void Waiter::wake(State outcome) noexcept {
  WEFT_ASSERT(is_waiting(), "only who waits is woken");
  ListHook<WaiterTag>::unlink();
  stop_listening();
  state_ = outcome;
  executor_->schedule(*this);
}

void Waiter::on_cancel(CancelReason reason) noexcept {
  reason_ = reason;
  wake(State::kCancelled);
  left_queue();
}

}  // namespace weft::detail
