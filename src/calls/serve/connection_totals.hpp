// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "calls/terms/counted_connection.hpp"
#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/transport/connection_stats.hpp"

namespace weft::detail {

/// Sums the traffic of the connections of one loop, including connections that have ended. Each connection
/// counts for itself, and the sum is only computed on request. Thread: any, with a lock that connections
/// take only at their beginning and end.
class ConnectionTotals {
 public:
  void join(CountedConnection& connection) noexcept;
  /// `connection` is about to be destroyed.
  void leave(CountedConnection& connection) noexcept;
  /// Queries each connection, so the cost grows with their number.
  ConnectionStats sum() const noexcept;

 private:
  /// Tells a child of fork apart, in which a thread that is not there may hold the mutex.
  const ForkMark made_in_;
  mutable std::mutex mutex_;
  /// Mutable, because a query changes no connection.
  mutable IntrusiveList<CountedConnection, CountedConnectionTag> connections_;
  ConnectionStats ended_;
};

}  // namespace weft::detail
