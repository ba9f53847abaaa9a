// SPDX-License-Identifier: Apache-2.0
#include "calls/worker_pool.hpp"

#include <system_error>

#include "weft/calls/served_call.hpp"
#include "weft/runtime/loop.hpp"
#include "weft/runtime/post_surely.hpp"

namespace weft {

Result<std::unique_ptr<WorkerPool>> WorkerPool::start(unsigned threads, std::size_t queue_max) {
  std::unique_ptr<WorkerPool> pool{new WorkerPool{queue_max}};
  try {
    for (unsigned i = 0; i < threads; ++i) {
      pool->threads_.emplace_back([its = pool.get()] { its->work(); });
    }
  } catch (const std::system_error& error) {
    return Status{StatusCode::kResourceExhausted, Layer::kRpc, "the system gives no thread for a worker",
                  error.code().value()};
  }
  return pool;
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::submit(ServedCall& call) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= queue_max_) return false;
    queue_.push_back(&call);
  }
  wanted_.notify_one();
  return true;
}

void WorkerPool::work() {
  for (;;) {
    ServedCall* call = nullptr;
    {
      std::unique_lock lock(mutex_);
      wanted_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      call = queue_.front();
      queue_.pop_front();
    }
    call->run_off_loop();
    detail::post_surely(call->loop(), [call] { call->publish(); });
  }
}

}  // namespace weft
