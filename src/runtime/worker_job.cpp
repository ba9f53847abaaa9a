// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/worker_job.hpp"

#include "runtime/pool_threads.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/post_surely.hpp"
#include "weft/detail/runtime/worker_pool.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kQueueFull{
    StatusCode::kResourceExhausted, Layer::kRuntime, Retry::kBackoff,
    "all threads of the worker pool are busy, and its queue has no place for the "
    "function (WorkerPoolOptions::queue_max)"};
constexpr FixedFailure kPoolIsEnding{StatusCode::kUnavailable, Layer::kRuntime, Retry::kElsewhere,
                                     "the worker pool ends and takes no function any more"};
constexpr FixedFailure kPoolOfParent{
    StatusCode::kFailedPrecondition, Layer::kRuntime, Retry::kNever,
    "the threads of this worker pool are in the parent process; a child of fork "
    "starts a pool of its own"};

/// A hold on a job that can be copied.
class JobHold {
 public:
  explicit JobHold(WorkerJob& job) noexcept : job_(&job) { job_->hold(); }
  JobHold(const JobHold& other) noexcept : JobHold(*other.job_) {}
  JobHold& operator=(const JobHold&) = delete;
  ~JobHold() { job_->let_go(); }

  WorkerJob& operator*() const noexcept { return *job_; }

 private:
  WorkerJob* job_;
};

}  // namespace

void WorkerJob::tell() noexcept {
  {
    const std::lock_guard lock(telling_);
    if (loop_ != nullptr) {
      // A destroyed loop drops posted work, and the hold with it.
      post_surely(*loop_, [hold = JobHold{*this}] { (*hold).arrived(); });
    }
  }
  let_go();
}

void WorkerJob::arrived() noexcept {
  if (awaiter_ != nullptr) awaiter_->arrived();
}

WorkerAwait::WorkerAwait(WorkerPool& pool, WorkerJob* job) noexcept : pool_(pool.threads_), job_(job) {}

WorkerAwait::WorkerAwait(WorkerAwait&& other) noexcept
    : pool_(std::move(other.pool_)), job_(std::exchange(other.job_, nullptr)) {
  WEFT_ASSERT(!other.waits_, "what is being awaited does not move");
}

WorkerAwait::~WorkerAwait() {
  if (job_ == nullptr) return;
  if (waits_) {
    // A child of fork has copies of what a thread that is not there was about to change.
    if (pool_->in_child()) return;
    stop_listening();
    if (withdraw()) {
      waits_ = false;
    } else {
      job_->forget_awaiter();
      job_->ask_to_stop();
    }
  }
  if (!waits_) job_->clear();
  job_->let_go();
}

bool WorkerAwait::begin(CancelScope* scope) noexcept {
  if (scope != nullptr && scope->cancelled()) {
    failure_ = to_status(scope->reason());
    return false;
  }
  if (job_ == nullptr) {
    failure_ = Status::of<kOutOfMemory>();
    return false;
  }
  if (pool_->in_child()) {
    failure_ = Status::of<kPoolOfParent>();
    return false;
  }
  Loop* const loop = Loop::current();
  WEFT_ASSERT(loop != nullptr, "on_worker() is awaited inside a turn of a Loop");
  executor_ = loop;
  job_->begin(*loop, *this);
  const WorkerJobs::Added added = pool_->with_queue([this](WorkerJobs& jobs) { return jobs.add(*job_); });
  if (added != WorkerJobs::Added::kYes) {
    failure_ = added == WorkerJobs::Added::kFull ? Status::of<kQueueFull>() : Status::of<kPoolIsEnding>();
    return false;
  }
  waits_ = true;
  pool_->wake_one();
  if (scope != nullptr) scope->add(*this);
  return true;
}

bool WorkerAwait::withdraw() noexcept {
  if (!pool_->with_queue([this](WorkerJobs& jobs) { return jobs.remove(*job_); })) return false;
  job_->let_go();  // the queue's hold
  return true;
}

void WorkerAwait::on_cancel(CancelReason reason) noexcept {
  if (!withdraw()) return job_->ask_to_stop();
  failure_ = to_status(reason);
  wake();
}

void WorkerAwait::arrived() noexcept {
  stop_listening();
  failure_ = std::move(job_->failure);
  wake();
}

void WorkerAwait::wake() noexcept {
  waits_ = false;
  executor_->schedule(resumption_);
}

Status WorkerAwait::take_failure() noexcept {
  return std::move(failure_);
}

}  // namespace weft::detail
