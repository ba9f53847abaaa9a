// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/detail/base/log.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/gate/client_interceptor.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/transport/connection_stats.hpp"

namespace weft {

/// Options that make no sense fail every call with kInvalidArgument, which names the option.
struct ClientOptions {
  /// URL of the server: "tcp://host:port", or "host:port" for the same, "tls://host:port",
  /// "unix:///path", "memory://name", "ucx://host:port", "verbs://host:port".
  std::string connect{};
  /// Time that one attempt to connect may take, the hello included. Above zero.
  Duration connect_timeout = std::chrono::seconds{5};
  /// Timeout for calls without one of their own; kNoTimeout: none. Above zero.
  Duration call_timeout = std::chrono::seconds{30};
  /// Calls carry the metadata of the call that is being served, if they are given none. Set to
  /// false when calling a server that must not see the caller's metadata.
  bool carries_metadata = true;
  /// Called before each call is sent, in this order, and notified of its end in reverse. An empty list costs
  /// nothing.
  std::vector<std::shared_ptr<ClientInterceptor>> interceptors{};
  /// The wait after a failed attempt grows from `min` to `max`, doubled and jittered each time. Zero: a
  /// millisecond.
  Duration reconnect_wait_min = std::chrono::milliseconds{20};
  Duration reconnect_wait_max = std::chrono::seconds{1};
  /// A lost connection, or one that received a goaway, is made again at a random time within this window,
  /// after the wait above. For thousands of clients that would otherwise all reconnect at once to a restarted
  /// server; calls wait that long. Zero: no window.
  Duration reconnect_spread = Duration::zero();
  /// Local address to bind before connecting; empty: any.
  std::string local_address{};
  /// Adds checksums to every frame, in both directions, if either side requests them; a wrong one ends the
  /// connection.
  bool checksums = false;
  RpcLimits limits{};
  Logger* logger = nullptr;
};

/// Counters of a client since it was made.
struct ClientStats {
  std::uint64_t connections = 0;       ///< connections that came up
  std::uint64_t connect_failures = 0;  ///< attempts that did not
  std::uint64_t calls = 0;             ///< requests queued on a connection
  std::uint64_t late_answers = 0;      ///< answers to calls that had ended before, dropped
  std::uint64_t frames_skipped = 0;    ///< of types that only a later build knows, dropped
  std::uint64_t pieces_skipped = 0;    ///< of attachments that are not wanted any more, dropped
  std::size_t calls_in_flight = 0;     ///< sent and unanswered now
  std::size_t calls_waiting = 0;       ///< waiting for a connection or for room now
  ConnectionStats traffic;             ///< of all its connections, including ended ones
};

}  // namespace weft
