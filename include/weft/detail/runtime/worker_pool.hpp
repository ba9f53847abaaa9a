// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/detail/base/result.hpp"

namespace weft {

namespace detail {
class PoolThreads;
class WorkerAwait;
}  // namespace detail

struct WorkerPoolOptions {
  /// Name of the threads that debuggers and top show, each with its number; at most 15 characters of both are
  /// kept, and the number is.
  std::string name = "weft-work";
  /// Number of threads, above zero.
  unsigned threads = 4;
  /// Maximum number of threads, including replacements for threads that wait for a call of their own
  /// (weft::blocking, BlockingClient). When all but one wait, a further such call fails with
  /// kResourceExhausted. No more than `threads`: none is added, and no call fails for that.
  unsigned threads_max = 256;
  /// Work that may wait for a thread, beside what an idle one is about to take; more is refused with
  /// kResourceExhausted. Above zero.
  std::size_t queue_max = 4096;
};

/// Counters of a pool since it was started.
struct WorkerPoolStats {
  std::uint64_t ran = 0;        ///< functions that have ended
  std::uint64_t refused = 0;    ///< over queue_max
  std::uint64_t withdrawn = 0;  ///< cancelled or dropped before a thread took them
  std::size_t waiting = 0;      ///< now
  std::size_t running = 0;      ///< now
};

/// Threads for functions that block or compute for long, so that a loop need not: coroutines of any loops
/// submit functions by on_worker(), and the threads run them in order of arrival. One owner makes and
/// destroys it; on_worker() and stats() may be called on any thread meanwhile.
class WorkerPool {
 public:
  /// Errors: kInvalidArgument for options with which nothing would run; kResourceExhausted when memory is
  /// exhausted, or when the system cannot create all threads; the threads created before have ended then.
  static Result<std::unique_ptr<WorkerPool>> start(WorkerPoolOptions options = {});
  /// Removes waiting functions, which end with kUnavailable for their coroutines, and waits for the running
  /// ones. Objects that these wait for, such as a loop, must continue meanwhile. In a child of fork it leaves
  /// everything to the parent.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  WorkerPoolStats stats() const;

 private:
  friend detail::WorkerAwait;
  explicit WorkerPool(std::shared_ptr<detail::PoolThreads> threads);

  std::shared_ptr<detail::PoolThreads> threads_;
};

}  // namespace weft
