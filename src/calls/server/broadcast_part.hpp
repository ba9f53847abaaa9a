// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "calls/server/peer_walk.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/call_target.hpp"
#include "weft/detail/calls/pending_call.hpp"
#include "weft/detail/calls/server/broadcast.hpp"

namespace weft::detail {

class BroadcastPart;
class PeerPlace;
struct BroadcastPartTag;

/// One peer's call of a broadcast.
class BroadcastCall final : public PendingCall {
 public:
  explicit BroadcastCall(BroadcastPart& part);

  /// Sends the call, which may end within this; `part` is notified of its end later in any case.
  void send(CallsOut& out, Deadline deadline) noexcept;
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

  BroadcastPart& part_;
  Ended ended_{*this};
};

/// A broadcast on one loop: its calls to the peers there, begun over several turns so that no turn is long.
/// Ends when all calls have ended, or with its place. Thread: the loop's.
class BroadcastPart final : public ListHook<BroadcastPartTag>, public CallTarget, PeerWalk, Ready {
 public:
  /// Throws std::bad_alloc.
  explicit BroadcastPart(Loop& loop) : CallTarget(loop, kNoTimeout, false), Ready(&go_on) {}
  ~BroadcastPart();
  BroadcastPart(const BroadcastPart&) = delete;
  BroadcastPart& operator=(const BroadcastPart&) = delete;

  /// Calls the peers of `place`, which keeps this. Once.
  void run(std::unique_ptr<Broadcast::Share> share, PeerPlace& place) noexcept;
  void call_ended(bool succeeded) noexcept;
  const Broadcast& whole() const { return *share_->whole; }

 private:
  Begun begin_without_session(PendingCall& call, std::size_t body_bytes) override;
  void withdraw(PendingCall&) noexcept override {}
  static void go_on(Ready* part) noexcept { static_cast<BroadcastPart*>(part)->call_more(); }
  void call_more() noexcept;
  void on_missed(Session& session) noexcept override;
  bool is_addressed(Session& session) const;
  bool is_behind(Session& session) const;
  void call(Session& session);

  std::unique_ptr<Broadcast::Share> share_;
  Deadline deadline_;
  std::deque<BroadcastCall> calls_;
  std::size_t left_ = 0;
  bool has_called_all_ = false;
};

}  // namespace weft::detail
