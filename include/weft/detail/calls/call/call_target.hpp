// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/call/call_door.hpp"
#include "weft/detail/calls/call/call_timeouts.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

class CallsOut;
class ClientGate;
class PendingCall;

/// Outcome of beginning a call.
struct [[nodiscard]] Begun {
  /// Type of register width, because it is returned in a register.
  enum class Outcome : std::uint32_t {
    kEnded,          ///< the call could not be sent, and has its failure
    kWaits,          ///< for a connection or for room; the call is asked for its body later
    kWrite,          ///< the request has its place; the caller writes the body to `body` at once
    kWriteThenSent,  ///< the same, and PendingCall::sent() follows
    kSent,           ///< the body is already written and sent
  };

  bool needs_sent() const { return outcome == Outcome::kWriteThenSent; }
  bool waits() const { return outcome == Outcome::kWaits; }
  bool has_ended() const { return outcome == Outcome::kEnded; }

  /// Room for the body if the caller has to write it; not null even for an empty body. Null otherwise.
  std::byte* body = nullptr;
  Outcome outcome = Outcome::kEnded;
};

/// Begins calls, and chooses the session for each of them: the core of a client or a pool, or a fake in a
/// test. Outlives its calls. Thread: its loop's.
class CallTarget {
 public:
  /// `timeout` applies to calls without their own; kNoTimeout: none. With `carries_metadata` calls without
  /// metadata carry the metadata of the scope in which they begin. Calls pass `gate`, which may be null.
  CallTarget(Loop& loop, Duration timeout, bool carries_metadata,
             std::shared_ptr<const ClientGate> gate = nullptr);
  CallTarget(const CallTarget&) = delete;
  CallTarget& operator=(const CallTarget&) = delete;

  /// Sends the request of `call`, or queues the call, or refuses it.
  Begun begin(PendingCall& call, std::size_t body_bytes);
  /// Removes `call`, which waits here, from the queue.
  virtual void withdraw(PendingCall& call) noexcept = 0;
  /// Returns the reason why calls wait here, for the failure of a call with an expired deadline; ok: there is
  /// none.
  virtual Status why_waiting() const noexcept { return {}; }
  /// `call` has lost its connection by `failure`. Returns true if the call begins again: take_again()
  /// follows. Never true before repeats_calls() is.
  virtual bool may_begin_again(const PendingCall& call, const Status& failure) noexcept {
    static_cast<void>(call), static_cast<void>(failure);
    return false;
  }
  /// Queues `call` as if begin() had returned kWaits, and begins it from the loop.
  virtual void take_again(PendingCall& call) noexcept { static_cast<void>(call); }

  Loop& loop() const { return loop_; }
  /// Returns the value of Loop::current() on the thread where calls may begin; after the target has ended, an
  /// address that matches no loop.
  const void* home() const noexcept { return home_.load(std::memory_order_relaxed); }
  /// Returns true if the target refuses every call from now on, with why_over(); it may outlive its loop.
  /// Thread: any.
  bool is_over() const noexcept { return home() == this; }
  virtual Status why_over() const noexcept { return {}; }
  CallTimeouts& timeouts() { return timeouts_; }
  bool carries_metadata() const { return carries_metadata_; }
  const ClientGate* gate() const { return gate_.get(); }
  /// Calls may begin again here, so their bodies are worth keeping.
  bool repeats_calls() const { return repeats_calls_; }
  /// The reference to this target for other threads. Thread: any, while the target exists.
  const std::shared_ptr<CallDoor>& door() const { return door_; }

 protected:
  /// Requires that its calls have ended.
  ~CallTarget();

  /// Ends the target, which has no calls left: it begins no more and needs no loop from here on. Calls from
  /// other threads are refused with `why`.
  void be_over(Status why) noexcept;

  /// Begins a call when there is no open session, or when the open session has no room.
  virtual Begun begin_without_session(PendingCall& call, std::size_t body_bytes) = 0;
  /// Sets where new calls begin; null: begin_without_session() decides for each call.
  void set_open_calls(CallsOut* calls) { open_ = calls; }
  /// Calls with options go through begin_without_session() instead of the open session.
  void ask_about_options() { asks_about_options_ = true; }
  /// Enables the repetition of calls. Call before any call begins.
  void repeat_calls() { repeats_calls_ = true; }

 private:
  Loop& loop_;
  /// The loop's address, or `this`, which matches no loop, after the target has ended. It is a single word,
  /// so that a thread which sees that this is not its home also sees why.
  std::atomic<const void*> home_;
  CallTimeouts timeouts_;
  const bool carries_metadata_;
  const std::shared_ptr<const ClientGate> gate_;
  bool repeats_calls_ = false;
  bool asks_about_options_ = false;
  const std::shared_ptr<CallDoor> door_;
  CallsOut* open_ = nullptr;
};

}  // namespace weft::detail
