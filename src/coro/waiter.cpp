// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/waiter.hpp"

namespace weft::detail {

namespace {

constexpr const char* kWaitedElsewhere =
    "a coroutine waits on an Event, Semaphore, Mutex, Channel or Scope on which a coroutine of another "
    "thread's "
    "loop waits: each of them belongs to one loop; make one for each loop, and inform the other by "
    "loop.post(...)";
constexpr const char* kWokenElsewhere =
    "an Event, Semaphore, Mutex, Channel or Scope was used on another thread than the loop's of the "
    "coroutine "
    "that waits on it: write loop.post(...), and call set(), release(), push(), pop(), close() or cancel() "
    "there";

}  // namespace

void Waiter::enqueue(WaitList& list, std::coroutine_handle<> coroutine, CancelScope* scope) noexcept {
  executor_ = Executor::current();
  WEFT_ASSERT(executor_ != nullptr, "waiting needs a current executor");
  if (!list.empty()) list.front().executor_->check_thread(kWaitedElsewhere);
  handle = coroutine;
  state_ = State::kWaiting;
  list.push_back(*this);
  if (scope != nullptr) scope->add(*this);
}

void Waiter::wake(State outcome) noexcept {
  WEFT_ASSERT(is_waiting(), "only a coroutine that waits is woken");
  executor_->check_thread(kWokenElsewhere);
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
