// SPDX-License-Identifier: Apache-2.0
#include "weft/calls/pending_call.hpp"

#include "calls/call_path.hpp"
#include "calls/call_status.hpp"

namespace weft {

inline Deadline PendingCall::earliest_deadline(const CancelScope* scope) const {
  Duration timeout = client_->options().call_timeout;
  Deadline deadline;
  if (extras_ != nullptr) {
    if (extras_->options.timeout != Duration::zero()) timeout = extras_->options.timeout;
    deadline = extras_->options.deadline;
  }
  if (timeout != Duration::zero()) {
    deadline = deadline.earlier(Deadline::after(client_->loop().now(), timeout));
  }
  return scope != nullptr ? deadline.earlier(scope->deadline()) : deadline;
}

std::byte* PendingCall::begin(CancelScope* scope, std::size_t body_bytes) {
  Loop& loop = client_->loop();
  WEFT_ASSERT(Loop::current() == nullptr || Loop::current() == &loop,
              "a client is used on its own loop's thread only; make one client for each loop");
  if (scope != nullptr && scope->cancelled()) [[unlikely]] {
    return end_before_begin(scope->reason());
  }
  deadline_ = earliest_deadline(scope);
  if (!deadline_.is_infinite()) {
    if (deadline_.expired(loop.now())) return end_before_begin(CancelReason::kDeadline);
    loop.arm(*this, deadline_.at());
  }
  if (scope != nullptr) {
    if (!scope->carried().empty() && client_->options().carries_metadata) carrying_ = scope;
    scope->add(*this);
  }
  return client_->begin(*this, body_bytes);
}

std::byte* PendingCall::end_before_begin(CancelReason reason) {
  failure_ = to_status(reason);
  state_ = State::kDone;
  return nullptr;
}

void PendingCall::take_back(const std::byte* body) noexcept {
  out_->take_back(*this, body);
  waiter_ = nullptr;
  finish(status_of_encoding());
}

void PendingCall::sent() {
  out_->sent(*this);
}

void PendingCall::limit(Deadline deadline) {
  if (state_ == State::kDone || deadline.is_infinite() || deadline_.at() <= deadline.at()) return;
  deadline_ = deadline;
  if (deadline.expired(client_->loop().now())) return on_cancel(CancelReason::kDeadline);
  client_->loop().arm(*this, deadline.at());
}

void PendingCall::on_cancel(CancelReason reason) noexcept {
  if (state_ == State::kDone || state_ == State::kIdle) return;
  const bool waited = state_ == State::kWaiting;
  leave();
  // Whoever reads it is told that the call has not run, and why it is late.
  finish(waited ? to_status(reason).with_context("not sent, still waiting for a connection or for room")
                : to_status(reason));
}

void PendingCall::on_timer() {
  on_cancel(CancelReason::kDeadline);
}

void PendingCall::finish(Status failure) noexcept {
  failure_ = std::move(failure);
  end();
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
