// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/call/pending_call.hpp"

#include <utility>

#include "calls/call/call_path.hpp"
#include "calls/call/client_pass.hpp"
#include "calls/terms/call_status.hpp"
#include "calls/terms/wrong_thread.hpp"
#include "weft/detail/runtime/late_end.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

namespace {

/// Time for which a call that was given up waits for memory that its connection has, before that is taken by
/// force, which may cost the connection; and how often it looks.
constexpr Duration kMemoryBackWithin = std::chrono::milliseconds{250};
constexpr Duration kMemoryLook = std::chrono::milliseconds{1};
/// A larger attachment is not copied synchronously within the cancellation of its call.
constexpr std::size_t kCopiedAtOnceMax = std::size_t{1} << 20;

/// Takes `call` out of the list of timeouts: its list or its timer is for something else from now on.
void leave_timeouts(PendingCall& call, CallRequest& request) noexcept {
  if (std::exchange(request.default_timeout, 0) == 0) return;
  static_cast<ListHook<TargetCallTag>&>(call).unlink();
}

/// Makes `timer` look for the memory that the call's connection has.
void look_for_memory(Loop& loop, CallRequest& request, Timer& timer) {
  request.deadline = Deadline::after(loop.read_clock(), kMemoryBackWithin);
  loop.arm(timer, loop.now() + kMemoryLook);
}

/// The end of a call that has options, or that no list of timeouts serves.
Deadline earliest_deadline(CallTarget& target, const CallDetails* details, Deadline of_scope) {
  const CallTimeouts& timeouts = target.timeouts();
  Deadline deadline;
  if (details != nullptr && details->options.timeout != Duration::zero()) {
    const Duration timeout = details->options.timeout;
    if (timeout != kNoTimeout) deadline = Deadline::after(target.loop().read_clock(), timeout);
  } else if (timeouts.timeout() != kNoTimeout) {
    deadline = timeouts.serves() ? timeouts.from_now()
                                 : Deadline::after(target.loop().read_clock(), timeouts.timeout());
  }
  if (details != nullptr) deadline = deadline.earlier(details->options.deadline);
  return deadline.earlier(of_scope);
}

// A call with only its target's default timeout needs no timer of its own, see CallTimeouts. Other calls take
// this path for all rare cases. Returns false, with a `failure`, when the call must be refused.
inline bool set_deadline(CallTarget& target, CallRequest& request, Timer& timer, const CancelScope* scope,
                         std::size_t body_bytes, Status& failure) {
  const CallTimeouts& timeouts = target.timeouts();
  const Deadline of_scope = scope != nullptr ? scope->deadline() : Deadline{};
  const bool has_default_time = request.details == nullptr || request.details->has_default_time();
  if (has_default_time && timeouts.serves()) [[likely]] {
    const Deadline deadline = timeouts.from_now();
    if (of_scope.at() >= deadline.at()) [[likely]] {
      request.deadline = deadline;
      request.default_timeout = timeouts.wire_timeout();
      return true;
    }
  }
  Loop& loop = target.loop();
  request.deadline = earliest_deadline(target, request.details, of_scope);
  if (request.deadline.expired(loop.now())) {
    failure = to_status(CancelReason::kDeadline);
    return false;
  }
  if (target.gate() != nullptr) [[unlikely]] {
    const bool carries = scope != nullptr && !scope->carried().empty() && target.carries_metadata();
    const MetadataView carried = carries ? MetadataView{scope->carried()} : MetadataView{};
    failure = ClientPass::begin(*target.gate(), loop, request, carried, body_bytes);
    // An interceptor may cancel the scope.
    if (failure.ok() && scope != nullptr && scope->cancelled()) failure = to_status(scope->reason());
    if (!failure.ok()) return false;
  }
  if (!request.deadline.is_infinite()) loop.arm(timer, request.deadline.at());
  return true;
}

bool may_begin_again(CallTarget& target, const PendingCall& call, const Status& failure) {
  if (call.request().method->streams) return false;  // its items were of the connection
  if (!failure.unprocessed() && !call.request().is_idempotent()) return false;
  return call.request().keeps_body() && target.may_begin_again(call, failure);
}

/// The outcome of a call whose last attempt has ended with `failure`.
Status outcome_of(CallRequest& request, Status failure) noexcept {
  request.attempts.add(failure);
  return request.attempts.outcome(std::move(failure));
}

/// The failure of a call that is cancelled while it waits: its text explains the wait.
Status late_status(const CallRequest& request, const CallTarget& target, CancelReason reason) {
  Status late = to_status(reason).with_context(
      request.attempts.may_have_run() ? "its connection was lost, and it waited for another to be sent again"
                                      : "not sent, still waiting for a connection or for room");
  if (const Status why = target.why_waiting(); !why.ok()) late = late.with_context(why.message());
  return late;
}

// A lost connection has returned all memory; an open one must copy the rest.
void give_back_attachment(CallsOut& out, CallDetails& details, bool stands) {
  if (stands) out.take_attachment_over(details, "out of memory for an attachment that is not taken");
  details.begin_again();
}

}  // namespace

