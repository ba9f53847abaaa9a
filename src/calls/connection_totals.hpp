// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/transport/connection_stats.hpp"

namespace weft::detail {

class Session;
struct CountedSessionTag;

/// Adds up what went over the connections of one loop, those that have ended too. Each connection counts for
/// itself, and nothing is added up before somebody asks. Thread: any, with a lock, which sessions take at
/// their beginning and end only.
class ConnectionTotals {
 public:
  void join(Session& session) noexcept;
  /// The connection of `session` is about to be destroyed.
  void leave(Session& session) noexcept;
  /// Asks each connection, so it takes the longer the more there are.
  ConnectionStats sum() const noexcept;

 private:
  /// Tells a child of fork apart, in which a thread that is not there may hold the mutex.
  const ForkMark made_in_;
  mutable std::mutex mutex_;
  mutable IntrusiveList<Session, CountedSessionTag> sessions_;  // what asks them changes none
  ConnectionStats ended_;
};

}  // namespace weft::detail
