// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "calls/session/session_list.hpp"
#include "weft/detail/base/intrusive_list.hpp"

namespace weft::detail {

struct PeerWalkTag;

/// A walk along the peers of one loop that may take many turns, while peers come and go. Each peer that was
/// present at the beginning is either visited once, the oldest first, or reported when it leaves before that.
/// Thread: the loop's.
class PeerWalk : public ListHook<PeerWalkTag> {
 public:
  PeerWalk() = default;
  PeerWalk(const PeerWalk&) = delete;
  PeerWalk& operator=(const PeerWalk&) = delete;

  /// Begins before the oldest of `sessions`, which are looked at until the walk is over.
  void begin(SessionList& sessions) noexcept {
    sessions_ = &sessions;
    if (sessions.empty()) return;
    newest_ = sessions.newest().connection_id();
    stop_at(&sessions.oldest());
  }

  /// The next peer; null when the walk is over.
  Session* next() noexcept {
    Session* const met = next_;
    if (met != nullptr) stop_at(sessions_->after(*met));
    return met;
  }
  bool has_next() const noexcept { return next_ != nullptr; }

  /// `session`, a peer, leaves the list after this.
  void leaves(Session& session) noexcept {
    const std::uint64_t id = session.connection_id();
    if (next_ == nullptr || id < next_->connection_id() || id > newest_) return;
    if (next_ == &session) stop_at(sessions_->after(session));
    on_missed(session);
  }
  void end() noexcept { next_ = nullptr; }

 protected:
  ~PeerWalk() = default;

  /// next() gave `session` last, no session has left since, and next() gives it again.
  void meet_again(Session& session) noexcept { next_ = &session; }

 private:
  /// `session` leaves before it was met.
  virtual void on_missed(Session& session) noexcept = 0;

  // Only at peers, because the end of a session that is not a peer yet is not reported.
  void stop_at(Session* session) noexcept {
    while (session != nullptr && !session->seat().is_counted()) session = sessions_->after(*session);
    next_ = session != nullptr && session->connection_id() <= newest_ ? session : nullptr;
  }

  SessionList* sessions_ = nullptr;
  Session* next_ = nullptr;
  std::uint64_t newest_ = 0;
};

}  // namespace weft::detail