Begun PendingCall::begin(CancelScope* scope, std::size_t body_bytes) {
  if (Loop::current() != target_->home()) [[unlikely]] {
    if (target_->is_over()) return refuse(target_->why_over());
    if (target_->loop().mailbox()->in_child()) return refuse(Status::of<kInChildOfFork>());
    if (!target_->loop().is_used_here()) used_on_wrong_thread("call");
  }
  if (scope != nullptr && scope->cancelled()) [[unlikely]] {
    return refuse(to_status(scope->reason()));
  }
  if (!set_deadline(*target_, request_, *this, scope, body_bytes, failure_)) [[unlikely]] {
    return refuse(std::move(failure_));
  }
  if (scope != nullptr) {
    if (!scope->carried().empty() && target_->carries_metadata()) request_.carrying = scope;
    scope->add(*this);
  }
  return target_->begin(*this, body_bytes);
}

Begun PendingCall::refuse(Status failure) {
  failure_ = request_.attempts.outcome(std::move(failure));
  if (request_.has_waited) {
    end();
    return {};
  }
  state_ = State::kDone;
  if (armed()) target_->loop().disarm(*this);
  if (CallDetails* const details = std::exchange(request_.details, nullptr)) {
    details->show_metadata();
    details->ended(failure_);
  }
  return {};
}

// The call is in the list of waiting calls, so its deadline needs a timer; and less time is left when it is
// sent.
Begun PendingCall::wait() {
  state_ = State::kWaiting;
  request_.has_waited = true;
  if (request_.default_timeout != 0) {
    request_.default_timeout = 0;
    target_->loop().arm(*this, request_.deadline.at());
  }
  return {.outcome = Begun::Outcome::kWaits};
}

void PendingCall::offer_runs(LentRuns& runs) {
  find_runs(runs);
  if (runs.empty() || request_.details != nullptr) return;
  request_.details = CallDetails::make_own();
  if (request_.details == nullptr) runs = LentRuns{};
}

Begun PendingCall::write_around(std::byte* body, LentRuns& runs) noexcept {
  try {
    encode_around(body, runs);
  } catch (...) {  // a hook of the user's
    out_->take_back(request_, id_, body);
    return refuse(status_of_encoding());
  }
  request_.details->attachment().put_runs_in(out_->link().output(), runs);
  sent();
  return {.outcome = Begun::Outcome::kSent};
}

// A late loop may be here before the timer of a call whose deadline has passed. refuse() ends a call that is
// refused, as its waiter expects, and the call may be gone.
void PendingCall::begin_waiting(CallsOut& out) noexcept {
  request_.has_waited = true;
  if (request_.deadline.expired(target_->loop().now())) {
    return fail(late_status(request_, *target_, CancelReason::kDeadline));
  }
  Begun begun;
  try {
    begun = out.begin(*this, body_bytes());
    if (begun.body != nullptr) encode_body(begun.body);
  } catch (...) {  // a hook of the user's
    if (begun.body != nullptr) out.take_back(request_, id_, begun.body);
    return fail(status_of_encoding());
  }
  if (begun.needs_sent()) sent();
}

void PendingCall::take_back(const std::byte* body) noexcept {
  out_->take_back(request_, id_, body);
  set_waiter(nullptr);
  fail(status_of_encoding());
}

