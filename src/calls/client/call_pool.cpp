// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/client/call_pool.hpp"

#include <utility>

#include "calls/client/connect_waiter.hpp"
#include "calls/client/pool_core.hpp"
#include "calls/terms/wrong_thread.hpp"
#include "weft/detail/runtime/client_end.hpp"

namespace weft::detail {

CallPool::CallPool(Loop& loop, PoolOptions options, Transports transports)
    : core_(new PoolCore(loop, std::move(options), std::move(transports))) {
  set_target(*core_);
}

CallPool::~CallPool() {
  check_end_of_client(loop());
}

void CallPool::CoreEnd::operator()(PoolCore* core) const noexcept {
  core->end();
}

void CallPool::register_method(const MethodEntry& entry, std::shared_ptr<void> owner) {
  check_thread(loop());
  core_->host().add(entry, std::move(owner));
}

Task<Result<void>> CallPool::connect() {
  check_thread(loop());
  return await_connection(*core_);
}

void CallPool::close() {
  check_thread(loop());
  core_->close();
}

Result<MemoryLease> CallPool::register_memory(MutableBytes memory) const {
  check_thread(loop());
  return core_->register_memory(memory);
}

bool CallPool::connected() const {
  check_thread(loop());
  return core_->ready();
}

PoolStats CallPool::stats() const noexcept {
  check_thread(loop());
  return core_->stats();
}

const PoolOptions& CallPool::options() const {
  return core_->options();
}

}  // namespace weft::detail
