// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/call_errand.hpp"

#include <chrono>
#include <cstring>

#include "calls/call_status.hpp"

namespace weft::detail {

namespace {

/// A call that came to its loop this late has so much less time; with fewer, the client's list of timeouts
/// serves it.
constexpr Duration kLate = std::chrono::milliseconds{1};

bool names_memory(const CallOptions& options) noexcept {
  return !options.attachment.empty() || !options.landing.empty() || options.metadata.is_given() ||
         options.progress != nullptr;
}

Status loop_stopped_status() noexcept {
  return {StatusCode::kCancelled, Layer::kRuntime, "the client's loop was stopped"};
}

}  // namespace

CallErrand::CallErrand(Request request) noexcept
    : request_(std::move(request)), borrows_(request_.has_options && names_memory(request_.options)) {
  CallOptions& options = request_.options;
  deadline_ = options.deadline;
  Clock* clock = door().clock();
  if (clock == nullptr) return;
  made_at_ = clock->now();
  if (options.timeout == Duration::zero() || options.timeout == kNoTimeout) return;
  deadline_ = deadline_.earlier(Deadline::after(made_at_, options.timeout));
  options.timeout = kNoTimeout;
}

CallErrand::~CallErrand() = default;

Deadline CallErrand::default_end() const noexcept {
  if (made_at_ == TimePoint::max() || request_.options.timeout != Duration::zero()) return {};
  return Deadline::after(made_at_, door().timeout());
}

bool CallErrand::carry(Bytes metadata) noexcept {
  if (metadata.empty() || !door().carries_metadata()) return true;
  carried_.reset(new (std::nothrow) std::byte[metadata.size()]);
  if (carried_ == nullptr) return false;
  std::memcpy(carried_.get(), metadata.data(), metadata.size());
  carried_bytes_ = metadata.size();
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
    return refuse_with({StatusCode::kFailedPrecondition, Layer::kRuntime,
                        "a client of the parent was used in a child of fork; make one here"});
  }
  refuse_with(loop_stopped_status());
}

void CallErrand::refuse_with(Status why) noexcept {
  failure_ = std::move(why);
  failure_.mark_unprocessed();
  tell();
}

void CallErrand::cancel_here() noexcept {
  if (pending_) pending_->on_cancel(cancelled_.load(std::memory_order_relaxed));
}

// The request was sent, and nobody needs its room any more.
void CallErrand::keep_answer(Bytes answer, Status& failure) noexcept {
  std::byte* to = room_;
  if (answer.size() > room_bytes_) {
    large_answer_.reset(new (std::nothrow) std::byte[answer.size()]);
    to = large_answer_.get();
    if (to == nullptr) {
      failure = Status::of<kOutOfMemory>();
      return;
    }
  }
  if (!answer.empty()) std::memcpy(to, answer.data(), answer.size());
  answer_ = to;
  answer_bytes_ = answer.size();
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

// With the call its leases end, before the caller hears of it.
void CallErrand::end(Status failure) noexcept {
  failure_ = std::move(failure);
  pending_.reset();
  details_.reset();
  unlink();
  tell();
  release();
}

Status CallErrand::failure_of_encoding() noexcept {
  Status failure = status_of_encoding();
  failure.mark_unprocessed();
  return failure;
}

Status CallErrand::unencodable() noexcept {
  Status failure = over_limit("a request", kUnencodable, 0, "the client's", kClientsBodyOption);
  failure.mark_unprocessed();
  return failure;
}

CallErrand::Pending::Pending(CallErrand& errand, CallTarget& target)
    : PendingCall(target, *errand.request_.method, errand.details_ ? &*errand.details_ : nullptr),
      errand_(errand),
      ended_(errand) {}

bool CallErrand::Pending::start() {
  Deadline deadline = errand_.deadline_;
  const Deadline usual = errand_.default_end();
  if (!usual.is_infinite() && errand_.door().target()->loop().now() - errand_.made_at_ >= kLate) {
    deadline = deadline.earlier(usual);
  }
  scope_.set_deadline(deadline);
  scope_.set_carried({errand_.carried_.get(), errand_.carried_bytes_});
  const bool needs_scope = !deadline.is_infinite() || errand_.carried_bytes_ != 0;
  set_waiter(&ended_);
  const Begun begun = PendingCall::begin(needs_scope ? &scope_ : nullptr, errand_.body_bytes_);
  if (begun.body == nullptr) return begun.waits();
  encode_body(begun.body);
  if (begun.needs_sent()) sent();
  return true;
}

void CallErrand::Pending::encode_body(std::byte* to) const {
  if (errand_.body_bytes_ != 0) std::memcpy(to, errand_.room_, errand_.body_bytes_);
}

}  // namespace weft::detail
