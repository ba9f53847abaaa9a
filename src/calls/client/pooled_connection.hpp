// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "calls/client/dialer.hpp"
#include "calls/session/session.hpp"
#include "weft/detail/base/intrusive_list.hpp"

namespace weft::detail {

class PooledConnection;
struct PooledConnectionTag;

/// Notified by the connections that it owns. Must not destroy them inside a callback.
class PooledConnectionOwner {
 public:
  /// It takes calls now.
  virtual void on_up(PooledConnection& connection) = 0;
  /// Calls have left it, so that another may be begun.
  virtual void on_room(PooledConnection& connection) = 0;
  /// The server wants no new calls on it: it is leaving now.
  virtual void on_goaway(PooledConnection& connection) = 0;
  /// The connection has ended: it never came up, was lost, or left after a goaway; ended_from() tells which.
  /// The last callback.
  virtual void on_over(PooledConnection& connection, const Status& why) = 0;

 protected:
  ~PooledConnectionOwner() = default;
};

/// State that all connections of a pool share; everything in it outlives them.
struct PooledSetup {
  Loop& loop;
  const Transports& transports;
  const ClientOptions& options;
  CallsHost& host;
  Logger& logger;
  /// See SessionSetup::calls_max.
  std::uint32_t calls_max;
};

/// One connection of a pool, from the attempt to make it to its end; made once.
///
///   kMaking --hello--> kUp --leave(), goaway--> kLeaving --its last call has ended--> kOver
///      |                '------------lost-----------'---------------------------------> ^
///      '------------------------------failed--------------------------------------------'
///
/// Thread: the loop's.
class PooledConnection final : public ListHook<PooledConnectionTag>, SessionOwner, DialerOwner {
 public:
  enum class State : std::uint8_t { kMaking, kUp, kLeaving, kOver };

  PooledConnection(const PooledSetup& setup, PooledConnectionOwner& owner, std::uint64_t id)
      : setup_(setup), owner_(owner), id_(id), dialer_(setup.loop, setup.transports, setup.options, *this) {}

  /// Begins to make it; on_over() may come before this returns.
  void make() { dialer_.dial(); }
  /// Takes no new calls from now on, and ends when its current calls have ended. Only for a connection that
  /// is up.
  void leave();
  /// Ends the connection soon, with all its calls.
  void close(Status why) { session_->close(std::move(why)); }
  /// Ends it and its calls now, without a callback; also inside a callback of its session.
  void abandon() noexcept;

  State state() const { return state_; }
  /// Returns the state before, of one that is over.
  State ended_from() const { return ended_from_; }
  /// Returns the session. Only for a connection that came up.
  Session& session() { return *session_; }
  /// It has reached a server.
  bool has_session() const { return session_ != nullptr; }
  std::uint32_t in_flight() const { return session_ != nullptr ? session_->calls_out().table().size() : 0; }
  /// Time of the hello. Only for a connection that came up.
  TimePoint up_since() const { return up_since_; }
  /// The server has answered a call. Of one that is up.
  bool has_answered() const {
    return session_->calls_out().table().entered() > session_->calls_out().awaited();
  }
  /// Returns true if calls of this side or of the server are under way. Only for a connection that came up.
  bool is_used() { return in_flight() != 0 || session_->owes_answers(); }
  /// Returns the maximum number of calls in flight. Only for a connection that came up.
  std::uint32_t calls_max() {
    return own_calls_max(setup_.options.limits, setup_.calls_max, session_->connection());
  }
  bool has_room() { return state_ == State::kUp && session_->has_room(); }

  /// Notes whether it had calls since the last time. Returns for how long it has been without.
  Duration idle_time(TimePoint now);
  void expire_at(TimePoint at) { expires_at_ = at; }
  TimePoint expires_at() const { return expires_at_; }
  bool expired(TimePoint now) const { return now >= expires_at_; }

 private:
  void on_dialled(std::unique_ptr<Connection> connection, Duration hello_timeout) override;
  void on_dial_failed(const Status& why) override;
  void on_session_ready(Session& session) override;
  void on_session_goaway(Session& session) override;
  void on_session_room(Session& session) override;
  void on_session_closed(Session& session, const Status& why) override;

  SessionSetup session_setup();
  void finish_when_empty();
  void end(const Status& why);

  const PooledSetup& setup_;
  PooledConnectionOwner& owner_;
  const std::uint64_t id_;
  Dialer dialer_;
  std::unique_ptr<Session> session_;
  TimePoint expires_at_ = TimePoint::max();
  TimePoint up_since_{};
  TimePoint used_at_{};
  /// Calls of both sides at that time.
  std::uint64_t begun_ = 0;
  State state_ = State::kMaking;
  State ended_from_ = State::kMaking;
};

/// Owner of connections, in the order in which they were added. Moving one allocates nothing.
class PooledConnections {
 public:
  PooledConnections() = default;
  PooledConnections(const PooledConnections&) = delete;
  PooledConnections& operator=(const PooledConnections&) = delete;
  ~PooledConnections() { clear(); }

  /// `connection` is owned by no list, or by `from`, and by this one from now on.
  void add(std::unique_ptr<PooledConnection> connection) noexcept {
    list_.push_back(*connection.release());
    ++count_;
  }
  void take(PooledConnection& connection, PooledConnections& from) noexcept {
    static_cast<ListHook<PooledConnectionTag>&>(connection).unlink();
    --from.count_;
    list_.push_back(connection);
    ++count_;
  }
  void clear() noexcept {
    while (!list_.empty()) delete &list_.pop_front();
    count_ = 0;
  }
  bool empty() const { return count_ == 0; }
  /// The connection that was added first. Not when empty.
  PooledConnection& oldest() { return list_.front(); }
  std::size_t count() const { return count_; }
  /// Calls `visit(PooledConnection&)` on each, which may take it into another list.
  template <typename Visit>
  void for_each(Visit&& visit) {
    list_.for_each(visit);
  }

 private:
  IntrusiveList<PooledConnection, PooledConnectionTag> list_;
  std::size_t count_ = 0;
};

}  // namespace weft::detail
