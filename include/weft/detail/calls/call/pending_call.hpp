// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/call/call_request.hpp"
#include "weft/detail/calls/call/call_target.hpp"
#include "weft/detail/calls/terms/request_exchange.hpp"
#include "weft/detail/calls/terms/waited_for.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

class CallsOut;

/// One call, independent of its types and of how its caller waits for it.
///
///   kIdle ----begin()----> kSent ------answer, failure, cancel, deadline----> kDone
///     |                      ^ |                                                ^
///     |                      | '-lost, and its target begins it again-.         |
///     |                      |                                        v         |
///     +--no connection yet-->+------------ kWaiting (at the target) --failure...-+
///
/// While the connection uses memory of the caller's:
///
///   kSent --cancel, deadline--> kLeaving --memory returned--> kDone
///   kSent, kLeaving --answer, untaken--> kReturning --memory returned--> kDone
///
/// - kLeaving: like kSent, but its failure is decided. The timer checks for the memory until
///   request().deadline.
/// - kReturning: answer or failure are decided, and the call has left the table. `out_` keeps it in a list of
///   such calls. The timer checks for the memory as well.
/// - kSent: the call is an exchange in the table of `out_`, where the peer's answer finds it. Leases may
///   exist only in these three states.
/// - kReading: the call was in kSent, and user code reads the answer.
/// - kLeft: the call has left by itself, and ends in this function. User code may run before the end.
/// - kDone: only the owner still refers to the call; `failure_` and the answer are final.
///
/// Destroying the call ends it in any state: it leaves the table, the peer is notified, and leased bytes that
/// are still unsent are copied. This blocks only if a device uses memory of the caller's. Thread: the
/// target's loop. Movable in kIdle only.
class PendingCall : public RequestExchange,
                    public ListHook<TargetCallTag>,
                    public WaitedFor,
                    private CancelListener,
                    private Timer {
 public:
  /// `details` may be null; they belong to the owner and outlive the call. Without them an answer's
  /// attachment is dropped.
  PendingCall(CallTarget& target, const MethodKey& method, CallDetails* details)
      : target_(&target), request_{&method, details} {}
  /// May only be moved before begin().
  PendingCall(PendingCall&& other, CallDetails* details) noexcept
      : target_(other.target_), request_{other.request_.method, details} {
    WEFT_ASSERT(other.state_ == State::kIdle, "a call that was begun does not move");
  }

  bool done() const { return state_ == State::kDone; }
  /// Returns whether an answer that had arrived by the deadline would have been taken by now. A late loop
  /// receives such answers first, and fails the call afterwards.
  bool may_time_out() const noexcept;

  /// Asks for an early end, like the cancellation of its scope.
  void on_cancel(CancelReason reason) noexcept override;

  const CallRequest& request() const { return request_; }

  /// The steps out of begin(), each taken by the target or by CallsOut. Ends the call as unprocessed: nothing
  /// could be sent.
  Begun refuse(Status failure);
  /// The target queues the call, and begins it later or fails it.
  Begun wait();
  /// The request has its place in the output of `out`, and the call has the id `id` in its table.
  void enter(CallsOut& out, std::uint64_t id) {
    out_ = &out;
    id_ = id;
    state_ = State::kSent;
    if (request_.default_timeout != 0) target_->timeouts().add(*this);
  }
  /// Offers `runs` of the body to be sent without a copy. Afterwards the call has details, created if it was
  /// begun without, so that it can wait for that memory.
  void offer_runs(LentRuns& runs);
  /// Writes the body to `body` without `runs`, and sends the request.
  Begun write_around(std::byte* body, LentRuns& runs) noexcept;
  /// Sends a call that waited; the call may end within this.
  void begin_waiting(CallsOut& out) noexcept;
  /// Ends a call that waited, or with a request that was taken back. The call is unprocessed, unless it was
  /// sent earlier on a connection that was lost.
  void fail(Status failure) noexcept;

 protected:
  ~PendingCall() {
    if (state_ == State::kDone) return;
    leave();
    if (request_.details != nullptr) request_.details->ended(Status::of<CallDetails::kGivenUp>());
  }

  /// Begins the call on its target under `scope`, which may be null. If there is room for the body, the
  /// caller writes it at once, and calls sent() if the outcome says so; after kSent both are already done.
  /// For a waiting call encode_body() is called later.
  Begun begin(CancelScope* scope, std::size_t body_bytes);
  void sent();

  /// Replaces sent() within a catch block: the exception thrown while `body` was encoded becomes the failure,
  /// and nothing is sent. Does not notify a waiting node.
  void take_back(const std::byte* body) noexcept;
  /// Decodes the answer's body, which is valid only during this call. On failure sets `failure`, which
  /// becomes the call's.
  virtual void decode_answer(Bytes body, Status& failure) noexcept = 0;
  /// Returns the chunk of the frames that are being received, within decode_answer(): most answers lie in it.
  /// Null when it is unknown.
  const ChunkRef* received_in() const noexcept;

  /// Brings the deadline forward; the call may be done afterwards.
  void limit(Deadline deadline);

  Status take_failure() { return std::move(failure_); }
  const Status& failure() const { return failure_; }

  Loop& loop() const { return target_->loop(); }

  // Steps of a call that opens a stream.

  /// Returns the calls of the connection that the call was sent on, null outside of kSent.
  CallsOut* sent_on() const noexcept { return state_ == State::kSent ? out_ : nullptr; }
  /// Returns the id of a call that was sent.
  std::uint64_t id() const noexcept { return id_; }
  /// Ends the unfinished call with `why`, and notifies the peer. A call that was sent may have run.
  void give_up(Status why) noexcept;
  /// Marks the time in which user code may read the answer: a cancel comes too late, and the call must not be
  /// destroyed.
  class Reading {
   public:
    explicit Reading(PendingCall& call) noexcept : call_(call) { call_.state_ = State::kReading; }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() { call_.state_ = State::kSent; }

   private:
    PendingCall& call_;
  };
  bool is_reading() const noexcept { return state_ == State::kReading; }
  /// Returns true for a call that an interceptor may destroy when it ends.
  bool has_details() const noexcept { return request_.details != nullptr; }
  /// Called when a call with details has ended. Interceptors are notified next, and may destroy the call.
  virtual void on_end() noexcept {}

  /// Releases its details in kSent, unless interceptors are notified of its end through them. Returns true if
  /// their owner may destroy them.
  bool forget_details() noexcept;

  // Functions of an Exchange that a derived class extends when it has more to end with the call.
  void on_answer(const Frame& frame) override;
  void on_answer_attachment_end(const Frame& frame, bool landed) override;
  void on_lost(const Status& failure, bool stands) override;

 private:
  enum class State : std::uint8_t { kIdle, kWaiting, kSent, kLeaving, kReturning, kReading, kLeft, kDone };

  Landing on_answer_attachment(const Frame& frame) final;
  CallDetails* details() final { return request_.details; }
  void on_timer() override;

  void take_answer(const Frame& frame, Status refused);
  [[gnu::cold]] void tell_end() noexcept;
  /// Ends the call as soon as the connection uses no memory of the caller's.
  void end_with_memory() noexcept;
  void end() noexcept;
  void leave() noexcept;

  CallTarget* target_;
  CallsOut* out_ = nullptr;
  CallRequest request_;
  std::uint64_t id_ = 0;
  Status failure_;
  State state_ = State::kIdle;
};

inline void CallTimeouts::add(PendingCall& call) {
  calls_.push_back(call);
  if (!armed()) [[unlikely]] {
    loop_.arm(*this, call.request().deadline.at());
  }
}

}  // namespace weft::detail
