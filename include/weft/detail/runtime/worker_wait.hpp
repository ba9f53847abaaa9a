// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/status.hpp"

namespace weft::detail {

/// Workers that may have to wait for calls. Thread: the worker's.
class WaitingWorkers {
 public:
  /// This thread is about to block until a call has ended, which may need another worker of this pool. Fails,
  /// with words, when no worker would be left; ok is followed by worker_goes_on().
  virtual Status worker_waits() noexcept = 0;
  virtual void worker_goes_on() noexcept = 0;

 protected:
  ~WaitingWorkers() = default;
};

/// Stands in each function that blocks a thread until a call of that thread has ended. On a worker's thread
/// it lets the pool run other work meanwhile; elsewhere it does nothing.
class WorkerWait {
 public:
  WorkerWait() noexcept : workers_(current_) {
    if (workers_ != nullptr) refusal_ = workers_->worker_waits();
  }
  WorkerWait(const WorkerWait&) = delete;
  WorkerWait& operator=(const WorkerWait&) = delete;
  ~WorkerWait() {
    if (workers_ != nullptr && refusal_.ok()) workers_->worker_goes_on();
  }

  /// Not ok: the thread must not block, because every worker of its pool would wait.
  const Status& refusal() const noexcept { return refusal_; }

  /// This thread is one of `workers`.
  static void belong_to(WaitingWorkers& workers) noexcept { current_ = &workers; }

 private:
  static inline constinit thread_local WaitingWorkers* current_ = nullptr;

  WaitingWorkers* const workers_;
  Status refusal_;
};

}  // namespace weft::detail
