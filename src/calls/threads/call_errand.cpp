// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/call_errand.hpp"

#include <cstring>

#include "calls/terms/call_status.hpp"
#include "calls/terms/wrong_thread.hpp"

namespace weft::detail {

namespace {

bool names_memory(const CallOptions& options) noexcept {
  return !options.attachment.empty() || !options.landing.empty() || options.metadata.is_given() ||
         options.progress != nullptr || options.answer_metadata != nullptr;
}

Status loop_stopped_status() noexcept {
  return {StatusCode::kCancelled, Layer::kRuntime, "the client's loop was stopped"};
}

}  // namespace

CallErrand::CallErrand(Request request) noexcept
    : request_(std::move(request)),
      time_(door().clock(), door().timeout(), request_.options),
      borrows_(request_.has_options && names_memory(request_.options)) {}

CallErrand::~CallErrand() = default;

bool CallErrand::carry(Bytes metadata) noexcept {
  if (metadata.empty() || !door().carries_metadata()) return true;
  Result<Buffer> copy = Buffer::try_allocate(metadata.size());
  if (!copy.ok()) return false;
  carried_ = std::move(*copy);
  std::memcpy(carried_.data(), metadata.data(), metadata.size());
  return true;
}

void CallErrand::send() noexcept {
  Mailbox* mailbox = door().mailbox().get();
  if (mailbox == nullptr) return refuse_with(door().closed());
  hold();
  if (mailbox->send(*this)) return;
  release();
  refuse();
}

void CallErrand::cancel(CancelReason reason) noexcept {
  CancelReason none = CancelReason::kNone;
  if (!cancelled_.compare_exchange_strong(none, reason, std::memory_order_acq_rel)) return;
  Mailbox* mailbox = door().mailbox().get();
  if (mailbox == nullptr) return;
  hold();
  if (!mailbox->send(cancelling_)) release();
}

void CallErrand::begin() {
  const CancelReason reason = cancelled_.load(std::memory_order_acquire);
  if (reason != CancelReason::kNone) return refuse_with(to_status(reason));
  CallTarget* target = door().target();
  if (target == nullptr) return refuse_with(door().closed());
  hold();
  door().mailbox()->keep(*this);
  if (request_.has_options || request_.returns_attachment) {
    details_.emplace(request_.options, request_.returns_attachment);
  }
  pending_.emplace(*this, *target);
  if (!pending_->start()) end_begun();
}

void CallErrand::refuse() noexcept {
  if (door().mailbox()->in_child()) {
    return refuse_with(Status::of<kInChildOfFork>());
  }
  Status closed = door().why_closed();
  refuse_with(closed.ok() ? loop_stopped_status() : std::move(closed));
}

void CallErrand::refuse_with(Status why) noexcept {
  failure_ = std::move(why);
  failure_.mark_unprocessed();
  tell();
}

void CallErrand::cancel_here() noexcept {
  if (pending_) pending_->on_cancel(cancelled_.load(std::memory_order_relaxed));
}

void CallErrand::end_begun() noexcept {
  Status failure = pending_->take_failure();
  if (details_ && failure.ok()) {
    attachment_ = std::move(details_->answer_attachment);
    attachment_bytes_ = details_->answer_attachment_bytes;
  }
  end(std::move(failure));
}

void CallErrand::end_now() noexcept {
  if (pending_->done()) return end_begun();
  end(loop_stopped_status());
}

// Destroy the call, and with it its leases, before the caller is notified.
void CallErrand::end(Status failure) noexcept {
  failure_ = std::move(failure);
  pending_.reset();
  details_.reset();
  unlink();
  tell();
  release();
}

Status failure_of_encoding() noexcept {
  Status failure = status_of_encoding();
  failure.mark_unprocessed();
  return failure;
}

Status unencodable_failure() noexcept {
  Status failure = over_limit("a request", kUnencodable, 0, "the client's", kRaiseBody);
  failure.mark_unprocessed();
  return failure;
}

CallErrand::Pending::Pending(CallErrand& errand, CallTarget& target)
    : PendingCall(target, *errand.request_.method, errand.details_ ? &*errand.details_ : nullptr),
      errand_(errand),
      ended_(errand) {}

bool CallErrand::Pending::start() {
  scope_.set_deadline(errand_.time_.on_loop(errand_.door().target()->loop().now()));
  scope_.set_carried(errand_.carried_.bytes());
  const bool needs_scope = !scope_.deadline().is_infinite() || !scope_.carried().empty();
  set_waiter(&ended_);
  const Begun begun = PendingCall::begin(needs_scope ? &scope_ : nullptr, body_bytes());
  if (begun.body == nullptr) return !begun.has_ended();
  encode_body(begun.body);
  if (begun.needs_sent()) sent();
  return true;
}

void CallErrand::Pending::encode_body(std::byte* to) const {
  const Bytes body = errand_.bytes_.body();
  if (!body.empty()) std::memcpy(to, body.data(), body.size());
}

}  // namespace weft::detail
