// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "calls/server/peer_walk.hpp"
#include "calls/session/session.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/call/call_target.hpp"
#include "weft/detail/calls/call/pending_call.hpp"
#include "weft/detail/calls/server/broadcast.hpp"

namespace weft::detail {

class BroadcastPart;
class PeerPlace;
struct BroadcastPartTag;

/// One peer's call of a broadcast.
class BroadcastCall final : public PendingCall {
 public:
  /// The outcome waits for the end of the call if it is `awaited`.
  BroadcastCall(BroadcastPart& part, Session& session, bool awaited);

  /// Sends the call before `deadline`. The call may end within send(); `part` is notified of the end later in
  /// any case.
  void send(Deadline deadline) noexcept;
  bool is_awaited() const { return awaited_; }
  using PendingCall::take_failure;

 private:
  struct Ended : Ready {
    explicit Ended(BroadcastCall& its) : Ready(&run), call(its) {}
    static void run(Ready* node) noexcept;
    BroadcastCall& call;
  };

  std::size_t body_bytes() const override;
  void encode_body(std::byte* to) const override;
  void decode_answer(Bytes, Status&) noexcept override {}
  void on_cancel(CancelReason reason) noexcept override;

  BroadcastPart& part_;
  /// Exists as long as the call is sent and has not ended.
  Session& session_;
  Ended ended_{*this};
  const bool awaited_;
};

/// A broadcast on one loop: its calls to the peers there, begun over several turns so that no turn is long.
/// Reports its outcome when the awaited calls have ended, and ends when all calls have ended, or with its
/// place. The records of the calls are charged to the loop's memory. Thread: the loop's.
class BroadcastPart final : public ListHook<BroadcastPartTag>, public CallTarget, PeerWalk, Ready {
 public:
  /// Throws std::bad_alloc.
  explicit BroadcastPart(Loop& loop) : CallTarget(loop, kNoTimeout, false), Ready(&go_on) {}
  ~BroadcastPart();
  BroadcastPart(const BroadcastPart&) = delete;
  BroadcastPart& operator=(const BroadcastPart&) = delete;

  /// Calls the peers of `place`, which keeps this. Once.
  void run(std::unique_ptr<Broadcast::Share> share, PeerPlace& place) noexcept;
  void call_ended(const BroadcastCall& call, bool succeeded) noexcept;
  const Broadcast& whole() const { return *whole_; }

 private:
  Begun begin_without_session(PendingCall& call, std::size_t body_bytes) override;
  void withdraw(PendingCall&) noexcept override {}
  static void go_on(Ready* part) noexcept { static_cast<BroadcastPart*>(part)->call_more(); }
  void call_more() noexcept;
  void on_missed(Session& session) noexcept override;
  bool is_addressed(Session& session) const;
  bool is_behind(Session& session) const;
  /// Calls a peer, or counts why it does not. False, and nothing has happened: there is no memory for it.
  bool call(Session& session);
  bool charge(Session& session) noexcept;
  bool waits_for_memory() noexcept;
  /// Reports the outcome, and ends the part, as soon as nothing is missing for it.
  void end_if_complete() noexcept;

  /// Null once the outcome was reported.
  std::unique_ptr<Broadcast::Share> share_;
  std::shared_ptr<const Broadcast> whole_;
  Deadline deadline_;
  std::deque<BroadcastCall> calls_;
  LocalBudget* process_ = nullptr;
  std::size_t charged_ = 0;
  /// Calls that have not ended, and the awaited ones among them.
  std::size_t running_ = 0;
  std::size_t awaited_ = 0;
  /// Turns in succession that ended because memory was out.
  int turns_without_memory_ = 0;
  bool has_called_all_ = false;
};

}  // namespace weft::detail
