// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/call_door.hpp"
#include "weft/detail/calls/call_timeouts.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

class ClientGate;
class PendingCall;
class Session;

/// Outcome of beginning a call.
struct [[nodiscard]] Begun {
  /// Wide as a register, in which it is returned.
  enum class Outcome : std::uint32_t {
    kEnded,          ///< it could not be sent, and the call knows why
    kWaits,          ///< for a connection or for room, where the call is asked for its body later
    kWrite,          ///< the request has its place: the body is written to `body` at once
    kWriteThenSent,  ///< the same, and PendingCall::sent() follows
    kSent,           ///< the body is written and sent already
  };

  bool needs_sent() const { return outcome == Outcome::kWriteThenSent; }
  bool waits() const { return outcome == Outcome::kWaits; }
  bool has_ended() const { return outcome == Outcome::kEnded; }

  /// Room for the body, where it is to be written; an empty body has a place too. Null otherwise.
  std::byte* body = nullptr;
  Outcome outcome = Outcome::kEnded;
};

/// Place where calls are begun, which chooses the session that each goes to: a client's core, a pool's, a
/// fake of a test. Outlives its calls. Thread: its loop's.
class CallTarget {
 public:
  /// `timeout` is that of calls that have none of their own; kNoTimeout: none. With `carries_metadata` calls
  /// carry the metadata of the scope that they were begun under, if they have none of their own. They pass
  /// `gate`; null: nothing.
  CallTarget(Loop& loop, Duration timeout, bool carries_metadata,
             std::shared_ptr<const ClientGate> gate = nullptr);
  CallTarget(const CallTarget&) = delete;
  CallTarget& operator=(const CallTarget&) = delete;

  /// Sends the request of `call`, or lets it wait, or refuses it.
  Begun begin(PendingCall& call, std::size_t body_bytes);
  /// `call` waits here and does so no longer.
  virtual void withdraw(PendingCall& call) noexcept = 0;
  /// Returns why calls wait here, for the one whose time is over meanwhile; ok: there is nothing to say.
  virtual Status why_waiting() const noexcept { return {}; }
  /// `call` has lost its connection by `failure`, and begins again if this is true: take_again() follows.
  /// Never true before repeats_calls() is.
  virtual bool may_begin_again(const PendingCall& call, const Status& failure) noexcept {
    static_cast<void>(call), static_cast<void>(failure);
    return false;
  }
  /// Keeps `call`, which waits from now on as if begin() had said so; begins it from the loop.
  virtual void take_again(PendingCall& call) noexcept { static_cast<void>(call); }

  Loop& loop() const { return loop_; }
  /// Address that Loop::current() has where calls may be begun; that of no loop once the target is over.
  const void* home() const noexcept { return home_.load(std::memory_order_relaxed); }
  /// Refuses every call from now on, with why_over(), and may outlive its loop. Thread: any.
  bool is_over() const noexcept { return home() == this; }
  virtual Status why_over() const noexcept { return {}; }
  CallTimeouts& timeouts() { return timeouts_; }
  bool carries_metadata() const { return carries_metadata_; }
  const ClientGate* gate() const { return gate_.get(); }
  /// Calls may be begun again here, so their bodies are worth keeping.
  bool repeats_calls() const { return repeats_calls_; }
  /// The way here for other threads. Thread: any, while the target exists.
  const std::shared_ptr<CallDoor>& door() const { return door_; }

 protected:
  /// Its calls have ended.
  ~CallTarget();

  /// Its calls have ended, and it begins no more: from here on it needs no loop. Those of other threads are
  /// refused with `why`.
  void be_over(Status why) noexcept;

  /// Begins a call for which there is no open session, or one without room.
  virtual Begun begin_without_session(PendingCall& call, std::size_t body_bytes) = 0;
  /// Names the session that new calls go to without further question; null when each is to be asked about.
  void set_open_session(Session* session) { open_ = session; }
  /// Calls that have options are not begun on the open session, but asked about.
  void ask_about_options() { asks_about_options_ = true; }
  /// Called before anything is begun.
  void repeat_calls() { repeats_calls_ = true; }

 private:
  Loop& loop_;
  /// The loop's address, or `this`, which is no loop's, once the target is over: one word, so that a thread
  /// that sees that this is no home any more sees why as well.
  std::atomic<const void*> home_;
  CallTimeouts timeouts_;
  const bool carries_metadata_;
  const std::shared_ptr<const ClientGate> gate_;
  bool repeats_calls_ = false;
  bool asks_about_options_ = false;
  const std::shared_ptr<CallDoor> door_;
  Session* open_ = nullptr;
};

}  // namespace weft::detail
