// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/detail/calls/client/call_pool.hpp"
#include "weft/detail/calls/terms/transfer_progress.hpp"
#include "weft/detail/functions/function_caller.hpp"
#include "weft/detail/functions/function_server.hpp"
#include "weft/detail/functions/peer.hpp"
#include "weft/transports.hpp"

namespace weft {

/// Calls functions of one server over several connections: a detail::CallPool that encodes arguments and
/// decodes results with the codec: `Result<R> answer = co_await pool.call<f>(arguments...);`. Thread and
/// lifetime: as for detail::CallPool.
///
/// Like a Client, a pool can serve: the server may call functions registered before the first call or
/// connect(), over each connection of the pool. A connection on which the server makes calls is not idle.
/// When the pool retires a connection, it notifies the server, and the connection closes after its running
/// calls have been answered.
class ConnectionPool final : public detail::CallPool,
                             public detail::FunctionCaller<ConnectionPool>,
                             public detail::FunctionServer<ConnectionPool> {
 public:
  /// Uses all transports of this build, its own ones. `loop` must outlive the pool.
  ConnectionPool(Loop& loop, PoolOptions options, TransportOptions transports = {});
  /// Uses these transports, which may be shared with other clients and servers.
  ConnectionPool(Loop& loop, PoolOptions options, Transports transports)
      : detail::CallPool(loop, std::move(options), std::move(transports)) {}
};

/// The pools of one loop, keyed by server address and created on first use. All callers of a server share its
/// connections. The pools belong to this object. Thread: its loop's.
class ConnectionPools {
 public:
  /// Every pool gets `options`, with the address that it was asked for in place of `client.connect`. `loop`
  /// must outlive the pools.
  ConnectionPools(Loop& loop, PoolOptions options, TransportOptions transports = {});
  ConnectionPools(Loop& loop, PoolOptions options, Transports transports)
      : loop_(loop), options_(std::move(options)), transports_(std::move(transports)) {}
  ConnectionPools(const ConnectionPools&) = delete;
  ConnectionPools& operator=(const ConnectionPools&) = delete;

  /// Returns the pool of the server at `url`, which stays until drop() or the end of this. One text is one
  /// pool: "host:9000" and "tcp://host:9000" are two. Throws std::bad_alloc.
  ConnectionPool& at(std::string_view url);
  /// Ends the pool of `url` and its calls, if there is one.
  void drop(std::string_view url);
  std::size_t size() const { return pools_.size(); }
  /// Calls `visit(std::string_view url, ConnectionPool&)` on each.
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (auto& [url, pool] : pools_) visit(std::string_view{url}, *pool);
  }

 private:
  Loop& loop_;
  const PoolOptions options_;
  const Transports transports_;
  std::map<std::string, std::unique_ptr<ConnectionPool>, std::less<>> pools_;
};

}  // namespace weft

#pragma GCC diagnostic pop
