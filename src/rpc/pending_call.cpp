// SPDX-License-Identifier: Apache-2.0
#include "weft/rpc/pending_call.hpp"

#include "rpc/calls_out.hpp"
#include "rpc/client_core.hpp"

namespace weft {

std::byte* PendingCall::begin(CancelScope* scope, std::size_t body_bytes) {
  Loop& loop = client_->loop();
  WEFT_ASSERT(Loop::current() == nullptr || Loop::current() == &loop,
              "a client is used on its own loop's thread only; make one client for each loop");
  effective_deadline_ = options_.deadline;
  const Duration timeout =
      options_.timeout != Duration::zero() ? options_.timeout : client_->options().call_timeout;
  if (timeout != Duration::zero()) {
    effective_deadline_ = effective_deadline_.earlier(Deadline::after(loop.now(), timeout));
  }
  if (scope != nullptr) {
    if (scope->cancelled()) {
      failure_ = to_status(scope->reason());
      state_ = State::kDone;
      return nullptr;
    }
    effective_deadline_ = effective_deadline_.earlier(scope->deadline());
  }
  if (!effective_deadline_.is_infinite()) {
    if (effective_deadline_.expired(loop.now())) {
      failure_ = to_status(CancelReason::kDeadline);
      state_ = State::kDone;
      return nullptr;
    }
    loop.arm(*this, effective_deadline_.at());
  }
  if (scope != nullptr) scope->add(*this);
  return client_->begin(*this, body_bytes);
}

void PendingCall::sent() {
  out_->sent(*this);
}

void PendingCall::limit(Deadline deadline) {
  if (state_ == State::kDone || deadline.is_infinite() || effective_deadline_.at() <= deadline.at()) return;
  effective_deadline_ = deadline;
  if (deadline.expired(client_->loop().now())) return on_cancel(CancelReason::kDeadline);
  client_->loop().arm(*this, deadline.at());
}

void PendingCall::schedule(Resumption& waiter) noexcept {
  client_->loop().schedule(waiter);
}

void PendingCall::on_cancel(CancelReason reason) noexcept {
  if (state_ == State::kDone || state_ == State::kIdle) return;
  leave();
  finish(to_status(reason));
}

void PendingCall::on_timer() {
  on_cancel(CancelReason::kDeadline);
}

void PendingCall::finish(Status failure) noexcept {
  failure_ = std::move(failure);
  state_ = State::kDone;
  if (armed()) client_->loop().disarm(*this);
  stop_listening();
  on_done();
}

void PendingCall::abandon() noexcept {
  leave();
  state_ = State::kDone;
}

void PendingCall::leave() noexcept {
  if (state_ == State::kWaiting) client_->forget_waiting(*this);
  if (state_ == State::kSent && out_ != nullptr) out_->abandon(*this);
}

}  // namespace weft
