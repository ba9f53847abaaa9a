// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/served_call.hpp"

#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "calls/admission.hpp"
#include "calls/call_status.hpp"
#include "calls/call_workers.hpp"
#include "calls/calls_host.hpp"
#include "calls/gate_pass.hpp"
#include "calls/incoming_transfer.hpp"
#include "calls/intercepted_sink.hpp"
#include "calls/late_answer.hpp"
#include "weft/detail/calls/method_entry.hpp"
#include "weft/detail/calls/served_exchange.hpp"
#include "weft/runtime/loop.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kReplyDropped{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                     "the handler dropped its Reply without an answer"};
constexpr FixedFailure kGivenUp{StatusCode::kCancelled, Layer::kRpc, Retry::kNever, "the caller gave up"};
constexpr FixedFailure kNoMemoryForAnswer{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "answers that wait to be sent fill the server's memory, or this connection's share of it"};
constexpr FixedFailure kConnectionGone{StatusCode::kUnavailable, Layer::kRpc, Retry::kNever,
                                       "the caller's connection is gone"};

/// Tells those that a call has passed, interceptors and limits, that it fails.
void note_failure(const CallEnvelope& envelope, const Status& failure) {
  if (envelope.pass != nullptr) [[unlikely]] {
    envelope.pass->will_fail(failure);
  }
}

/// Keeps who the peer of a lost connection was for a handler that goes on. Without memory for it the handler
/// hears that it was nobody.
void keep_peer(CallEnvelope& envelope, const AnswerSink& sink) noexcept {
  if (envelope.endpoints != nullptr || sink.peer_identity().is_anonymous()) return;
  try {
    envelope.endpoints = std::make_unique<const CallEnvelope::Endpoints>(
        CallEnvelope::Endpoints{{}, {}, sink.peer_identity()});
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): nobody
  }
}

/// There is no memory for the copy of the answer's attachment that `sink` needs.
bool copies_too_much(AnswerSink& sink, const CallEnvelope& envelope) {
  const AnswerWishes* const wishes = envelope.wishes.get();
  return wishes != nullptr && wishes->attachment_is_shared &&
         !sink.reserve_copy(envelope.answer_attachment.size());
}

}  // namespace

Status status_of_exception() {
  try {
    throw;
  } catch (const Status& failure) {
    if (!failure.ok()) return failure;
    return {StatusCode::kUnknown, Layer::kUser, "the handler threw a Status that is no failure"};
  } catch (const std::bad_alloc&) {
    return {StatusCode::kResourceExhausted, Layer::kUser, "the handler ran out of memory"};
  } catch (const std::exception& exception) {
    return {StatusCode::kUnknown, Layer::kUser,
            [&] { return std::string{"the handler threw: "} + exception.what(); }};
  } catch (...) {
    return {StatusCode::kUnknown, Layer::kUser, "the handler threw something that is no std::exception"};
  }
}

ServedCall::ServedCall(AnswerSink& sink, CallsHost& host, Loop& loop, const MethodEntry& method,
                       ServedRequest request, Buffer attachment)
    : sink_(&sink),
      host_(&host),
      loop_(&loop),
      method_(&method),
      connection_id_(sink.connection_id()),
      request_(std::move(request)),
      envelope_{.attachment = std::move(attachment)} {
  ++host.running;
  ++host.calls.of(method).running;
  task_end_.call = this;
  task_end_.completed = [](Completion& end, TaskPromiseBase&) noexcept {
    static_cast<TaskEnd&>(end).call->let_go();
  };
  if (request_.metadata_bytes != 0) [[unlikely]] {
    scope_.set_carried(request_.kept.bytes().first(request_.metadata_bytes));
  }
  if (!request_.deadline.is_infinite()) {
    scope_.set_deadline(request_.deadline);
    loop.arm(*this, request_.deadline.at());
  }
}

ServedCall::~ServedCall() {
  if (sink_ != nullptr) {
    if (state_ == State::kCancelled) sink_->fail(id(), Status::of<kGivenUp>());
    sink_->forget(*this);
  }
  if (envelope_.wishes != nullptr) envelope_.wishes->end(false);
}

void ServedCall::start() {
  try {
    switch (method_->kind) {
      case HandlerKind::kCoroutine:
        task_ = method_->serve_coroutine(method_, this);
        detail::start(task_, &scope_, task_end_);
        return;
      case HandlerKind::kBlocking:
        return hand_to_worker();
      default:
        method_->serve_record(*method_, *this);
        if (method_->delayed) return let_go_unanswered();
        let_go();
    }
  } catch (const std::bad_alloc&) {
    if (!answered()) {
      note_failure(envelope_, Status::of<kOutOfMemory>());
      sink_->refuse_without_memory(id());
      conclude();
    }
    let_go();
  }
}

