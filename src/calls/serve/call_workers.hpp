// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "calls/serve/worker_queue.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/runtime/worker_threads.hpp"

namespace weft::detail {

/// Threads for handlers that were declared blocking. Takes calls in the order of WorkerQueue. A call that has
/// waited for half of its time is not run: its caller would not get the answer in time, and others would wait
/// for it. Not on the path of small messages: a lock and a wake-up cost little compared with such a handler.
class CallWorkers {
 public:
  /// Errors: kResourceExhausted when the system gives fewer threads; none is left then. Throws
  /// std::bad_alloc.
  static Result<std::unique_ptr<CallWorkers>> start(unsigned threads, unsigned threads_max,
                                                    std::size_t queue_max);
  /// Runs all queued calls, then ends the threads.
  ~CallWorkers() = default;
  CallWorkers(const CallWorkers&) = delete;
  CallWorkers& operator=(const CallWorkers&) = delete;

  /// Returns a refusal when there is no place for `call`. Otherwise it is published to its loop when its
  /// handler has ended, or refused there when it is not run. Throws std::bad_alloc, and has not taken the
  /// call then. Any thread.
  std::optional<Refusal> submit(ServedCall& call);
  /// Removes `call` from the queue. Returns false when it does not wait any more: the outcome described at
  /// submit() follows. Any thread.
  bool withdraw(ServedCall& call);
  /// This thread is one of the workers.
  bool are_run_here() const noexcept { return threads_.are_run_here(); }

 private:
  /// A WorkerQueue as WorkerThreads sees it.
  struct Calls {
    Calls(std::size_t calls_max, std::size_t workers) : waiting(calls_max, workers) {}
    ServedCall* next();
    bool ended(const ServedCall& call);
    void waits(std::size_t workers) { waiting.workers_wait(workers); }
    /// True when the call came too late to be run.
    static bool run(ServedCall& call);
    static void publish(ServedCall& call, bool too_late);

    WorkerQueue waiting;
  };

  CallWorkers(std::size_t queue_max, std::size_t workers) : threads_(queue_max, workers) {}

  WorkerThreads<Calls> threads_;
};

}  // namespace weft::detail
