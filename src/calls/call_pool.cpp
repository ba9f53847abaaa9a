// SPDX-License-Identifier: Apache-2.0
#include "weft/calls/call_pool.hpp"

#include <utility>

#include "calls/connect_waiter.hpp"
#include "calls/pool_core.hpp"

namespace weft {

CallPool::CallPool(Loop& loop, PoolOptions options, Transports transports)
    : core_(std::make_unique<detail::PoolCore>(loop, std::move(options), std::move(transports))) {
  set_target(*core_);
}

CallPool::~CallPool() = default;

Task<Result<void>> CallPool::connect() {
  detail::ConnectionAwaiter<detail::PoolCore> awaiter{*core_};
  Result<void> outcome = co_await awaiter;
  co_return outcome;
}

void CallPool::close() {
  core_->close();
}

Result<MemoryLease> CallPool::register_memory(MutableBytes memory) const {
  return core_->register_memory(memory);
}

bool CallPool::connected() const {
  return core_->ready();
}

PoolStats CallPool::stats() const noexcept {
  return core_->stats();
}

const PoolOptions& CallPool::options() const {
  return core_->options();
}

}  // namespace weft
