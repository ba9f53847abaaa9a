// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft {
class Loop;
class WorkerPool;
}  // namespace weft

namespace weft::detail {

struct WorkerJobTag;
class PoolThreads;
class WorkerAwait;

/// A function for a worker: the record that the coroutine's loop and the pool share, with the function, its
/// arguments, and its outcome. The last of both to release it destroys it; by then its contents are gone,
/// unless the coroutine was dropped.
///
///   (new) --add()--> waiting --a thread takes it--> running --ended--> ended
///                       |--withdrawn: cancelled, or dropped--> (gone)
///                       `--the pool ends--> ended, with a failure
///
/// waiting: it is in the pool's queue, under the pool's lock, and the rest is not accessed. running: function
/// and outcome are the thread's. ended: they are the loop's again, once the loop was notified. A dropped
/// coroutine clears the loop, and then no notification follows. That is done, and checked while notifying,
/// under `telling_`: the loop does not end in between.
class WorkerJob : public ListHook<WorkerJobTag> {
 public:
  WorkerJob() = default;
  WorkerJob(const WorkerJob&) = delete;
  WorkerJob& operator=(const WorkerJob&) = delete;

  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void let_go() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  /// Calls the function and keeps its outcome. Thread: the worker's.
  virtual void run() noexcept = 0;
  /// Asks the function to end soon, if it wants to be asked. Any thread.
  virtual void ask_to_stop() noexcept = 0;
  /// Destroys the function, its arguments, and the rest of its result. Thread: their owner's.
  virtual void clear() noexcept = 0;
  /// Notifies the loop of the end, if a coroutine still waits, and releases the record. Thread: the one that
  /// ended it.
  void tell() noexcept;
  /// Reason for which it was not run. Set before tell(); afterwards it is the loop's.
  Status failure;

  /// Thread: the loop's, from here on.
  void begin(Loop& loop, WorkerAwait& awaiter) noexcept {
    loop_ = &loop;
    awaiter_ = &awaiter;
  }
  void forget_awaiter() noexcept {
    awaiter_ = nullptr;
    const std::lock_guard lock(telling_);
    loop_ = nullptr;
  }

 protected:
  virtual ~WorkerJob() = default;

 private:
  void arrived() noexcept;

  std::atomic<std::uint32_t> holders_ = 1;
  std::mutex telling_;
  Loop* loop_ = nullptr;
  WorkerAwait* awaiter_ = nullptr;
};

/// The same where its result is known.
template <typename R>
class WorkerJobGiving : public WorkerJob {
 public:
  /// The result, or throws what the function threw.
  R take() {
    if (error_ != nullptr) std::rethrow_exception(std::move(error_));
    if constexpr (!std::is_void_v<R>) return std::move(*value_);
  }

 protected:
  using Value = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

  std::exception_ptr error_;
  std::optional<Value> value_;
};

template <typename F, typename... Args>
inline constexpr bool takes_stop_token = std::is_invocable_v<F&, std::stop_token, Args...>;

template <typename F, typename... Args>
using WorkerResult = typename std::conditional_t<takes_stop_token<F, Args...>,
                                                 std::invoke_result<F&, std::stop_token, Args...>,
                                                 std::invoke_result<F&, Args...>>::type;

template <typename F, typename... Args>
class WorkerJobOf final : public WorkerJobGiving<WorkerResult<F, Args...>> {
 public:
  template <typename Function, typename... Given>
  explicit WorkerJobOf(Function&& function, Given&&... given)
      : work_(std::in_place, std::forward<Function>(function), std::forward<Given>(given)...) {}

  void run() noexcept override {
    try {
      if constexpr (std::is_void_v<WorkerResult<F, Args...>>) {
        call();
      } else {
        this->value_.emplace(call());
      }
    } catch (...) {
      this->error_ = std::current_exception();
    }
  }
  void ask_to_stop() noexcept override {
    if constexpr (takes_stop_token<F, Args...>) stop_.request_stop();
  }
  void clear() noexcept override {
    work_.reset();
    this->value_.reset();
    this->error_ = nullptr;
  }

 private:
  struct Work {
    template <typename Function, typename... Given>
    explicit Work(Function&& its, Given&&... given)
        : function(std::forward<Function>(its)), args(std::forward<Given>(given)...) {}
    F function;
    std::tuple<Args...> args;
  };
  struct NoStop {};

  WorkerResult<F, Args...> call() {
    return std::apply(
        [this](Args&... each) -> WorkerResult<F, Args...> {
          if constexpr (takes_stop_token<F, Args...>) {
            return std::invoke(work_->function, stop_.get_token(), std::move(each)...);
          } else {
            return std::invoke(work_->function, std::move(each)...);
          }
        },
        work_->args);
  }

  std::optional<Work> work_;
  [[no_unique_address]] std::conditional_t<takes_stop_token<F, Args...>, std::stop_source, NoStop> stop_;
};

/// The loop's side of a WorkerJob, in the frame of the coroutine that awaits it.
class [[nodiscard]] WorkerAwait : private CancelListener {
 public:
  /// `job` belongs to this; null when there was no memory for it.
  WorkerAwait(WorkerPool& pool, WorkerJob* job) noexcept;
  /// Moves only before it is awaited.
  WorkerAwait(WorkerAwait&& other) noexcept;
  ~WorkerAwait();

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    resumption_.handle = coroutine;
    return begin(cancel_scope_of(coroutine)) || gives_way(resumption_, coroutine);
  }

 protected:
  WorkerJob* job() const noexcept { return job_; }
  /// Tells why the function was not run; ok when it was.
  Status take_failure() noexcept;

 private:
  friend WorkerJob;

  bool begin(CancelScope* scope) noexcept;
  void on_cancel(CancelReason reason) noexcept override;
  void arrived() noexcept;
  void wake() noexcept;
  bool withdraw() noexcept;

  std::shared_ptr<PoolThreads> pool_;
  WorkerJob* job_;
  bool waits_ = false;
  Executor* executor_ = nullptr;
  Status failure_;
  Resumption resumption_;
};

}  // namespace weft::detail