// A worker cannot ask the connection, which may end meanwhile; so what the handler may ask for is noted
// before.
void ServedCall::hand_to_worker() {
  if (method_->takes_attachment) {  // it has a context to ask
    envelope_.endpoints = std::make_unique<const CallEnvelope::Endpoints>(CallEnvelope::Endpoints{
        sink_->local_endpoint(), sink_->remote_endpoint(), sink_->peer_identity(), sink_->peer()});
  }
  if (envelope_.stream != nullptr) {
    envelope_.exchange.reset(new ServedExchange{*loop_, *envelope_.stream});
  }
  const Deadline deadline = scope_.deadline();
  if (!deadline.is_infinite()) run_until = loop_->now() + deadline.remaining(loop_->now()) / 2;
  if (!host_->workers->submit(*this)) refuse_unrun(RefusalReason::kOverWorkerQueue);
}

void ServedCall::refuse_unrun(RefusalReason reason) {
  if (state_ == State::kRunning) {
    const bool late = reason == RefusalReason::kBehind;
    Status why = exhausted(late ? "half of the time for this call had passed before a worker of the server "
                                  "was free, so it was not run"
                                : "all workers of the server are busy, and their queue has no place for the "
                                  "call (worker_queue_max, or waiting_max of its method)");
    why.mark_unprocessed();
    note_failure(envelope_, why);
    sink_->refuse(id(), reason, why);
    conclude();
  }
  let_go();
}

bool ServedCall::let_go() {
  if (--holders_ != 0) return false;
  CallsHost& host = *host_;
  --host.calls.of(*method_).running;
  delete this;
  --host.running;
  if (host.running.get() == 0 && host.on_idle) host.on_idle();
  return true;
}

void ServedCall::let_go_unanswered() {
  if (holders_ != 1 || state_ != State::kRunning) {
    let_go();
    return;
  }
  if (late_failure_.ok()) late_failure_ = Status::of<kReplyDropped>();
  fail_late(std::move(late_failure_));
}

Status ServedCall::make_answer(std::size_t bytes, AnswerBody& body) {
  const std::size_t most = request_.answer_bytes_max;
  if (bytes > most) return over_limit("the answer", bytes, most, "the server's", kServersBodyOption);
  // In the whole process's budget, for this loop's part is the loop's alone.
  MemoryBudget* const budget = Loop::current() == loop_ ? nullptr : host_->memory->shared().get();
  if (!body.make(bytes, budget)) return Status::of<kNoMemoryForAnswer>();
  return {};
}

Status ServedCall::carry_failure(Status failure, AnswerBody& charge) const noexcept {
  const std::size_t text = charged_text(failure);
  if (text == 0 || Loop::current() == loop_) return failure;
  return charge.charge_in_place(text, *host_->memory->shared()) ? std::move(failure) : shortened(failure);
}

std::byte* ServedCall::begin_answer(std::size_t bytes) {
  if (off_loop_) {
    late_failure_ = make_answer(bytes, late_body_);
    if (!late_failure_.ok()) return nullptr;
    // An empty body still has a place: null would say that there is nobody to answer.
    static std::byte nothing;
    return bytes == 0 ? &nothing : late_body_.data();
  }
  if (state_ != State::kRunning) return nullptr;
  if (envelope_.pass != nullptr) [[unlikely]] {
    envelope_.pass->will_answer(bytes);
  }
  if (copies_too_much(*sink_, envelope_)) [[unlikely]] {
    fail(Status::of<kNoMemoryForAnswer>());
    return nullptr;
  }
  std::byte* body = sink_->begin_answer(id(), bytes, envelope_.answer_attachment.size());
  if (body == nullptr) {
    note_failure(envelope_, Status::of<kAnswerNotSent>());
    conclude();
  }
  return body;
}

void ServedCall::end_answer() {
  if (off_loop_) return;
  if (envelope_.answer_attachment.empty() && envelope_.wishes == nullptr) {
    sink_->end_answer();
  } else {
    sink_->end_answer_with(id(), std::move(envelope_.answer_attachment), std::move(envelope_.wishes));
  }
  ++host_->calls.of(*method_).answered;
  conclude();
}

