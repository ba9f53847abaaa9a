// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/client/pooled_connection.hpp"
#include "weft/detail/calls/client/pool_options.hpp"

namespace weft::detail {

/// Connections of one lane of a pool, each in the list of its state.
struct LaneConnections {
  /// Returns the one with the fewest calls that may take another; null when there is none.
  PooledConnection* with_fewest_calls();
  /// Returns one that takes calls and has come of age; null when there is none.
  PooledConnection* expired(TimePoint now);
  /// Returns when the next one comes of age that has not yet.
  TimePoint next_expiry(TimePoint now);
  /// Adds what there is now, and what they have counted.
  void add_to(PoolStats& stats);
  /// Destroys those that are over, and adds what they have counted. Not inside a callback of one.
  void destroy_ended(PoolStats& counted) noexcept;
  /// All of them, and their calls, end now. They stay until destroy_ended(), for one may have called this.
  void abandon() noexcept;

  PooledConnections making;
  PooledConnections up;
  PooledConnections leaving;
  PooledConnections over;
};

}  // namespace weft::detail
