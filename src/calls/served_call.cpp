// SPDX-License-Identifier: Apache-2.0
#include "weft/calls/served_call.hpp"

#include <exception>
#include <new>
#include <utility>

#include "calls/call_status.hpp"
#include "calls/calls_in.hpp"
#include "calls/session.hpp"
#include "weft/calls/method_entry.hpp"

namespace weft {

namespace {

/// An answer's attachment, or only the wish to hear when everything before it has left, until the connection
/// is done with it. Its own operation record: nobody else owns it.
class AnswerLease final : public SendLease {
 public:
  AnswerLease(Buffer attachment, UniqueFunction<void(bool)> callback)
      : attachment_(std::move(attachment)), callback_(std::move(callback)) {}

  Bytes bytes() const { return attachment_.bytes(); }
  void on_released(bool sent) noexcept override {
    if (callback_) callback_(sent);
    delete this;
  }

 private:
  Buffer attachment_;
  UniqueFunction<void(bool)> callback_;
};

constexpr FixedFailure kReplyDropped{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                     "the handler dropped its Reply without an answer"};

bool queue_lease(Outbox& outbox, AnswerLease* lease) {
  if (lease == nullptr) return false;
  const bool queued = outbox.append_leased(lease->bytes(), *lease);
  if (!queued) lease->on_released(false);
  return queued;
}

}  // namespace

/// An answer, or a failure, that waits in its record for room.
struct ServedCall::LateAnswer : Ready, RoomWaiter {
  explicit LateAnswer(ServedCall& its_call)
      : Ready([](Ready* self) noexcept { static_cast<LateAnswer*>(self)->call.send_late(); }),
        RoomWaiter(static_cast<Ready&>(*this)),
        call(its_call) {}

  ServedCall& call;
  std::vector<std::byte> body;
  Status failure;
};

namespace detail {

Status status_of_exception() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {StatusCode::kResourceExhausted, Layer::kUser, "the handler ran out of memory"};
  } catch (const std::exception& exception) {
    return {StatusCode::kUnknown, Layer::kUser,
            [&] { return std::string{"the handler threw: "} + exception.what(); }};
  } catch (...) {
    return {StatusCode::kUnknown, Layer::kUser, "the handler threw something that is no std::exception"};
  }
}

}  // namespace detail

std::byte* InlineCall::begin_answer(std::size_t bytes) {
  return session_->calls_in().begin_answer(id_, bytes, 0);
}

void InlineCall::end_answer() {
  session_->end_frame();
}

void InlineCall::take_back_answer(const std::byte* body) {
  session_->take_back_frame(body);
}

void InlineCall::fail(const Status& failure) {
  session_->calls_in().fail(id_, failure);
}

void InlineCall::refuse_arguments(const Status& failure) {
  session_->reject(Rejection::kBadArguments, failure);
  fail(failure);
}

ServedCall::ServedCall(CallsIn& calls, CallsHost& host, Loop& loop, const MethodEntry& method,
                       std::uint64_t id)
    : calls_(&calls),
      host_(&host),
      loop_(&loop),
      method_(&method),
      id_(id),
      connection_id_(calls.session().connection_id()),
      body_bytes_max_(calls.session().limits().body_bytes_max) {
  ++host.running;
  task_end_.call = this;
  task_end_.completed = [](detail::Completion& end, detail::TaskPromiseBase&) noexcept {
    static_cast<TaskEnd&>(end).call->let_go();
  };
}

ServedCall::~ServedCall() {
  if (calls_ != nullptr) calls_->forget(*this);
  if (on_answer_sent_) on_answer_sent_(false);
  if (chunk_charge_ != 0) {
    chunk_.reset();
    host_->memory->release(chunk_charge_);
  }
  if (!copied_.empty()) detail::release_frame(copied_.data(), copied_.size());
}

void ServedCall::let_go() {
  if (--holders_ != 0) return;
  CallsHost& host = *host_;
  delete this;
  --host.running;
  if (host.running.get() == 0 && host.on_idle) host.on_idle();
}

void ServedCall::let_go_unanswered() {
  if (holders_ != 1 || state_ != State::kRunning) return let_go();
  if (late_failure_.ok()) late_failure_ = Status::of<kReplyDropped>();
  fail_late(std::move(late_failure_));
}

std::byte* ServedCall::begin_answer(std::size_t bytes) {
  if (off_loop_) {
    if (bytes > body_bytes_max_) {
      late_failure_ = over_limit("the answer", bytes, body_bytes_max_, "the server's");
      return nullptr;
    }
    late_body_.resize(bytes);
    // An empty body still has a place: null would say that there is nobody to answer.
    static std::byte nothing;
    return bytes == 0 ? &nothing : late_body_.data();
  }
  if (state_ != State::kRunning) return nullptr;
  std::byte* body = calls_->begin_answer(id_, bytes, answer_attachment_.size());
  if (body == nullptr) settle();
  return body;
}

