// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "calls/call/waiting_calls.hpp"
#include "calls/client/connect_waiter.hpp"
#include "calls/client/lane_connections.hpp"
#include "calls/client/pooled_connection.hpp"
#include "calls/client/reconnect_wait.hpp"
#include "calls/client/refused_carrier.hpp"
#include "weft/detail/calls/call/call_target.hpp"
#include "weft/detail/calls/call/pending_call.hpp"
#include "weft/detail/calls/client/pool_options.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

/// State that the lanes of one pool share.
struct PoolShared {
  PoolShared(const PoolOptions& its, const PooledSetup& setup)
      : options(its),
        connections(setup),
        reconnect_wait(its.client.reconnect_wait_min, its.client.reconnect_wait_max,
                       its.client.reconnect_spread) {}

  /// An attempt failed, or the last connection has ended: no attempt is made before the wait is over. When
  /// many end together only the first one counts.
  void back_off(TimePoint now);
  /// A connection came up. While the pool is in trouble this proves nothing: an overloaded server, or a proxy
  /// in front of it, may say hello and leave.
  void came_up(TimePoint now);
  /// An attempt failed, or a connection ended before it had lasted.
  void is_troubled(const Status& why, TimePoint now);
  /// Ends the trouble: a connection that was made since has answered a call, or has lasted.
  void recover();

  const PoolOptions& options;
  const PooledSetup connections;
  ReconnectWait reconnect_wait;
  /// No attempt to connect before this time.
  TimePoint quiet_until{};
  /// The last attempt failed, or its connection did not last, so one at a time is made: the next one when
  /// that one has proved itself, or has failed and the wait is over.
  bool in_trouble = false;
  TimePoint troubled_at{};
  Status last_failure;
  RefusedCarrier refused_carrier;
  /// Number of the connection that was made last: no two of a pool have the same.
  std::uint64_t connection_id = 0;
  /// Counters of what happened, and of connections that have ended.
  PoolStats counted;
};

class PoolLane;

/// Notified of the session for the next calls of a lane; null: the lane decides for each call.
class PoolLaneOwner {
 public:
  virtual void on_open_session(PoolLane& lane, Session* session) = 0;

 protected:
  ~PoolLaneOwner() = default;
};

/// Connections of a pool that serve the same calls, and the calls that wait for them. One connection takes
/// all calls until it has its maximum in flight; then the one with the fewest does; when all are full, the
/// calls wait, and another connection is made. Thread: the loop's.
class PoolLane final : private PooledConnectionOwner, private Timer {
 public:
  /// `shared` and `owner` outlive it.
  PoolLane(PoolShared& shared, PoolLaneOwner& owner, std::size_t connections_max)
      : shared_(shared), owner_(owner), connections_max_(connections_max) {}

  /// Begins a call on a connection with room, or lets it wait.
  Begun begin(PendingCall& call, std::size_t body_bytes);
  void withdraw(PendingCall& call) noexcept;
  /// Keeps a call that has lost its connection and waits again.
  void take_again(PendingCall& call) noexcept;
  void add_connect_waiter(ConnectWaiter& waiter);
  /// Ends everything, also inside a callback; calls that wait fail with `why`.
  void close(const Status& why);

  bool is_up() const { return !all_.up.empty(); }
  /// Adds the current gauges, and the counters of the connections.
  void add_to(PoolStats& stats) const;

 private:
  struct Work : Ready {
    explicit Work(PoolLane& its) : Ready(&run), lane(its) {}
    static void run(Ready* node) noexcept { static_cast<Work*>(node)->lane.work(); }
    PoolLane& lane;
  };

  void on_up(PooledConnection& connection) override;
  void on_room(PooledConnection& connection) override;
  void on_goaway(PooledConnection& connection) override;
  void on_over(PooledConnection& connection, const Status& why) override;
  void on_timer() override;

  void open(Session* session);
  void admit();
  void work_soon();
  /// Does all due work. Never called inside a callback of a connection.
  void work() noexcept;
  /// Another connection is wanted, whether or not it is the time for that.
  bool is_short() const;
  void make_one();
  /// Closes connections that are not needed, and renews old ones.
  void look_after();
  TimePoint next_look();
  void leave(PooledConnection& connection);
  void retire_expired();
  void arm_timer();
  void failed_to_connect(const Status& why, bool for_good);
  /// A connection that took calls was lost, or received a goaway.
  void was_lost(const PooledConnection& connection, const Status& why);
  /// Made since the trouble began.
  bool is_on_trial(const PooledConnection& connection) const {
    return connection.up_since() >= shared_.troubled_at;
  }
  /// Ends the trouble if a connection has lasted. Returns when one on trial will have; max() without one.
  TimePoint look_at_trials();

  Loop& loop() const { return shared_.connections.loop; }
  TimePoint now() const { return loop().now(); }

  PoolShared& shared_;
  PoolLaneOwner& owner_;
  const std::size_t connections_max_;
  mutable LaneConnections all_;  // what counts them changes none
  WaitingCalls waiting_;
  ConnectWaiters connect_waiters_{loop()};
  Session* open_ = nullptr;
  Work work_{*this};
  /// Calls in flight that one connection is to have.
  std::uint32_t calls_each_ = 512;
  TimePoint look_at_ = TimePoint::max();
  /// Number that was in use at once, on average.
  double usual_ = 0;
  /// A connection is made for one that is old.
  bool renewing_ = false;
  /// Calls begin again in the next turn; no other call is admitted until then.
  bool holds_ = false;
  bool closed_ = false;
};

}  // namespace weft::detail
