// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/returning_call.hpp"

namespace weft::detail {

void ReturningCall::send_from(Loop& home, Ready& waiter) noexcept {
  home_ = &home;
  home_mailbox_ = home.mailbox();
  waiter_ = &waiter;
  send();
}

void ReturningCall::abandon() noexcept {
  waiter_ = nullptr;
  cancel(CancelReason::kRequested);
  // In a child of fork the thread that would tell is not there.
  const bool is_in_child = door().mailbox() != nullptr && door().mailbox()->in_child();
  if (borrows() && !is_in_child) told_.wait(Deadline::infinite());
}

// After the caller was notified, it may destroy everything except this record, including its home's mailbox.
void ReturningCall::tell() noexcept {
  const std::shared_ptr<Mailbox> home = home_mailbox_;
  hold();
  told_.raise();
  home->post(return_);
}

void ReturningCall::Return::run() {
  call_.is_back_ = true;
  if (call_.waiter_ != nullptr) call_.home_->schedule(*call_.waiter_);
  call_.release();
}

bool ReturningAwaiter::begin(CancelScope* scope) noexcept {
  Loop* home = Loop::current();
  WEFT_ASSERT(home != nullptr,
              "on_loop_of() is awaited inside a turn of a Loop; elsewhere write weft::blocking()");
  if (call_->borrows() && call_->door().mailbox() == home->mailbox()) {
    // Dropping it would wait for this very thread.
    failure_ = {StatusCode::kFailedPrecondition, Layer::kRpc,
                "on_loop_of() was given a client of this loop, with an attachment or other memory of the "
                "caller's: write co_await client.call<f>(...)"};
    failure_.mark_unprocessed();
    return false;
  }
  if (scope != nullptr) {
    if (scope->cancelled()) {
      failure_ = to_status(scope->reason());
      failure_.mark_unprocessed();
      return false;
    }
    call_->time().limit(scope->deadline());
    if (!call_->carry(scope->carried())) {
      failure_ = Status::of<kOutOfMemory>();
      failure_.mark_unprocessed();
      return false;
    }
    scope->add(*this);
  }
  home_ = home;
  call_->send_from(*home, resumption_);
  return true;
}

Status ReturningAwaiter::take_failure() noexcept {
  if (!failure_.ok()) return std::move(failure_);
  return call_->take_failure();
}

void ReturningAwaiter::let_go() noexcept {
  call_->abandon();
}

void ReturningAwaiter::on_cancel(CancelReason reason) noexcept {
  call_->cancel(reason);
  if (call_->is_back() || call_->borrows()) return;
  call_->forget_waiter();
  failure_ = to_status(reason);
  home_->schedule(resumption_);
}

}  // namespace weft::detail
