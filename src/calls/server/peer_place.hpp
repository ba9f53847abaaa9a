// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "calls/peers/peer_index.hpp"
#include "calls/server/broadcast_part.hpp"
#include "calls/server/peer_walk.hpp"
#include "calls/session/session_list.hpp"
#include "weft/detail/base/counter.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/server/peer_board.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

/// The connected peers of one loop, for a PeerBoard: the sessions of a server's shard, as long as that
/// exists. Thread: the loop's, except where stated.
class PeerPlace final {
 public:
  /// `sessions` are looked at until close(). `memory` pays for requests to them.
  PeerPlace(Loop& loop, SessionList& sessions, std::shared_ptr<MemoryBudget> memory)
      : loop_(loop), mailbox_(loop.mailbox()), memory_(std::move(memory)), sessions_(&sessions) {}
  ~PeerPlace() { close(); }
  PeerPlace(const PeerPlace&) = delete;
  PeerPlace& operator=(const PeerPlace&) = delete;

  /// The shard ends; no session is left. Broadcasts end with the results so far.
  void close() noexcept;

  /// Adds a session that has received its peer's hello, and removes one that has ended.
  void joined(Session& session) noexcept;
  void left(Session& session) noexcept;

  /// Calls `visit(Session&)` on each that takes calls.
  template <typename Visit>
  void for_each(Visit visit) {
    if (sessions_ == nullptr) return;
    sessions_->for_each([&visit](Session& session) {
      if (session.ready()) visit(session);
    });
  }
  /// Begins `walk` along the sessions that have joined. It must be destroyed before this, and is over after
  /// close().
  void begin(PeerWalk& walk) noexcept;
  /// Keeps a broadcast until it has ended.
  void keep(std::unique_ptr<BroadcastPart> part) noexcept { broadcasts_.push_back(*part.release()); }

  Loop& loop() { return loop_; }
  /// Thread: any, like all from here on.
  bool is_here() const noexcept { return Loop::current() == &loop_; }
  std::size_t count() const noexcept { return count_.get(); }
  const std::shared_ptr<PeerIndex>& index() const noexcept { return index_; }
  Mailbox& mailbox() noexcept { return *mailbox_; }
  const std::shared_ptr<MemoryBudget>& memory() const noexcept { return memory_; }

 private:
  Loop& loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<MemoryBudget> memory_;
  /// Null when the shard has ended.
  SessionList* sessions_;
  const std::shared_ptr<PeerIndex> index_ = std::make_shared<PeerIndex>();
  Counter count_;
  IntrusiveList<PeerWalk, PeerWalkTag> walks_;
  IntrusiveList<BroadcastPart, BroadcastPartTag> broadcasts_;
};

}  // namespace weft::detail
