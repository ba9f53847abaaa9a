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
#include "weft/detail/calls/client_interceptor.hpp"
#include "weft/detail/calls/limits.hpp"
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
  /// Asked before each call is sent, in this order, and told when it has ended, in reverse. None: nothing is
  /// paid for it.
  std::vector<std::shared_ptr<ClientInterceptor>> interceptors{};
  /// The wait after a failed attempt grows from `min` to `max`, doubled and jittered each time. Zero: none.
  Duration reconnect_wait_min = std::chrono::milliseconds{20};
  Duration reconnect_wait_max = std::chrono::seconds{1};
  /// A connection that was lost, or told to go away, is made again at a random time of such a window, after
  /// the wait above. For clients by the thousand, whose server would have all of them at once when it
  /// restarts; calls wait that long. Zero: none.
  Duration reconnect_spread = Duration::zero();
  /// Local address to bind before connecting; empty: any.
  std::string local_address{};
  /// Every frame has checksums, in both directions, if either side says so; a wrong one ends the connection.
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
