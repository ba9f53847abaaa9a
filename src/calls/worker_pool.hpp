// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "weft/base/result.hpp"

namespace weft {

class ServedCall;

/// Threads on which handlers that were declared blocking run. Takes calls in order, bounded. Not on the
/// small messages: a lock and a wake-up are little against what such a handler does.
class WorkerPool {
 public:
  /// Errors: kResourceExhausted when the system gives fewer threads; none is left then.
  static Result<std::unique_ptr<WorkerPool>> start(unsigned threads, std::size_t queue_max);
  /// Runs what is queued, then ends the threads.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// False when the queue is full. Throws std::bad_alloc, and has taken nothing then. `call` is published to
  /// its loop when its handler has ended. Any thread.
  bool submit(ServedCall& call);

 private:
  explicit WorkerPool(std::size_t queue_max) : queue_max_(queue_max) {}
  void work();

  const std::size_t queue_max_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<ServedCall*> queue_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft
