// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/worker_pool.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "runtime/pool_threads.hpp"

namespace weft {

namespace detail {

namespace {

constexpr FixedFailure kPoolEnded{StatusCode::kUnavailable, Layer::kRuntime, Retry::kElsewhere,
                                  "the worker pool ended before one of its threads took the function"};

}  // namespace

std::string worker_thread_name(const std::string& name, unsigned number) {
  constexpr std::size_t kNameMax = 15;
  const std::string its_number = "-" + std::to_string(number);
  return name.substr(0, kNameMax - std::min(kNameMax, its_number.size())) + its_number;
}

WorkerJobs::Added WorkerJobs::add(WorkerJob& job) noexcept {
  if (ended_) return Added::kEnded;
  const std::size_t idle = threads_ - std::min(threads_, stats_.running - waiting_threads_);
  if (stats_.waiting >= idle && stats_.waiting - idle >= jobs_max_) {
    ++stats_.refused;
    return Added::kFull;
  }
  job.hold();
  waiting_.push_back(job);
  ++stats_.waiting;
  return Added::kYes;
}

bool WorkerJobs::remove(WorkerJob& job) noexcept {
  if (!job.linked()) return false;
  job.unlink();
  --stats_.waiting;
  ++stats_.withdrawn;
  return true;
}

WorkerJob* WorkerJobs::end() noexcept {
  ended_ = true;
  if (waiting_.empty()) return nullptr;
  --stats_.waiting;
  return &waiting_.pop_front();
}

WorkerJob* WorkerJobs::next() noexcept {
  if (waiting_.empty()) return nullptr;
  --stats_.waiting;
  ++stats_.running;
  return &waiting_.pop_front();
}

bool WorkerJobs::ended(const WorkerJob&) noexcept {
  --stats_.running;
  ++stats_.ran;
  return false;
}

}  // namespace detail

namespace {

Status misuse(std::string_view option) {
  return {StatusCode::kInvalidArgument, Layer::kRuntime, [option] {
            return "WorkerPoolOptions::" + std::string{option} + ": 0 lets nothing run; give one or more";
          }};
}

Status too_many(std::string_view option, unsigned threads) {
  return {StatusCode::kInvalidArgument, Layer::kRuntime, [option, threads] {
            return "WorkerPoolOptions::" + std::string{option} + ": " + std::to_string(threads) +
                   " threads are more than any use; was it negative?";
          }};
}

}  // namespace

Result<std::unique_ptr<WorkerPool>> WorkerPool::start(WorkerPoolOptions options) {
  if (options.threads == 0) return misuse("threads");
  if (options.queue_max == 0) return misuse("queue_max");
  if (options.threads > detail::kWorkerThreadsMax) return too_many("threads", options.threads);
  if (options.threads_max > detail::kWorkerThreadsMax) return too_many("threads_max", options.threads_max);
  try {
    auto threads = std::make_shared<detail::PoolThreads>(options.queue_max, options.threads);
    Result<void> started = threads->start(options.threads, options.threads_max, options.name);
    if (!started.ok()) return std::move(started).status();
    return std::unique_ptr<WorkerPool>{new WorkerPool{std::move(threads)}};
  } catch (const std::bad_alloc&) {
    return Status::of<detail::kOutOfMemory>();
  }
}

WorkerPool::WorkerPool(std::shared_ptr<detail::PoolThreads> threads) : threads_(std::move(threads)) {}

WorkerPool::~WorkerPool() {
  WEFT_ASSERT(!threads_->are_run_here(),
              "a WorkerPool was destroyed by a function that runs on it, and would wait for that function: "
              "destroy the pool on another thread");
  if (!threads_->in_child()) {
    // One by one: while it waits in a list its coroutine may take it out, under the lock.
    const auto first = [](detail::WorkerJobs& jobs) { return jobs.end(); };
    while (detail::WorkerJob* const job = threads_->with_queue(first)) {
      job->failure = Status::of<detail::kPoolEnded>();
      job->tell();
    }
  }
  threads_->end();
}

WorkerPoolStats WorkerPool::stats() const {
  return threads_->with_queue([](const detail::WorkerJobs& jobs) { return jobs.stats(); });
}

}  // namespace weft
