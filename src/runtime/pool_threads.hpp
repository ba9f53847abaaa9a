// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/runtime/worker_job.hpp"
#include "weft/detail/runtime/worker_pool.hpp"
#include "weft/detail/runtime/worker_threads.hpp"

namespace weft::detail {

/// Jobs that wait for a thread of a pool, in the order in which they came. Holds each of them. Under the lock
/// of the threads.
class WorkerJobs {
 public:
  enum class Added { kYes, kFull, kEnded };

  /// Limits the waiting jobs to `jobs_max`, not counting the jobs that an idle one of `threads` is about to
  /// take.
  WorkerJobs(std::size_t jobs_max, std::size_t threads) : jobs_max_(jobs_max), threads_(threads) {}

  Added add(WorkerJob& job) noexcept;
  /// Takes `job` out; false when it is not here. The caller has the hold then.
  bool remove(WorkerJob& job) noexcept;
  /// Lets no more in, and takes out the first that waits, with the hold; null when none does.
  WorkerJob* end() noexcept;
  WorkerPoolStats stats() const noexcept { return stats_; }

  WorkerJob* next() noexcept;
  bool ended(const WorkerJob&) noexcept;
  void waits(std::size_t count) noexcept { waiting_threads_ = count; }
  /// Gives nothing; a job keeps its outcome itself.
  static std::nullptr_t run(WorkerJob& job) noexcept {
    job.run();
    return nullptr;
  }
  static void publish(WorkerJob& job, std::nullptr_t) noexcept { job.tell(); }

 private:
  const std::size_t jobs_max_;
  const std::size_t threads_;
  std::size_t waiting_threads_ = 0;
  IntrusiveList<WorkerJob, WorkerJobTag> waiting_;
  WorkerPoolStats stats_;
  bool ended_ = false;
};

/// Threads and queue that a pool shares with the calls that were given to it, so that these may outlive it.
class PoolThreads : public WorkerThreads<WorkerJobs> {
 public:
  using WorkerThreads::WorkerThreads;
};

}  // namespace weft::detail
