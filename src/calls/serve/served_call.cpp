// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/serve/served_call.hpp"

#include <exception>
#include <new>
#include <utility>

#include "calls/gate/gate_pass.hpp"
#include "calls/gate/intercepted_sink.hpp"
#include "calls/landing/incoming_transfer.hpp"
#include "calls/serve/call_workers.hpp"
#include "calls/serve/calls_host.hpp"
#include "calls/serve/late_answer.hpp"
#include "calls/terms/admission.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/serve/served_exchange.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/runtime/loop.hpp"

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

/// Null for a call that has passed nothing.
GatePass* pass_of(const ServedCall& call) noexcept {
  const CallEnvelope* const envelope = call.envelope_if_any();
  return envelope != nullptr ? envelope->pass.get() : nullptr;
}

/// Notifies the interceptors and limits that a call has passed of its failure.
void note_failure(ServedCall& call, const Status& failure) {
  if (GatePass* const pass = pass_of(call)) [[unlikely]] {
    pass->will_fail(failure);
  }
}

/// Keeps the identity of a lost connection's peer for a handler that goes on. If there is no memory for it,
/// the handler sees an anonymous peer.
void keep_peer(ServedCall& call, const AnswerSink& sink) noexcept {
  const CallEnvelope* const envelope = call.envelope_if_any();
  if ((envelope != nullptr && envelope->endpoints != nullptr) || sink.peer_identity().is_anonymous()) return;
  try {
    call.envelope().endpoints = std::make_unique<const CallEnvelope::Endpoints>(
        CallEnvelope::Endpoints{{}, {}, sink.peer_identity()});
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): anonymous
  }
}

constexpr FixedFailure kAttachmentOfStream{
    StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
    "the handler of a stream called set_attachment(), but the end of a stream carries no attachment: send "
    "it with an item, write(item, attachment)"};

/// Fails when the answer's attachment cannot be sent, or when `sink` has no memory for a copy of it that it
/// needs.
Status check_attachment(AnswerSink& sink, const Attachment& attachment) {
  if (attachment.is_buffer() || attachment.empty()) [[likely]] {
    return {};
  }
  if (Status bad = check_runs("CallContext::set_attachment()", attachment.fault()); !bad.ok()) return bad;
  const bool copied = attachment.view().is_shared();
  return copied && !sink.reserve_copy(attachment.size()) ? Status::of<kNoMemoryForAnswer>() : Status{};
}

/// Returns true if `call` may be answered. A call with a lost connection that was not notified yet is
/// notified here.
bool is_heard(ServedCall& call) {
  if (!call.answered() && call.sink()->is_gone()) [[unlikely]] {
    call.orphan();
  }
  return !call.answered();
}

/// Lets a worker run `call`. The worker cannot use the connection, which may end meanwhile, so the data that
/// the handler may ask for is copied before.
void hand_to_worker(ServedCall& call, CallsHost& host) {
  AnswerSink& sink = *call.sink();
  if (call.method().takes_attachment) {  // it has a context to ask
    call.envelope().endpoints = std::make_unique<const CallEnvelope::Endpoints>(CallEnvelope::Endpoints{
        sink.local_endpoint(), sink.remote_endpoint(), sink.peer_identity(), sink.peer()});
  }
  Loop& loop = call.loop();
  if (call.stream() != nullptr) call.envelope().exchange.reset(new ServedExchange{loop, *call.stream()});
  const Deadline deadline = call.scope().deadline();
  if (!deadline.is_infinite()) call.details().run_until = loop.now() + deadline.remaining(loop.now()) / 2;
  if (const auto refusal = host.workers->submit(call)) call.refuse_unrun(*refusal);
}

/// Base of a record that has its details in one block, so that they outlive it.
struct DetailsPlace {
  explicit DetailsPlace(ServedCall& call) noexcept : details_here(call) {}
  ServedDetails details_here;
};

/// Converts the current exception; `who` returns the words for the code that threw it.
template <typename Who>
Status failure_of_exception(const Who& who) {
  const auto it = [&who](std::string_view did) { return std::string{who()} + std::string{did}; };
  try {
    throw;
  } catch (const Status& failure) {
    if (!failure.ok()) return failure;
    return {StatusCode::kUnknown, Layer::kUser, [&] { return it(" threw a Status that is no failure"); }};
  } catch (const std::bad_alloc&) {
    return {StatusCode::kResourceExhausted, Layer::kUser, [&] { return it(" ran out of memory"); }};
  } catch (const std::exception& exception) {
    return {StatusCode::kUnknown, Layer::kUser, [&] { return it(" threw: ") + exception.what(); }};
  } catch (...) {
    return {StatusCode::kUnknown, Layer::kUser,
            [&] { return it(" threw something that is no std::exception"); }};
  }
}

}  // namespace