void PendingCall::sent() {
  out_->sent(request_.details, id_);
}

void PendingCall::limit(Deadline deadline) {
  if (state_ >= State::kLeaving || deadline.is_infinite() || request_.deadline.at() <= deadline.at()) return;
  leave_timeouts(*this, request_);
  request_.deadline = deadline;
  if (deadline.expired(target_->loop().now())) return on_cancel(CancelReason::kDeadline);
  target_->loop().arm(*this, deadline.at());
}

void PendingCall::on_cancel(CancelReason reason) noexcept {
  if (state_ == State::kWaiting) {
    leave();
    return fail(late_status(request_, *target_, reason));
  }
  if (state_ != State::kSent) return;
  // Also when the request is still queued: it leaves all the same, with the cancel behind it.
  failure_ = to_status(reason);
  if (request_.details != nullptr && !out_->may_end_at_once(*this, *request_.details, kCopiedAtOnceMax)) {
    out_->stop_sending(*request_.details);
    leave_timeouts(*this, request_);
    state_ = State::kLeaving;
    return look_for_memory(target_->loop(), request_, *this);
  }
  leave();
  end();
}

bool PendingCall::may_time_out() const noexcept {
  return state_ != State::kSent || out_->link().connection().has_looked(request_.deadline.at());
}

void PendingCall::on_timer() {
  Loop& loop = target_->loop();
  if (state_ < State::kLeaving) {
    if (!may_time_out()) return loop.arm(*this, request_.deadline.at());
    return on_cancel(CancelReason::kDeadline);
  }
  const TimePoint now = loop.read_clock();
  const bool wait_is_over = request_.deadline.expired(now);
  // A copy takes time, and so does taking memory by force: one call per turn, so that no turn gets long.
  const bool wait_for_turn =
      loop.turn_time().is_old() && now - request_.deadline.at() < kMemoryBackWithin * 2;
  if (wait_for_turn || (!wait_is_over && !out_->may_end_at_once(*this, *request_.details, SIZE_MAX))) {
    return loop.arm(*this, now + kMemoryLook);
  }
  leave();
  end();
}

void PendingCall::fail(Status failure) noexcept {
  failure_ = request_.attempts.outcome(std::move(failure));
  end();
}

void PendingCall::give_up(Status why) noexcept {
  if (state_ == State::kSent) request_.attempts.add_abandoned();
  leave();
  fail(std::move(why));
}

const ChunkRef* PendingCall::received_in() const noexcept {
  return out_->received_in();
}

bool PendingCall::forget_details() noexcept {
  if (state_ != State::kSent || request_.details == nullptr || request_.details->has_pass()) return false;
  if (request_.details->options.answer_metadata != nullptr) return false;
  request_.details = nullptr;
  return true;
}

inline void PendingCall::end() noexcept {
  state_ = State::kDone;
  if (armed()) target_->loop().disarm(*this);
  stop_listening();
  if (waiter() != nullptr) target_->loop().schedule(*waiter());
  if (request_.details != nullptr) [[unlikely]] {
    tell_end();
  }
}

// Comes last, because an interceptor may destroy the call.
void PendingCall::tell_end() noexcept {
  const LateEnd::Guard guard;
  CallDetails* const details = std::exchange(request_.details, nullptr);
  details->show_metadata();
  on_end();
  details->ended(failure_);
}

// A call that leaves has details, so that its answer goes on to take_answer().
void PendingCall::on_answer(const Frame& frame) {
  if (request_.details != nullptr || !wire::AnswerView{frame.header}.succeeded()) [[unlikely]] {
    return take_answer(frame, {});
  }
  decode_answer(frame.body, failure_);
  end();
}

void PendingCall::take_answer(const Frame& frame, Status refused) {
  if (state_ != State::kLeaving) {
    if (!refused.ok()) {
      failure_ = std::move(refused);
    } else if (wire::AnswerView{frame.header}.succeeded()) {
      // Without its metadata an answer is not decoded, so that the caller's value stays as it was.
      if (request_.details != nullptr && request_.details->lacks_metadata()) [[unlikely]] {
        failure_ = request_.details->metadata_failure();
      } else {
        decode_answer(frame.body, failure_);
      }
      if (request_.details != nullptr) request_.details->served(frame.body.size());
    } else {
      failure_ = outcome_of(request_, answered_status(frame, *request_.method));
    }
  }
  end_with_memory();
}

