// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/transport/connection_stats.hpp"

namespace weft::detail {

class SessionLink;
struct CountedSessionTag;

/// Sums the traffic of the connections of one loop, including connections that have ended. Each connection
/// counts for itself, and the sum is only computed on request. Thread: any, with a lock that sessions take
/// only at their beginning and end.
class ConnectionTotals {
 public:
  void join(SessionLink& session) noexcept;
  /// The connection of `session` is about to be destroyed.
  void leave(SessionLink& session) noexcept;
  /// Queries each connection, so the cost grows with their number.
  ConnectionStats sum() const noexcept;

 private:
  /// Tells a child of fork apart, in which a thread that is not there may hold the mutex.
  const ForkMark made_in_;
  mutable std::mutex mutex_;
  /// Mutable, because a query changes no session.
  mutable IntrusiveList<SessionLink, CountedSessionTag> sessions_;
  ConnectionStats ended_;
};

}  // namespace weft::detail
