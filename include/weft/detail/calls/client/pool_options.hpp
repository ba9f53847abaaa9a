// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/client/client_options.hpp"
#include "weft/detail/limits/retry_budget.hpp"
#include "weft/detail/transport/connection_stats.hpp"

namespace weft {

/// Options of a ConnectionPool. Invalid ones fail every call with kInvalidArgument, which names the option.
struct PoolOptions {
  /// The server, and the options of a client with one connection: each connection of the pool is like one of
  /// such a client, and `reconnect_wait_min`, `reconnect_wait_max` are the pool's wait after a failed
  /// attempt.
  ClientOptions client{};
  /// Connections that take calls, those of `bulk_connections_max` not counted. Above zero. They are made when
  /// calls need them.
  std::size_t connections_max = 100;
  /// Number of calls in flight on one connection above which the pool uses another; zero: the default of the
  /// carrier (512; 24 for UCX and RDMA). Limited by RpcLimits::calls_in_flight_max.
  std::uint32_t calls_per_connection = 0;
  /// Number of times that one call is begun again after connections that were lost. Zero: never.
  std::uint32_t retries_max = 3;
  /// Limits the repetition of calls that may have run before. Other repetitions cost the server nothing. The
  /// default saves enough for the calls in flight when a server goes down.
  RetryBudgetOptions retry_budget{.saved_max = 10'000};
  /// True: a call waits for a connection until its own time is over, and attempts go on; a failure that no
  /// repetition changes ends it at once. False: it fails with the first attempt, as a client's does, unless
  /// another connection is up.
  bool waits_for_ready = true;
  /// A connection that has been without calls for so long is closed. Zero: never.
  Duration idle_timeout = std::chrono::seconds{30};
  /// The same for connections beyond the average number in use during an `idle_timeout`. Above zero. The pool
  /// looks at its connections at intervals of the shortest of its three times, so that one may be closed
  /// later by such an interval, of a millisecond at least; a connection is renewed when its own time has
  /// come.
  Duration spare_idle_timeout = std::chrono::seconds{1};
  /// A connection is renewed at an age between three quarters of this and the whole: its calls end in peace,
  /// and another takes its place before. The new one looks its host's name up anew, so that a name that has
  /// other addresses is followed within this time. Zero: never.
  Duration connection_life_max = std::chrono::minutes{5};
  /// Calls with an attachment from this size on go by connections of their own, so that small calls do not
  /// wait behind them. Zero: they do not.
  std::uint64_t bulk_bytes_min = 0;
  /// Connections for those. Above zero.
  std::size_t bulk_connections_max = 1;
};

/// Counters of a pool: current state, and events since its creation.
struct PoolStats {
  std::size_t connections = 0;            ///< that take calls now
  std::size_t connections_busy = 0;       ///< of those, with calls in flight; the others are free
  std::size_t connections_making = 0;     ///< being made now
  std::size_t connections_leaving = 0;    ///< that take no new calls and end with those they have
  std::uint64_t connects = 0;             ///< connections that came up
  std::uint64_t connect_failures = 0;     ///< attempts that did not
  std::uint64_t connections_lost = 0;     ///< that ended while they took calls
  std::uint64_t connections_idle = 0;     ///< closed for want of calls
  std::uint64_t connections_renewed = 0;  ///< closed for their age
  std::uint64_t calls = 0;                ///< requests queued on a connection, repetitions too
  std::size_t calls_in_flight = 0;        ///< sent and unanswered now
  std::size_t calls_waiting = 0;          ///< waiting for a connection or for room now
  std::uint64_t waits = 0;                ///< calls that had to wait for one of them
  std::uint64_t retries = 0;              ///< repetitions of calls whose connection was lost
  std::uint64_t retries_refused = 0;      ///< that there would have been but for `retry_budget`
  std::uint64_t late_answers = 0;         ///< answers to calls that had ended before, dropped
  ConnectionStats traffic;                ///< of all its connections, including ended ones
};

}  // namespace weft
