// SPDX-License-Identifier: Apache-2.0
#include "calls/worker_pool.hpp"

#include <system_error>

#include "weft/detail/runtime/post_surely.hpp"
#include "weft/runtime/loop.hpp"

namespace weft::detail {

namespace {

bool waited_too_long(const ServedCall& call) {
  return call.run_until != TimePoint::max() && call.loop().clock().now() > call.run_until;
}

}  // namespace

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
  ServedCall* gone = nullptr;
  bool taken = false;
  {
    const std::lock_guard lock(mutex_);
    taken = queue_.add(call, gone);
  }
  if (taken) wanted_.notify_one();
  if (gone != nullptr) {
    detail::post_surely(gone->loop(), [gone] { gone->refuse_unrun(RefusalReason::kOverWorkerQueue); });
  }
  return taken;
}

bool WorkerPool::withdraw(ServedCall& call) {
  const std::lock_guard lock(mutex_);
  return queue_.remove(call);
}

void WorkerPool::work() {
  for (;;) {
    ServedCall* call = nullptr;
    {
      std::unique_lock lock(mutex_);
      wanted_.wait(lock, [&] { return (call = queue_.next()) != nullptr || closing_; });
      if (call == nullptr) return;
    }
    const bool too_late = waited_too_long(*call);
    if (!too_late) call->run_off_loop();
    bool others_may_run = false;
    {
      const std::lock_guard lock(mutex_);
      others_may_run = queue_.ended(call->method());
    }
    if (others_may_run) wanted_.notify_one();
    detail::post_surely(call->loop(), [call, too_late] {
      if (too_late) return call->refuse_unrun(RefusalReason::kBehind);
      call->publish();
    });
  }
}

}  // namespace weft::detail