Status status_of_exception(std::string_view who) {
  return failure_of_exception([who] { return who; });
}

Status status_of_exception(const MethodEntry& method) {
  return failure_of_exception([&] { return "the handler of '" + std::string{method.key.name} + "'"; });
}

/// A record with its details in one block.
class ServedCall::Whole final : private DetailsPlace, public ServedCall {
 public:
  Whole(AnswerSink& sink, CallsHost& host, Loop& loop, const MethodEntry& method, ServedRequest&& request,
        Buffer attachment)
      : DetailsPlace(static_cast<ServedCall&>(*this)),
        ServedCall(sink, host, loop, method, std::move(request), &details_here) {
    details_here.envelope.attachment = std::move(attachment);
  }
};

// Guards against accidental growth: an idle stream's record and its side of the items take 512 bytes.
static_assert(frame_class(sizeof(ServedCall)) + frame_class(sizeof(StreamSide)) <= 512 / kFrameStep);

ServedCall& ServedCall::make(AnswerSink& sink, CallsHost& host, Loop& loop, const MethodEntry& method,
                             ServedRequest&& request, Buffer attachment, bool has_details) {
  const bool is_whole = has_details || !method.key.streams || method.kind == HandlerKind::kBlocking ||
                        !request.deadline.is_infinite() || !attachment.empty();
  if (!is_whole) return *new ServedCall(sink, host, loop, method, std::move(request));
  return *new Whole(sink, host, loop, method, std::move(request), std::move(attachment));
}

ServedCall::ServedCall(AnswerSink& sink, CallsHost& host, Loop& loop, const MethodEntry& method,
                       ServedRequest&& request, ServedDetails* details)
    : sink_(&sink),
      host_(&host),
      loop_(&loop),
      method_(&method),
      connection_id_(sink.connection_id()),
      request_(std::move(request)),
      details_(details),
      is_whole_(details != nullptr) {
  if (!request_.deadline.is_infinite()) {
    scope_.set_deadline(request_.deadline);
    loop.arm(this->details(), request_.deadline.at());
  }
  ++host.running;
  ++host.calls.of(method).running;
  completed = [](Completion& end, TaskPromiseBase&) noexcept {
    ServedCall& call = static_cast<ServedCall&>(end);
    // If its last part has held the loop up, then the loop shall know which method that was.
    call.loop_->turn_time().note_begun(&call.host_->calls.of(*call.method_));
    call.let_go();
  };
  if (request_.metadata_bytes != 0) [[unlikely]] {
    scope_.set_carried(request_.kept.bytes().first(request_.metadata_bytes));
  }
}

ServedCall::~ServedCall() {
  if (sink_ != nullptr) {
    if (state_ == State::kCancelled) sink_->fail(id(), Status::of<kGivenUp>());
    sink_->forget(*this);
  }
  if (!is_whole_) task_ = {};  // it looks at the details, and may make them
  if (details_ == nullptr) return;
  if (details_->envelope.wishes != nullptr) details_->envelope.wishes->end(false);
  details_->envelope.exchange.reset();  // it looks at the stream
  if (!is_whole_) delete details_;
}

void ServedDetails::on_timer() {
  call->on_deadline();
}

void ServedCall::on_deadline() {
  cancel(CancelReason::kDeadline);
}

void ServedCall::start() {
  try {
    switch (method_->kind) {
      case HandlerKind::kCoroutine:
        task_ = method_->serve_coroutine(method_, this);
        detail::start(task_, &scope_, *this);
        return;
      case HandlerKind::kBlocking:
        return hand_to_worker(*this, *host_);
      default:
        method_->serve_record(*method_, *this);
        if (method_->delayed) return let_go_unanswered();
        let_go();
    }
  } catch (const std::bad_alloc&) {
    if (!answered()) {
      note_failure(*this, Status::of<kOutOfMemory>());
      sink_->refuse_without_memory(id());
      conclude();
    }
    let_go();
  }
}

void ServedCall::refuse_unrun(const Refusal& refusal) {
  if (is_heard(*this)) {
    Status why = refusal.status;
    why.set_retry_after(refusal.retry_after);
    why.mark_unprocessed();
    note_failure(*this, why);
    sink_->refuse(id(), refusal.reason, why);
    conclude();
  }
  let_go();
}

