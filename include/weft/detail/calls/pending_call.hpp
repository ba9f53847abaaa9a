// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/call_request.hpp"
#include "weft/detail/calls/call_target.hpp"
#include "weft/detail/calls/request_exchange.hpp"
#include "weft/detail/calls/waited_for.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

class CallsOut;

/// One call as the machinery of calls sees it, whoever waits for it: the part that knows no types.
///
///   kIdle ----begin()----> kSent ------answer, failure, cancel, deadline----> kDone
///     |                      ^ |                                                ^
///     |                      | '-lost, and its target begins it again-.         |
///     |                      |                                        v         |
///     +--no connection yet-->+------------ kWaiting (at the target) --failure...-+
///
/// While the connection has memory of the caller's:
///
///   kSent --cancel, deadline--> kLeaving --it is back--> kDone
///   kSent, kLeaving --answer, untaken--> kReturning --it is back--> kDone
///
/// - kLeaving: as kSent, but its failure is decided. The timer looks for the memory, until
///   request().deadline.
/// - kReturning: answer or failure are decided, and it has left the table. `out_` keeps it in a list of such
///   calls. The timer looks for the memory as well.
/// - kSent: it is an exchange in the table of `out_`, where the peer's answer finds it. Leases may be out in
///   these three states only.
/// - kReading: it was in kSent, and code of the user's reads the answer.
/// - kLeft: it has left by itself, and ends in this function. Code of the user's may run before the end.
/// - kDone: nobody but the owner knows it any more; `failure_` and the answer are final.
///
/// Destroying it in any state ends the call: it leaves the table, the peer is told, leased bytes that are
/// still unsent are copied. Only that may block, for a device that has memory of the caller's. Thread: the
/// target's loop. Moves in kIdle only.
class PendingCall : public RequestExchange,
                    public ListHook<TargetCallTag>,
                    public WaitedFor,
                    private CancelListener,
                    private Timer {
 public:
  /// `details` may be null; they are the owner's and outlive the call. An answer's attachment is dropped
  /// without them.
  PendingCall(CallTarget& target, const MethodKey& method, CallDetails* details)
      : target_(&target), request_{&method, details} {}
  /// Moves only before begin().
  PendingCall(PendingCall&& other, CallDetails* details) noexcept
      : target_(other.target_), request_{other.request_.method, details} {
    WEFT_ASSERT(other.state_ == State::kIdle, "a call that was begun does not move");
  }

  bool done() const { return state_ == State::kDone; }

  /// Asks for an early end, as a cancelled scope does.
  void on_cancel(CancelReason reason) noexcept override;

  const CallRequest& request() const { return request_; }

  /// The steps out of begin(), each taken by the target or by CallsOut. Ends the call, which is unprocessed:
  /// nothing could be sent.
  Begun refuse(Status failure);
  /// The call is kept by its target, which begins it later or fails it.
  Begun wait();
  /// The request has its place in the output of `out` and the call the id `id` in its table.
  void enter(CallsOut& out, std::uint64_t id) {
    out_ = &out;
    id_ = id;
    state_ = State::kSent;
    if (request_.default_timeout != 0) target_->timeouts().add(*this);
  }
  /// Offers `runs` what of the body may be sent from where the caller has it. Afterwards the call has
  /// details, its own if it was begun without, so that it can wait for that memory.
  void offer_runs(LentRuns& runs);
  /// Writes the body to `body` without `runs`, and sends all.
  Begun write_around(std::byte* body, LentRuns& runs) noexcept;
  /// Sends a call that waited; it may end by that.
  void begin_waiting(CallsOut& out) noexcept;
  /// Ends a call that waited, or whose request was taken back. It is unprocessed, unless it was on a
  /// connection before that was lost.
  void fail(Status failure) noexcept;

 protected:
  ~PendingCall() {
    if (state_ == State::kDone) return;
    leave();
    if (request_.details != nullptr) request_.details->ended(Status::of<CallDetails::kGivenUp>());
  }

  /// Begins the call on its target under `scope` (may be null). Where the body has its room it is written at
  /// once, and sent() follows if the outcome says so; after kSent all of that was done. For a call that waits
  /// encode_body() will be asked for.
  Begun begin(CancelScope* scope, std::size_t body_bytes);
  void sent();

  /// Replaces sent(), from within a catch: what was thrown while `body` was encoded becomes the failure, and
  /// nothing is sent. Nobody who waits is told.
  void take_back(const std::byte* body) noexcept;
  /// Takes the answer's body, which is only valid now. Sets `failure`, which becomes the call's, if that
  /// fails.
  virtual void decode_answer(Bytes body, Status& failure) noexcept = 0;

  /// Brings the deadline forward; the call may be done afterwards.
  void limit(Deadline deadline);

  Status take_failure() { return std::move(failure_); }
  const Status& failure() const { return failure_; }

  Loop& loop() const { return target_->loop(); }

  // Steps of a call that opens a stream.

  /// Opens `items`, which are its own, once it is in kSent.
  void open_items(StreamSide& items) noexcept;
  /// Ends it, which is not done, with `why`, and the peer is told. If it was sent, it may have run.
  void give_up(Status why) noexcept;
  /// Stands while code of the user's may run that reads the answer: a cancel comes too late, and the call may
  /// not be destroyed.
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
  /// An interceptor may destroy the call when it ends.
  bool has_details() const noexcept { return request_.details != nullptr; }
  /// A call with details has ended. Interceptors hear of it next, and may destroy the call.
  virtual void on_end() noexcept {}

  /// Lets go of its details once it is in kSent, unless interceptors hear of its end by them. True: their
  /// owner may destroy them.
  bool forget_details() noexcept;

  // Functions of an Exchange that a derived class adds to when it has more to end with the call.
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
  /// Ends it, as soon as the connection has no memory of the caller's.
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