void ServedCall::take_back_answer(const std::byte* body) {
  if (!off_loop_) sink_->take_back_answer(body);
}

void ServedCall::fail(const Status& failure) {
  if (off_loop_) {
    late_failure_ = carry_failure(failure, late_body_);
    return;
  }
  if (state_ != State::kRunning) return;
  note_failure(envelope_, failure);
  if (bad_arguments_) {
    sink_->refuse(id(), RefusalReason::kBadArguments, failure);
  } else {
    sink_->fail(id(), failure);
  }
  conclude();
}

void ServedCall::refuse_arguments(const Status& failure) {
  bad_arguments_ = true;
  fail(failure);
}

void ServedCall::conclude(State state) {
  state_ = state;
  if (armed()) loop_->disarm(*this);
  if (envelope_.pass != nullptr) [[unlikely]] {
    envelope_.pass->conclude();
  }
  if (envelope_.close_after_answer.load(std::memory_order_relaxed)) sink_->finish();
}

void ServedCall::answer_late(AnswerBody body) {
  std::vector<std::byte> bytes = std::move(body).take();
  Status success;
  if (LateAnswer::keep(*this, bytes, success)) return;
  LateAnswer::send(*this, bytes, {});
  let_go();
}

void ServedCall::fail_late(Status failure) {
  std::vector<std::byte> nothing;
  if (LateAnswer::keep(*this, nothing, failure)) return;
  LateAnswer::send(*this, {}, failure);
  let_go();
}

// That nobody makes room is not the handler's fault, so its time is over.
void ServedCall::when_room(RoomWaiter& waiter) {
  if (envelope_.pass != nullptr) [[unlikely]] {
    envelope_.pass->handler_ended();
  }
  sink_->add_room_waiter(waiter);
}

Status ServedCall::keep_answer(std::size_t bytes) noexcept {
  // A failure, or nothing, is sent however much others hold.
  if (sink_ == nullptr || bytes == 0) return {};
  if (!sink_->charge_answer(bytes)) return Status::of<kNoMemoryForAnswer>();
  request_.connection_charge += bytes;
  request_.kept.add_charge(*host_->memory, bytes);
  return {};
}

void ServedCall::run_off_loop() {
  if (cancelled_anywhere()) {
    late_failure_ = {StatusCode::kCancelled, Layer::kRpc, "the caller gave up before a worker was free"};
    return;
  }
  if (method_->delayed) {
    method_->serve_record(*method_, *this);
    return;
  }
  off_loop_ = true;
  method_->serve_record(*method_, *this);
  off_loop_ = false;
}

void ServedCall::publish() {
  if (method_->delayed) return let_go_unanswered();
  if (!late_failure_.ok()) {
    static_cast<void>(std::move(late_body_).take());  // its charge: on the loop the text has another
    return fail_late(std::move(late_failure_));
  }
  answer_late(std::move(late_body_));
}

void ServedCall::on_timer() {
  cancel(CancelReason::kDeadline);
}

// What waits for a worker needs none any more: its record may be gone afterwards.
void ServedCall::cancel(CancelReason reason) {
  cancelled_.store(true, std::memory_order_relaxed);
  if (envelope_.stream != nullptr) envelope_.stream->close(to_status(reason), true);
  scope_.cancel(reason);
  if (method_->kind != HandlerKind::kBlocking || !host_->workers->withdraw(*this)) return;
  fail(to_status(reason).with_context("not run, still waiting for a worker"));
  let_go();
}

void ServedCall::cancel_by_peer() {
  if (answered()) return;
  if (envelope_.pass != nullptr) [[unlikely]] {
    envelope_.pass->abandon(Status::of<kGivenUp>());
  }
  conclude(State::kCancelled);
  cancel(CancelReason::kPeerCancelled);
}

void ServedCall::orphan() {
  ListHook<ServedCallTag>::unlink();
  if (envelope_.incoming != nullptr) envelope_.incoming->on_connection_lost();
  keep_peer(envelope_, *sink_);
  sink_->forget(*this);
  sink_ = nullptr;
  if (state_ != State::kAnswered) ++host_->calls.of(*method_).dropped;
  if (envelope_.pass != nullptr && state_ == State::kRunning) [[unlikely]] {
    envelope_.pass->abandon(Status::of<kConnectionGone>());
    envelope_.pass->conclude();
  }
  state_ = State::kOrphaned;
  if (armed()) loop_->disarm(*this);
  host_->orphans.push_back(*this);
  cancel(CancelReason::kPeerGone);
}

}  // namespace weft::detail