bool ServedCall::let_go() {
  if (--holders_ != 0) return false;
  CallsHost& host = *host_;
  --host.calls.of(*method_).running;
  if (is_whole_) [[likely]] {
    delete static_cast<Whole*>(this);
  } else {
    delete this;
  }
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
  if (bytes > most) return over_limit("the answer", bytes, most, "the server's", kRaiseBody);
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

std::byte* ServedCall::begin_answer(std::size_t bytes, const RunsInChunk* lent) {
  if (off_loop_) {
    late_failure_ = make_answer(bytes, details().late_body);
    if (!late_failure_.ok()) return nullptr;
    // An empty body still has a place: null would mean that the caller is gone.
    static std::byte nothing;
    return bytes == 0 ? &nothing : details().late_body.data();
  }
  if (!is_heard(*this)) return nullptr;
  if (stream_ != nullptr) {
    // The handler may not have noticed, and its good answer would hide that items are missing.
    if (const Status loss = stream_->loss(); !loss.ok()) [[unlikely]] {
      fail(loss);
      return nullptr;
    }
  }
  answer_bytes_ = static_cast<std::uint32_t>(bytes);
  if (GatePass* const pass = pass_of(*this)) [[unlikely]] {
    pass->will_answer(bytes);
  }
  std::size_t attached = 0;
  if (details_ != nullptr) {
    const Attachment& attachment = details_->envelope.answer_attachment;
    if (method_->key.streams && !attachment.empty()) [[unlikely]] {
      fail(Status::of<kAttachmentOfStream>());
      return nullptr;
    }
    if (Status bad = check_attachment(*sink_, attachment); !bad.ok()) [[unlikely]] {
      fail(bad);
      return nullptr;
    }
    attached = attachment.size();
    if (details_->envelope.metadata != nullptr) [[unlikely]] {
      if (Status bad = send_metadata(true); !bad.ok()) {
        fail(bad);
        return nullptr;
      }
    }
  }
  std::byte* const body = lent == nullptr ? sink_->begin_answer(id(), bytes, attached)
                                          : sink_->begin_answer_around(id(), bytes, attached, *lent);
  if (body == nullptr) {
    note_failure(*this, Status::of<kAnswerNotSent>());
    conclude();
  }
  return body;
}

void ServedCall::end_answer(const RunsInChunk* lent) {
  if (off_loop_) return;
  CallEnvelope* const envelope = details_ != nullptr ? &details_->envelope : nullptr;
  const std::uint64_t attached = envelope != nullptr ? envelope->answer_attachment.size() : 0;
  if (lent != nullptr) [[unlikely]] {
    sink_->put_runs_in(*lent, envelope != nullptr && !envelope->answer_attachment.empty());
  }
  if (envelope == nullptr || (envelope->answer_attachment.empty() && envelope->wishes == nullptr)) {
    sink_->end_answer();
  } else {
    Attachment leaving = std::move(envelope->answer_attachment);
    sink_->end_answer_with(id(), leaving, std::move(envelope->wishes));
    if (envelope->answer_rate != 0) [[unlikely]] {
      sink_->slow_down(id(), envelope->answer_rate);
    }
  }
  if (!sink_->has_failed_end()) [[likely]] {
    ++host_->calls.of(*method_).answered;
    if (host_->times != nullptr) note_answered(attached);
  } else {
    note_failure(*this, Status::of<kAnswerNotSent>());
  }
  conclude();
}

void ServedCall::note_answered(std::uint64_t attached) noexcept {
  host_->times->ended({.method = &host_->calls.of(*method_),
                       .received = request_.received,
                       .in_turn = method_->ends_at_once,
                       .waited = waited(),
                       .sending_since = sending_since(),
                       .bytes_sent = answer_bytes_ + attached});
}

void ServedCall::take_back_answer(const std::byte* body) {
  if (!off_loop_) sink_->take_back_answer(body);
}

void ServedCall::fail(const Status& failure) {
  if (off_loop_) {
    late_failure_ = carry_failure(failure, details().late_body);
    return;
  }
  if (!is_heard(*this)) return;
  note_failure(*this, failure);
  static_cast<void>(send_metadata(true));  // without room the failure goes alone
  if (bad_arguments_) {
    sink_->refuse(id(), RefusalReason::kBadArguments, failure);
  } else {
    sink_->fail(id(), failure);
  }
  conclude();
}

Status ServedCall::send_metadata(bool trailing) {
  GivenMetadata* const given = details_ != nullptr ? details_->envelope.metadata.get() : nullptr;
  if (given == nullptr || sink_ == nullptr || answered()) return {};
  if (GatePass* const pass = pass_of(*this)) pass->show(*given);
  const Bytes initial = given->initial.view().bytes();
  const Bytes unsent = initial.subspan(given->initial_sent);
  Status outcome;
  if (!unsent.empty()) outcome = sink_->send_metadata(id(), true, unsent);
  if (outcome.ok()) given->initial_sent = initial.size();
  if (!trailing || std::exchange(given->trailing_sent, true)) return outcome;
  const Bytes last = given->trailing.view().bytes();
  if (outcome.ok() && !last.empty()) outcome = sink_->send_metadata(id(), false, last);
  return outcome;
}

void ServedCall::refuse_arguments(const Status& failure) {
  bad_arguments_ = true;
  fail(failure);
}

void ServedCall::conclude(State state) {
  state_ = state;
  if (details_ != nullptr && details_->armed()) loop_->disarm(*details_);
  if (GatePass* const pass = pass_of(*this)) [[unlikely]] {
    pass->conclude();
  }
  if (details_ != nullptr && details_->envelope.close_after_answer.load(std::memory_order_relaxed))
    sink_->finish();
}

void ServedCall::answer_late(AnswerBody body) {
  body.end_charge();
  Status success;
  if (LateAnswer::keep(*this, body, success)) return;
  LateAnswer::send(*this, std::move(body), {});
  let_go();
}

void ServedCall::fail_late(Status failure) {
  AnswerBody nothing;
  if (LateAnswer::keep(*this, nothing, failure)) return;
  LateAnswer::send(*this, {}, failure);
  let_go();
}

// The handler is not responsible for the lack of room, so its time ends here.
void ServedCall::when_room(RoomWaiter& waiter) {
  if (GatePass* const pass = pass_of(*this)) [[unlikely]] {
    pass->handler_ended();
  }
  if (details_ != nullptr && host_->times != nullptr) details_->sending_since = loop_->now();
  sink_->add_room_waiter(waiter);
}

Status ServedCall::keep_answer(std::size_t bytes) noexcept {
  // A failure, or an empty answer, is sent even when others use all memory.
  if (sink_ == nullptr || bytes == 0) return {};
  if (!sink_->charge_answer(bytes)) return Status::of<kNoMemoryForAnswer>();
  request_.connection_charge += bytes;
  request_.kept.add_charge(*host_->memory, bytes);
  return {};
}

void ServedCall::run_off_loop() {
  if (host_->times != nullptr) details_->waited = loop_->clock().now() - request_.received;
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
    details().late_body = {};  // with its charge: on the loop the text has another
    return fail_late(std::move(late_failure_));
  }
  answer_late(std::move(details().late_body));
}

