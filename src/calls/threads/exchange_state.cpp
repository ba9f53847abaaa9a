// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/exchange_state.hpp"

#include "weft/detail/base/assert.hpp"
#include "weft/detail/coro/cancel.hpp"

namespace weft::detail {

bool SleepingThread::block(std::unique_lock<std::mutex>& lock, Deadline until) noexcept {
  sleeps_ = true;
  bool in_time = true;
  if (until.is_infinite()) {
    goes_on_.wait(lock);
  } else {
    in_time = goes_on_.wait_until(lock, until.at()) == std::cv_status::no_timeout;
  }
  sleeps_ = false;
  return in_time;
}

void ExchangeState::ask(Lock& lock) noexcept {
  if (asks_no_more_ || std::exchange(posted_, true)) return;
  lock.unlock();
  post();
  lock.lock();
}

void ExchangeState::check_alone(const SleepingThread& thread) noexcept {
  WEFT_ASSERT(!thread.sleeps(), "one thread at a time reads a blocking stream, and one writes to it");
}

void ExchangeState::give_up_late(Lock& lock) noexcept {
  give_up(lock, to_status(CancelReason::kDeadline).with_context("the client's loop does not turn"));
}

}  // namespace weft::detail
