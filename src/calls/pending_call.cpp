// SPDX-License-Identifier: Apache-2.0
#include "weft/calls/pending_call.hpp"

#include "calls/call_path.hpp"
#include "calls/call_status.hpp"

namespace weft {

namespace {

/// A default timeout from this length on counts from the beginning of the loop's turn, so that a call that
/// says nothing of time need not read the clock: no turn takes a part of it that anybody would notice.
constexpr Duration kLongTimeout = std::chrono::seconds{5};

inline Deadline earliest_deadline(const CallTarget& target, const CallExtras* extras,
                                  const CancelScope* scope) {
  Loop& loop = target.loop();
  const Duration by_default = target.defaults().timeout;
  Deadline deadline;
  if (extras != nullptr && extras->options.timeout != Duration::zero()) {
    const Duration timeout = extras->options.timeout;
    if (timeout != kNoTimeout) deadline = Deadline::after(loop.read_clock(), timeout);
  } else if (by_default != kNoTimeout) {
    deadline = Deadline::after(by_default >= kLongTimeout ? loop.now() : loop.read_clock(), by_default);
  }
  if (extras != nullptr) deadline = deadline.earlier(extras->options.deadline);
  return scope != nullptr ? deadline.earlier(scope->deadline()) : deadline;
}

}  // namespace

Begun PendingCall::begin(CancelScope* scope, std::size_t body_bytes) {
  Loop& loop = target_->loop();
  WEFT_ASSERT(Loop::current() == nullptr || Loop::current() == &loop,
              "a client is used on its own loop's thread only; make one client for each loop");
  if (scope != nullptr && scope->cancelled()) [[unlikely]] {
    return refuse(to_status(scope->reason()));
  }
  request_.deadline = earliest_deadline(*target_, request_.extras, scope);
  if (!request_.deadline.is_infinite()) {
    if (request_.deadline.expired(loop.now())) return refuse(to_status(CancelReason::kDeadline));
    loop.arm(*this, request_.deadline.at());
  }
  if (scope != nullptr) {
    if (!scope->carried().empty() && target_->defaults().carries_metadata) request_.carrying = scope;
    scope->add(*this);
  }
  return target_->begin(*this, body_bytes);
}

void PendingCall::begin_waiting(CallsOut& out) {
  const Begun begun = out.begin(*this, body_bytes());
  if (begun.body == nullptr) return end();
  encode_body(begun.body);
  if (begun.needs_sent()) sent();
}

void PendingCall::sent() {
  out_->sent(request_.extras);
}

void PendingCall::limit(Deadline deadline) {
  if (state_ == State::kDone || deadline.is_infinite() || request_.deadline.at() <= deadline.at()) return;
  request_.deadline = deadline;
  if (deadline.expired(target_->loop().now())) return on_cancel(CancelReason::kDeadline);
  target_->loop().arm(*this, deadline.at());
}

void PendingCall::on_cancel(CancelReason reason) noexcept {
  if (state_ == State::kDone || state_ == State::kIdle) return;
  const bool waited = state_ == State::kWaiting;
  leave();
  // Whoever reads it is told that the call has not run, and why it is late.
  fail(waited ? to_status(reason).with_context("not sent, still waiting for a connection or for room")
              : to_status(reason));
}

void PendingCall::on_timer() {
  on_cancel(CancelReason::kDeadline);
}

void PendingCall::fail(Status failure) noexcept {
  failure_ = std::move(failure);
  end();
}

inline void PendingCall::end() noexcept {
  state_ = State::kDone;
  if (armed()) target_->loop().disarm(*this);
  stop_listening();
  if (waiter_ != nullptr) target_->loop().schedule(*waiter_);
}

void PendingCall::on_response(const Frame& frame) {
  if (request_.extras != nullptr || frame.header.status != 0) [[unlikely]] {
    return take_answer(frame);
  }
  decode_answer(frame.body, failure_);
  end();
}

void PendingCall::take_answer(const Frame& frame) {
  keep_attachment();
  if (frame.header.status == 0) {
    decode_answer(frame.body, failure_);
  } else {
    failure_ = answered_status(frame, *request_.method);
  }
  end();
}

// An answer can overtake the last bytes of its own request's attachment: the server need not read what it
// refuses. The caller's memory is still being read then.
void PendingCall::keep_attachment() {
  if (request_.extras != nullptr)
    out_->take_attachment_over(*request_.extras, "out of memory for an answered attachment");
}

Landing PendingCall::on_response_attachment(const Frame& frame) {
  if (request_.extras == nullptr || !request_.extras->wants_attachment()) return Landing::skip();
  return request_.extras->land(frame.header.attachment_bytes, out_->session());
}

void PendingCall::on_response_attachment_end(const Frame& frame, bool landed) {
  if (landed) request_.extras->answer_attachment_bytes = frame.header.attachment_bytes;
  const bool wanted = request_.extras != nullptr && request_.extras->wants_attachment();
  if (landed || !wanted || frame.header.status != 0) return take_answer(frame);
  keep_attachment();
  fail(request_.extras->take_landing_refusal());
}

void PendingCall::on_connection_lost(const Status& failure) {
  fail(failure);
}

void PendingCall::abandon() noexcept {
  leave();
  state_ = State::kDone;
}

void PendingCall::leave() noexcept {
  if (state_ == State::kWaiting) target_->withdraw(*this);
  if (state_ == State::kSent) {
    if (request_.extras != nullptr)
      out_->take_attachment_over(*request_.extras, "out of memory for an abandoned attachment");
    out_->abandon(*this, id_);
  }
}

}  // namespace weft
