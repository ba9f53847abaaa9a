// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/client/pooled_connection.hpp"
#include "weft/detail/calls/client/pool_options.hpp"

namespace weft::detail {

/// Connections of one lane of a pool, each in the list of its state.
struct LaneConnections {
  /// Returns the connection with the fewest calls that may take another; null when there is none.
  PooledConnection* with_fewest_calls();
  /// Returns a connection that takes calls and has reached its maximum age; null when there is none.
  PooledConnection* expired(TimePoint now);
  /// Returns the time at which the next connection reaches its maximum age.
  TimePoint next_expiry(TimePoint now);
  /// Adds the current gauges and counters to `stats`.
  void add_to(PoolStats& stats);
  /// Destroys ended connections, and adds their counters to `counted`. Not inside a callback of one of them.
  void destroy_ended(PoolStats& counted) noexcept;
  /// All of them, and their calls, end now. They stay until destroy_ended(), for one may have called this.
  void abandon() noexcept;

  PooledConnections making;
  PooledConnections up;
  PooledConnections leaving;
  PooledConnections over;
};

}  // namespace weft::detail
