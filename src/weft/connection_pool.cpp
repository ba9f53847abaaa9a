// SPDX-License-Identifier: Apache-2.0
#include "weft/connection_pool.hpp"

#include "weft/detail/runtime/client_end.hpp"

namespace weft {

namespace {

void check_thread(const Loop& loop) noexcept {
  WEFT_ASSERT(detail::is_thread_of(loop),
              "ConnectionPools::at() or drop() was called while another thread runs the pools' loop: write "
              "loop.post(...), and call it there, or make a ConnectionPools for each loop");
}

}  // namespace

ConnectionPool::ConnectionPool(Loop& loop, PoolOptions options, TransportOptions transports)
    : ConnectionPool(loop, std::move(options), make_transports(std::move(transports))) {}

ConnectionPools::ConnectionPools(Loop& loop, PoolOptions options, TransportOptions transports)
    : ConnectionPools(loop, std::move(options), make_transports(std::move(transports))) {}

ConnectionPool& ConnectionPools::at(std::string_view url) {
  check_thread(loop_);
  if (const auto found = pools_.find(url); found != pools_.end()) return *found->second;
  PoolOptions options = options_;
  options.client.connect = url;
  auto pool = std::make_unique<ConnectionPool>(loop_, std::move(options), transports_);
  return *pools_.emplace(std::string{url}, std::move(pool)).first->second;
}

void ConnectionPools::drop(std::string_view url) {
  check_thread(loop_);
  if (const auto found = pools_.find(url); found != pools_.end()) pools_.erase(found);
}

}  // namespace weft