// A call that waits for a worker no longer needs one: its record may be destroyed by this.
void ServedCall::cancel(CancelReason reason) {
  cancelled_.store(true, std::memory_order_relaxed);
  if (stream_ != nullptr) stream_->close(to_status(reason), true);
  scope_.cancel(reason);
  if (method_->kind != HandlerKind::kBlocking || !host_->workers->withdraw(*this)) return;
  fail(to_status(reason).with_context("not run, still waiting for a worker"));
  let_go();
}

void ServedCall::cancel_by_peer() {
  if (answered()) return;
  if (GatePass* const pass = pass_of(*this)) [[unlikely]] {
    pass->abandon(Status::of<kGivenUp>());
  }
  conclude(State::kCancelled);
  cancel(CancelReason::kPeerCancelled);
}

void ServedCall::orphan() {
  ListHook<ServedCallTag>::unlink();
  if (details_ != nullptr && details_->envelope.incoming != nullptr)
    details_->envelope.incoming->on_connection_lost();
  keep_peer(*this, *sink_);
  sink_->forget(*this);
  sink_ = nullptr;
  if (state_ != State::kAnswered) ++host_->calls.of(*method_).dropped;
  if (GatePass* const pass = pass_of(*this); pass != nullptr && state_ == State::kRunning) [[unlikely]] {
    pass->abandon(Status::of<kConnectionGone>());
    pass->conclude();
  }
  state_ = State::kOrphaned;
  if (details_ != nullptr && details_->armed()) loop_->disarm(*details_);
  host_->orphans.push_back(*this);
  cancel(CancelReason::kPeerGone);
}

}  // namespace weft::detail
