// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "weft/detail/limits/adaptive_limit_options.hpp"
#include "weft/detail/limits/rate.hpp"

namespace weft {

/// Options of one method, given when it is registered.
struct HandlerOptions {
  /// Runs on the server's worker threads, never on a loop: for handlers that block or compute for long.
  bool blocking = false;
  /// Limits for this method below the server's; zero: the server's.
  std::uint32_t body_bytes_max = 0;
  std::uint64_t attachment_bytes_max = 0;
  /// Maximum number of concurrent calls, over all connections and loops; zero: only the server's limit. A
  /// call beyond it is refused with kResourceExhausted, or waits if the handler is blocking, and leaves the
  /// workers to other methods. Not for an ordinary function on a loop, which runs one at a time per loop.
  std::uint32_t running_max = 0;
  /// Bound of a blocking handler: calls that wait for a worker, over all connections; zero:
  /// ServerOptions::worker_queue_max. One more is refused with kResourceExhausted.
  std::uint32_t waiting_max = 0;
  /// Rate of the method's calls from all callers together; none: unlimited. Calls beyond it are refused with
  /// kResourceExhausted and a time to wait.
  std::optional<Rate> rate{};
  /// Determines the best number of concurrent calls of the method automatically, and refuses further calls
  /// with kResourceExhausted. For methods with calls of similar duration that wait for a shared resource.
  /// None: no such limit. Not for an ordinary function on a loop.
  std::optional<AdaptiveLimitOptions> adaptive_limit{};
};

}  // namespace weft
