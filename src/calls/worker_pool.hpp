// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "calls/worker_queue.hpp"
#include "weft/base/result.hpp"

namespace weft::detail {

/// Threads on which handlers that were declared blocking run. Takes calls as WorkerQueue gives them. What
/// waited for half of its time is not run: its caller would not get the answer in time, and others would wait
/// for it. Not on the small messages: a lock and a wake-up are little against what such a handler does.
class WorkerPool {
 public:
  /// Errors: kResourceExhausted when the system gives fewer threads; none is left then.
  static Result<std::unique_ptr<WorkerPool>> start(unsigned threads, std::size_t queue_max);
  /// Runs what is queued, then ends the threads.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// False when there is no place for `call`. Otherwise it is published to its loop when its handler has
  /// ended, or refused there when it is not run. Throws std::bad_alloc, and has taken nothing then. Any
  /// thread.
  bool submit(ServedCall& call);
  /// Takes `call` out of the queue. False when it does not wait any more: what submit() says follows. Any
  /// thread.
  bool withdraw(ServedCall& call);

 private:
  explicit WorkerPool(std::size_t queue_max) : queue_(queue_max) {}
  void work();

  std::mutex mutex_;
  std::condition_variable wanted_;
  WorkerQueue queue_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft::detail
