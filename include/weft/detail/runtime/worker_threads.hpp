// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/runtime/worker_wait.hpp"

namespace weft::detail {

/// More threads are a mistake, such as a number below zero.
inline constexpr unsigned kWorkerThreadsMax = 65'536;

/// Returns the name of thread `number` among threads called `name`; the system keeps 15 characters.
std::string worker_thread_name(const std::string& name, unsigned number);

inline constexpr FixedFailure kEveryWorkerWaits{
    StatusCode::kResourceExhausted, Layer::kRuntime, Retry::kBackoff,
    "every thread of the worker pool waits for a call that it made, so that nobody would serve the calls "
    "that "
    "these calls make; raise ServerOptions::worker_threads_max, or WorkerPoolOptions::threads_max"};

/// Threads that do what a queue has for them. Of a `Queue` they use, under their lock,
///
///   Work* next()             takes out what may be done now; null: nothing
///   bool ended(Work&)        was run; true when something may be done now that could not before
///   void waits(size_t n)     n of the running works wait for calls, and others may run in their place
///
/// and without it, one after the other on one thread,
///
///   static Outcome run(Work&)
///   static void publish(Work&, Outcome)      the work may be gone afterwards
///
/// A thread that waits for a call (WorkerWait) is replaced by another one, up to a maximum; the last one may
/// not wait. Threads that were added stay, and without waiting ones no more work runs at a time than before.
///
/// Made, started and destroyed by one owner.
template <typename Queue>
class WorkerThreads {
 public:
  template <typename... Args>
  explicit WorkerThreads(Args&&... args) : queue_(std::forward<Args>(args)...) {}
  /// Runs all queued work, then ends the threads.
  ~WorkerThreads() { end(); }
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// Starts `threads`, and later up to `threads_max` in all while others wait for calls; fewer than `threads`
  /// are no more than these. Errors: kResourceExhausted when the system gives fewer threads; none is left
  /// then. Throws std::bad_alloc.
  Result<void> start(unsigned threads, unsigned threads_max, const std::string& name) {
    running_max_ = threads;
    threads_max_ = std::max(threads, threads_max);
    name_ = name;
    try {
      const std::lock_guard lock(mutex_);
      threads_.reserve(threads);
      for (unsigned i = 0; i < threads; ++i) add_thread();
    } catch (const std::system_error& error) {
      end();
      return Status{StatusCode::kResourceExhausted, Layer::kRuntime,
                    "the system gives no thread for a worker", error.code().value()};
    }
    return {};
  }

  /// Runs `use(queue)` under the lock. Any thread, but in a child of fork, where a thread that is not there
  /// may have it.
  template <typename Use>
  auto with_queue(Use use) {
    const std::lock_guard lock(mutex_);
    return use(queue_);
  }
  /// Wakes a thread for queued work.
  void wake_one() { wanted_.notify_one(); }

  bool in_child() const noexcept { return made_in_.in_child(); }
  /// This thread is one of them.
  bool are_run_here() const noexcept { return here_ == this; }

  /// Does as the destructor. In a child of fork, where the threads are missing, they are left to the parent.
  void end() {
    if (in_child()) {
      for (std::thread& thread : threads_) static_cast<void>(new std::thread{std::move(thread)});
      return threads_.clear();
    }
    with_queue([this](Queue&) { closing_ = true; });
    wanted_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  struct Waits final : WaitingWorkers {
    explicit Waits(WorkerThreads& its) : threads(its) {}
    Status worker_waits() noexcept override { return threads.worker_waits(); }
    void worker_goes_on() noexcept override { threads.worker_goes_on(); }
    WorkerThreads& threads;
  };

  void work() {
    WorkerWait::belong_to(waits_);
    here_ = this;
    for (;;) {
      auto* const work = wait_for_work();
      if (work == nullptr) return;
      auto outcome = Queue::run(*work);
      if (with_queue([this, work](Queue& queue) { return --running_, queue.ended(*work); })) {
        wanted_.notify_one();
      }
      Queue::publish(*work, std::move(outcome));
    }
  }
  auto wait_for_work() {
    std::unique_lock lock(mutex_);
    decltype(queue_.next()) work = nullptr;
    wanted_.wait(lock, [&] {
      if (running_ - waiting_ < running_max_) work = queue_.next();
      return work != nullptr || closing_;
    });
    if (work != nullptr) ++running_;
    return work;
  }
  // Under the lock, which the new thread waits for.
  void add_thread() {
    threads_.emplace_back(
        [this, its_name = worker_thread_name(name_, static_cast<unsigned>(threads_.size()))] {
          ::pthread_setname_np(::pthread_self(), its_name.c_str());
          work();
        });
  }
  bool try_add_thread() noexcept {
    if (closing_ || threads_.size() >= threads_max_) return false;
    try {
      add_thread();
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    } catch (const std::system_error&) {  // the system gives no more
      return false;
    }
  }

  Status worker_waits() noexcept {
    const std::lock_guard lock(mutex_);
    if (threads_max_ == running_max_) return {};  // no replacement was wanted
    while (threads_.size() - waiting_ - 1 < running_max_ && try_add_thread()) {
    }
    // Nothing new comes while the pool ends, so the last worker may wait too.
    if (!closing_ && threads_.size() - waiting_ == 1) return Status::of<kEveryWorkerWaits>();
    queue_.waits(++waiting_);
    wanted_.notify_one();
    return {};
  }
  void worker_goes_on() noexcept {
    const std::lock_guard lock(mutex_);
    if (waiting_ != 0) queue_.waits(--waiting_);
  }

  static inline constinit thread_local const WorkerThreads* here_ = nullptr;

  std::mutex mutex_;
  std::condition_variable wanted_;
  Queue queue_;
  bool closing_ = false;
  Waits waits_{*this};
  std::vector<std::thread> threads_;
  std::string name_;
  std::size_t running_max_ = 0;
  std::size_t threads_max_ = 0;
  std::size_t running_ = 0;
  /// Threads whose work waits for a call.
  std::size_t waiting_ = 0;
  const ForkMark made_in_;
};

}  // namespace weft::detail
