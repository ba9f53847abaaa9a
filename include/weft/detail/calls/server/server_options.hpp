// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/log.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/calls/gate/authenticator.hpp"
#include "weft/detail/calls/gate/authorizer.hpp"
#include "weft/detail/calls/gate/caller_rate.hpp"
#include "weft/detail/calls/gate/server_interceptor.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/calls/terms/method_stats.hpp"
#include "weft/detail/calls/terms/refusal_reason.hpp"
#include "weft/detail/limits/adaptive_limit_options.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/connection_stats.hpp"

namespace weft {

namespace detail {
class Protocol;
}  // namespace detail

/// Options that make no sense are refused by start() with kInvalidArgument, which names the option.
struct ServerOptions {
  /// URLs to listen on; port 0 is replaced by one the system chooses, see Server::urls().
  std::vector<std::string> listen{};
  /// Loops, each with a thread of its own, over which connections are spread. Zero: no threads; the server
  /// runs on `loop`, which the user drives, and which is null otherwise.
  unsigned threads = 1;
  Loop* loop = nullptr;
  /// CPUs to pin the loops' threads to, in order; empty: not pinned.
  std::vector<int> cpus{};
  /// Says how each loop waits.
  LoopOptions loop_options{};
  /// Threads for handlers declared blocking; started with the server if there is such a handler, and then
  /// above zero. Handlers that wait for a call of their own do not count; such handlers may run beyond this
  /// number once their calls have ended. worker_threads_max = worker_threads gives a fixed number of threads.
  unsigned worker_threads = 4;
  /// Maximum number of these threads, including replacements for threads whose handlers wait for a
  /// call that they made (BlockingClient, weft::blocking, a stub of Protocol Buffers). When all but one wait,
  /// a further such call fails at once with kResourceExhausted. No more than worker_threads: no thread is
  /// added, and no call fails for that.
  unsigned worker_threads_max = 256;
  /// Maximum number of blocking calls that wait for a worker, not counting the calls that an idle worker is
  /// about to take. A call above the limit is refused with kResourceExhausted; instead of it, the oldest call
  /// of a connection that holds more than its share of the places may be refused. Above zero if there is a
  /// blocking handler.
  std::size_t worker_queue_max = 4096;
  /// Asked for every new peer, by its endpoint's URL, on the first loop; false turns it away. Empty: all
  /// welcome.
  detail::UniqueFunction<bool(std::string_view remote_endpoint)> accept{};
  /// Connections open at the same time; one more is closed at once. Above zero.
  std::size_t connections_max = 100'000;
  /// Maximum number of calls served at the same time, over all connections and loops: calls with handlers
  /// that have not ended, or wait for a worker. A further call is refused with kResourceExhausted. One
  /// connection may take at most eight times as many places as are free at that moment, so it is refused the
  /// earlier, the fuller the server is. Zero: only the limits of the connections and of memory apply.
  std::size_t calls_running_max = 0;
  /// Adapts the number of concurrent calls over all loops to the server's capacity, and refuses further calls
  /// with kResourceExhausted. One connection may take at most eight times as many places as are free at that
  /// moment. Suited to calls of similar duration; methods that differ have their own limits
  /// (HandlerOptions::adaptive_limit). Ordinary functions, which run one at a time per loop, take no place.
  /// None: no such limit.
  std::optional<AdaptiveLimitOptions> adaptive_limit{};
  /// Rates of each caller; calls beyond them are refused with kResourceExhausted and a time to wait. A call
  /// has to pass all of them.
  std::vector<CallerRate> caller_rates{};
  /// Finds out who a call is from by the token that it brings. Null: by its connection alone. Nothing is paid
  /// for either of these two when it is null.
  std::shared_ptr<Authenticator> authenticator{};
  /// Decides who may call which method. Null: all callers may call all methods.
  std::shared_ptr<Authorizer> authorizer{};
  /// Timeout for calls of this server's to its peers (CallContext::peer(), Peers) that have no time of their
  /// own; kNoTimeout: none. Above zero.
  Duration peer_call_timeout = std::chrono::seconds{30};
  /// Protocols that the server speaks on each of its ports beside Weft's own. The first bytes of a connection
  /// say which one its peer speaks. Over TLS the peer may name it: a Server adds their names to those of
  /// TlsOptions::alpn, unless that is empty.
  /// Empty: Weft's protocol alone, and the server sends its hello without waiting for the peer's.
  std::vector<std::shared_ptr<const detail::Protocol>> protocols{};
  /// Tells callers the names of the server's functions and the types of their arguments and results, by the
  /// function "weft.functions.v1": `weft list` and `weft call` need it. A caller sees only the functions that
  /// it may call. Services of Protocol Buffers have an option of their own, ServicesOptions::reflection.
  bool describe_functions = true;
  /// Called before each handler, in this order, and notified afterwards, in reverse. An empty list costs
  /// nothing.
  std::vector<std::shared_ptr<ServerInterceptor>> interceptors{};
  /// Adds checksums to every frame, in both directions, if either side requests them; a wrong one ends the
  /// connection.
  bool checksums = false;
  /// A loop that is held up for so long by one handler, or by something else that runs on it, says so in the
  /// log with the name of the method, at most once a second; ServerStats::loops_held counts. kNoTimeout:
  /// never. Above zero.
  Duration loop_held_from = std::chrono::milliseconds{200};
  /// Measures how long calls last: MethodStats::latencies and the fields after it. Calls that end in one turn
  /// of a loop share a reading of the clock, so the resolution is such a turn: the time in which the calls
  /// that were received together are served.
  bool call_times = true;
  /// Duration from which on a call is slow: the page /calls shows samples of slow calls, at most one a second
  /// of each method and loop. kNoTimeout: no call is slow. Above zero. Only with call_times.
  Duration slow_call_from = std::chrono::milliseconds{100};
  RpcLimits limits{};
  Logger* logger = nullptr;
};

/// Use of a memory budget, in bytes.
struct MemoryUse {
  std::size_t used = 0;
  std::size_t limit = 0;
};

/// Counters of a server since it was started, over all its loops.
struct ServerStats {
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;
  std::size_t connections = 0;        ///< open now
  std::uint64_t calls = 0;            ///< requests taken
  std::size_t calls_running = 0;      ///< handlers that have not ended
  std::uint64_t frames_skipped = 0;   ///< of types that only a later build knows, dropped
  std::uint64_t pieces_skipped = 0;   ///< of attachments that are not wanted any more, dropped
  RefusalCounts refused;              ///< refused connections and requests, by reason
  std::uint64_t calls_refused = 0;    ///< of these, calls: unknown method, wrong schema, over a limit ...
  std::uint64_t protocol_errors = 0;  ///< of these, connections closed for what their peer sent
  ConnectionStats traffic;            ///< of all connections, including ended ones
  std::uint64_t loops_held = 0;       ///< times that a loop was held up: ServerOptions::loop_held_from
  std::vector<MethodStats> methods;   ///< as they were registered
  MethodStats unknown;                ///< requests for no method of the server; without a name
  std::vector<LoopStats> loops;       ///< of each loop
  MemoryUse memory;                   ///< RpcLimits::process_memory_max; loops keep some in reserve
};

}  // namespace weft
