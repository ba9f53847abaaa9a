// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::detail {

/// More threads are a mistake, such as a number below zero.
inline constexpr unsigned kWorkerThreadsMax = 65'536;

/// Returns the name of thread `number` among threads called `name`; the system keeps 15 characters.
std::string worker_thread_name(const std::string& name, unsigned number);

/// Threads that do what a queue has for them. Of a `Queue` they use, under their lock,
///
///   Work* next()             takes out what may be done now; null: nothing
///   bool ended(Work&)        was run; true when something may be done now that could not before
///
/// and without it, one after the other on one thread,
///
///   static Outcome run(Work&)
///   static void publish(Work&, Outcome)      the work may be gone afterwards
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

  /// Errors: kResourceExhausted when the system gives fewer threads; none is left then.
  Result<void> start(unsigned threads, const std::string& name) {
    try {
      threads_.reserve(threads);
      for (unsigned i = 0; i < threads; ++i) {
        threads_.emplace_back([this, its_name = worker_thread_name(name, i)] {
          ::pthread_setname_np(::pthread_self(), its_name.c_str());
          work();
        });
      }
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
  void work() {
    for (;;) {
      auto* const work = wait_for_work();
      if (work == nullptr) return;
      auto outcome = Queue::run(*work);
      if (with_queue([work](Queue& queue) { return queue.ended(*work); })) wanted_.notify_one();
      Queue::publish(*work, std::move(outcome));
    }
  }
  auto wait_for_work() {
    std::unique_lock lock(mutex_);
    decltype(queue_.next()) work = nullptr;
    wanted_.wait(lock, [&] { return (work = queue_.next()) != nullptr || closing_; });
    return work;
  }

  std::mutex mutex_;
  std::condition_variable wanted_;
  Queue queue_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
  const ForkMark made_in_;
};

}  // namespace weft::detail
