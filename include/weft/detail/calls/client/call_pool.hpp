// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/call/caller.hpp"
#include "weft/detail/calls/client/pool_options.hpp"
#include "weft/detail/calls/terms/transports.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

class PoolCore;
struct MethodEntry;

/// Calls methods of one server over several connections, which it makes when calls need them, renews, and
/// closes when they are idle. A call on a lost connection that has certainly not run begins again on another
/// one, within its own deadline and `retries_max`. A call that may have run begins again if it is idempotent
/// (`weft::idempotent<f>`, CallOptions::idempotent) and PoolOptions::retry_budget allows it. Thread: its
/// loop's, including the destructor. Destroying it ends its calls with kCancelled. It may be closed and
/// destroyed inside any callback, including a handler that one of its connections serves.
class CallPool : public Caller {
 public:
  /// `loop` must outlive the pool.
  CallPool(Loop& loop, PoolOptions options, Transports transports);
  ~CallPool();

  /// Registers a method like CallClient::register_method(), for all connections. The server sees each
  /// connection as a separate peer.
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
