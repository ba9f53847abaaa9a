// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/sleep.hpp"

namespace weft::detail {

// True when the coroutine has to wait.
bool SleepAwaiter::begin(CancelScope* scope) {
  loop_ = Loop::current();
  WEFT_ASSERT(loop_ != nullptr, "sleeping needs a turn of a Loop to be in");
  if (scope != nullptr && scope->cancelled()) {
    reason_ = scope->reason();
    return false;
  }
  const TimePoint now = loop_->now();
  // From the clock itself: by the turn's time, which may be old, it would sleep too short.
  const TimePoint at = std::max(
      until_, duration_ > Duration::zero() ? Deadline::after(loop_->clock().now(), duration_).at() : now);
  if (at <= now) return false;
  if (scope != nullptr) scope->add(*this);
  loop_->arm(*this, at);
  return true;
}

void SleepAwaiter::on_timer() {
  stop_listening();
  loop_->schedule(resumption_);
}

void SleepAwaiter::on_cancel(CancelReason reason) noexcept {
  reason_ = reason;
  loop_->disarm(*this);
  loop_->schedule(resumption_);
}

}  // namespace weft::detail