// An answer can overtake the last bytes of its own request's attachment: the server need not read an
// attachment that it refuses. Then the caller's memory is still being read, possibly by a device, and the
// loop must not wait for that.
void PendingCall::end_with_memory() noexcept {
  if (request_.details == nullptr || out_->has_no_memory(*this, *request_.details)) return end();
  if (out_->may_end_at_once(*this, *request_.details, kCopiedAtOnceMax)) {
    out_->take_attachment_over(*request_.details, "out of memory for an attachment that is not taken");
    out_->take_landing_back(*this);
    return end();
  }
  leave_timeouts(*this, request_);
  out_->await_memory(*this);
  const bool looks_already = std::exchange(state_, State::kReturning) == State::kLeaving;
  if (!looks_already) look_for_memory(target_->loop(), request_, *this);
}

Landing PendingCall::on_answer_attachment(const Frame& frame) {
  if (state_ == State::kLeaving) return Landing::skip();
  if (request_.details == nullptr || !request_.details->wants_attachment()) return Landing::skip();
  const Landing landing = request_.details->land(frame.header.attachment_bytes, out_->link());
  if (landing.kind == Landing::Kind::kInto) request_.details->expect(frame.header.attachment_bytes);
  return landing;
}

void PendingCall::on_answer_attachment_end(const Frame& frame, bool landed) {
  if (landed) request_.details->all_received(frame.header.attachment_bytes);
  const bool wanted = request_.details != nullptr && request_.details->wants_attachment();
  const bool refused = !landed && wanted && wire::AnswerView{frame.header}.succeeded();
  take_answer(frame, refused ? request_.details->take_landing_refusal() : Status{});
}

// Where memory would not be back at once the call ends, and says that it has not run.
void PendingCall::on_lost(const Status& failure, bool stands) {
  if (request_.details != nullptr) request_.details->arriving().end();
  if (state_ == State::kSent && target_->repeats_calls()) [[unlikely]] {
    const bool has_memory_back = !stands || request_.details == nullptr ||
                                 out_->may_end_at_once(*this, *request_.details, kCopiedAtOnceMax);
    if (has_memory_back && may_begin_again(*target_, *this, failure)) {
      if (stands) out_->take_landing_back(*this);
      if (request_.details != nullptr) give_back_attachment(*out_, *request_.details, stands);
      if (request_.default_timeout != 0) static_cast<ListHook<TargetCallTag>&>(*this).unlink();
      out_ = nullptr;
      ++request_.repeats;
      request_.attempts.add(failure);
      static_cast<void>(wait());
      return target_->take_again(*this);
    }
  }
  if (state_ < State::kLeaving) failure_ = outcome_of(request_, failure);
  if (stands) return end_with_memory();
  end();
}

// Code of the user's may run meanwhile, and cancel what leaves already.
void PendingCall::leave() noexcept {
  WEFT_ASSERT(state_ != State::kReading, "a hook of the codec destroyed the call whose answer it reads");
  const State left = std::exchange(state_, State::kLeft);
  if (left != State::kIdle) {
    WEFT_ASSERT(
        is_thread_of(target_->loop()),
        "a call or stream was cancelled or destroyed on another thread than its client's loop: write "
        "client.loop().post(...), and do it there, or begin it by weft::blocking(client), for any thread");
  }
  if (left == State::kWaiting) target_->withdraw(*this);
  if (left == State::kSent || left == State::kLeaving) {
    if (request_.details != nullptr) {
      out_->take_attachment_over(*request_.details, "out of memory for an abandoned attachment");
    }
    out_->abandon(*this, id_);
    if (request_.details != nullptr) request_.details->arriving().end();
  }
  if (left == State::kReturning) {
    static_cast<ListHook<TargetCallTag>&>(*this).unlink();
    out_->take_attachment_over(*request_.details, "out of memory for an answered attachment");
    out_->take_landing_back(*this);
  }
  if (request_.details != nullptr) request_.details->left();
}

}  // namespace weft::detail
