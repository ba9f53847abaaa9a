// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/caller.hpp"
#include "weft/detail/calls/client/pool_options.hpp"
#include "weft/detail/calls/transports.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

class PoolCore;
struct MethodEntry;

/// Calls methods of one server over several connections, which it makes when calls need them, renews, and
/// closes when they are idle. A connection that is lost costs no call that has certainly not run: such a call
/// is begun again on another, within its own time and `retries_max`. One that may have run is begun again if
/// it is idempotent (`weft::idempotent<f>`, CallOptions::idempotent) and PoolOptions::retry_budget allows it.
/// Thread: its loop's, destructor included. Destroying it ends its calls with kCancelled. It may be closed
/// and destroyed inside any callback, a handler that one of its connections serves included.
class CallPool : public Caller {
 public:
  /// `loop` must outlive the pool.
  CallPool(Loop& loop, PoolOptions options, Transports transports);
  ~CallPool();

  /// Registers as CallClient::register_method() does, for all connections, each of which is a peer of its own
  /// to the server.
  void register_method(const MethodEntry& entry, std::shared_ptr<void> owner = nullptr);

  /// Waits for the first connection, without a call; returns at once when one is up. Errors: those of the
  /// awaited attempt, for every value of `waits_for_ready`. Cancel: total.
  Task<Result<void>> connect();
  /// Ends the pool's calls with kCancelled and closes all connections. Later calls fail.
  void close();

  /// Does as CallClient::register_memory(), for all connections.
  Result<MemoryLease> register_memory(MutableBytes memory) const;

  /// Says whether a connection is up.
  bool connected() const;
  /// Allocates nothing.
  PoolStats stats() const noexcept;
  const PoolOptions& options() const;

 private:
  struct CoreEnd {
    void operator()(PoolCore* core) const noexcept;
  };
  std::unique_ptr<PoolCore, CoreEnd> core_;
};

}  // namespace weft::detail