void ServedCall::end_answer() {
  if (off_loop_) return;
  Session& session = calls_->session();
  session.end_frame();
  if (!answer_attachment_.empty() || on_answer_sent_) queue_leases(session);
  settle();
}

void ServedCall::take_back_answer(const std::byte* body) {
  if (!off_loop_) calls_->session().take_back_frame(body);
}

// The callback has a lease of its own behind everything: a small attachment is copied, and its lease is given
// back when that was done, not when it left.
void ServedCall::queue_leases(Session& session) {
  Outbox& outbox = session.connection().outbox();
  bool queued = true;
  if (!answer_attachment_.empty()) {
    queued = queue_lease(outbox, new (std::nothrow) AnswerLease(std::move(answer_attachment_), {}));
  }
  if (queued && on_answer_sent_) {
    queued = queue_lease(outbox, new (std::nothrow) AnswerLease({}, std::exchange(on_answer_sent_, {})));
  }
  if (!queued) {
    session.close({StatusCode::kResourceExhausted, Layer::kRpc, "out of memory for an answer's attachment"});
  }
}

void ServedCall::fail(const Status& failure) {
  if (off_loop_) {
    late_failure_ = failure;
    return;
  }
  if (state_ != State::kRunning) return;
  if (bad_arguments_) calls_->session().reject(Rejection::kBadArguments, failure);
  calls_->fail(id_, failure);
  settle();
}

void ServedCall::refuse_arguments(const Status& failure) {
  bad_arguments_ = true;
  fail(failure);
}

void ServedCall::refuse(const Refusal& refusal) {
  calls_->refuse(id_, refusal);
  settle();
}

void ServedCall::settle() {
  state_ = State::kAnswered;
  if (armed()) loop_->disarm(*this);
  if (close_after_answer_.load(std::memory_order_relaxed)) calls_->session().finish();
}

void ServedCall::answer_late(std::vector<std::byte> body) {
  if (state_ == State::kRunning && calls_->session().output_over_high_water()) {
    late_answer_.reset(new (std::nothrow) LateAnswer(*this));
    if (late_answer_) {
      late_answer_->body = std::move(body);
      return calls_->add_room_waiter(*late_answer_);
    }
  }
  send_now(body, {});
  let_go();
}

void ServedCall::fail_late(Status failure) {
  if (state_ == State::kRunning && calls_->session().output_over_high_water()) {
    late_answer_.reset(new (std::nothrow) LateAnswer(*this));
    if (late_answer_) {
      late_answer_->failure = std::move(failure);
      return calls_->add_room_waiter(*late_answer_);
    }
  }
  send_now({}, failure);
  let_go();
}

// The end of a call wakes the next one who waits. When this is not the end, because the handler goes on after
// its Reply was used, the next one is woken here.
void ServedCall::send_late() {
  CallsIn* calls = calls_;
  const bool ends = holders_ == 1;
  const std::unique_ptr<LateAnswer> late = std::move(late_answer_);
  send_now(late->body, late->failure);
  let_go();
  if (!ends && calls != nullptr) calls->wake_room_waiter();
}

void ServedCall::send_now(Bytes body, const Status& failure) {
  if (!failure.ok()) return fail(failure);
  std::byte* to = begin_answer(body.size());
  if (to == nullptr) return;
  if (!body.empty()) std::memcpy(to, body.data(), body.size());
  end_answer();
}

void ServedCall::keep_endpoints() {
  const Connection& connection = calls_->session().connection();
  endpoints_ =
      std::make_unique<const Endpoints>(Endpoints{connection.local_endpoint(), connection.remote_endpoint()});
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
  if (!late_failure_.ok()) return fail_late(std::move(late_failure_));
  answer_late(std::move(late_body_));
}

void ServedCall::on_timer() {
  cancel(CancelReason::kDeadline);
}

void ServedCall::cancel(CancelReason reason) {
  cancelled_.store(true, std::memory_order_relaxed);
  scope_.cancel(reason);
}

void ServedCall::orphan(CancelReason reason) {
  unlink();
  calls_->forget(*this);
  calls_ = nullptr;
  state_ = State::kOrphaned;
  if (armed()) loop_->disarm(*this);
  host_->orphans.push_back(*this);
  cancel(reason);
}

void CallsIn::forget(ServedCall& call) {
  table_.erase(call);
  --running_;
  bytes_held_ -= call.connection_charge_;
  wake_room_waiter();
}

bool ServedCall::has_room() const noexcept {
  return calls_ == nullptr || !calls_->session().output_over_high_water();
}

void ServedCall::when_room(RoomWaiter& waiter) {
  calls_->add_room_waiter(waiter);
}

}  // namespace weft
