// SPDX-License-Identifier: Apache-2.0
#include "calls/worker_pool.hpp"

#include "weft/calls/served_call.hpp"
#include "weft/runtime/loop.hpp"
#include "weft/runtime/post_surely.hpp"

namespace weft {

WorkerPool::WorkerPool(unsigned threads, std::size_t queue_max) : queue_max_(queue_max) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
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
