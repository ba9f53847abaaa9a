// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "calls/session/session.hpp"
#include "weft/detail/base/intrusive_list.hpp"

namespace weft::detail {

/// Owner of sessions. Adds, moves and removes them without an allocation, because sessions may end when
/// memory is exhausted; a session is removed without a search.
class SessionList {
 public:
  SessionList() = default;
  SessionList(const SessionList&) = delete;
  SessionList& operator=(const SessionList&) = delete;
  ~SessionList() { clear(); }

  Session& add(std::unique_ptr<Session> session) noexcept {
    sessions_.push_back(*session);
    return *session.release();
  }
  /// `session` is owned by another list, and by this one from now on.
  void take_over(Session& session) noexcept {
    static_cast<ListHook<SessionTag>&>(session).unlink();
    sessions_.push_back(session);
  }
  /// Destroys all sessions. The end of a session may reach its owner, but adds nothing to this list.
  void clear() noexcept {
    while (!sessions_.empty()) delete &sessions_.pop_front();
  }

  /// Notifies some of the calls that the ended sessions here have not notified yet, and destroys sessions
  /// without further calls. Returns false when some remain for another turn.
  bool clear_some() noexcept {
    std::size_t left = kCallsEndedAtOnce;
    while (!sessions_.empty() && sessions_.front().end_some(left)) delete &sessions_.pop_front();
    return sessions_.empty();
  }

  /// The session that was added first. Not when empty.
  Session& oldest() { return sessions_.front(); }
  /// The session that was added last. Not when empty.
  Session& newest() { return sessions_.back(); }
  /// The one that was added next behind `session`, which is here; null when it is the newest.
  Session* after(Session& session) { return sessions_.after(session); }
  /// Counts them one by one.
  std::size_t count() {
    std::size_t found = 0;
    sessions_.for_each([&found](Session&) { ++found; });
    return found;
  }
  bool empty() const noexcept { return sessions_.empty(); }
  /// Calls `visit(Session&)` on each.
  template <typename Visit>
  void for_each(Visit&& visit) {
    sessions_.for_each(visit);
  }

 private:
  IntrusiveList<Session, SessionTag> sessions_;
};

}  // namespace weft::detail
