// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/mailbox.hpp"
#include "weft/detail/runtime/posted.hpp"
#include "weft/detail/runtime/told.hpp"

namespace weft::detail {

/// A coroutine of a loop with a waiter on another executor: one record that both sides share, as a CallErrand
/// is. The coroutine is created, runs and is destroyed on the loop, with its arguments; its result or
/// exception is stored in the record before the waiter is notified.
///
/// Thread: the waiter's, except where stated.
class ToldTask : public Errand {
 public:
  struct Release {
    void operator()(ToldTask* task) const noexcept { task->release(); }
  };

  ToldTask(const ToldTask&) = delete;
  ToldTask& operator=(const ToldTask&) = delete;

  /// Hands the coroutine to the loop, once. `who` must stay valid until it was notified, possibly from within
  /// this function, or the work was abandoned.
  void send_for(Told& who) noexcept;
  /// Cancels the coroutine, before or after it was sent. True: no notification follows. False: it has ended.
  bool give_up(CancelReason reason) noexcept;
  /// Cancels it; the waiter is notified of its end.
  void cancel(CancelReason reason) noexcept;
  /// The loop is a copy that a child of fork inherited.
  bool is_in_child() const noexcept { return mailbox_->in_child(); }

  /// Returns the reason why the coroutine did not complete; ok when it returned or threw. Call after the
  /// notification.
  Status take_failure() noexcept { return std::move(failure_); }
  /// Returns true if the reason was that the loop was stopped. Call after the notification.
  bool lost_its_loop() const noexcept { return lost_its_loop_; }

 protected:
  explicit ToldTask(std::shared_ptr<Mailbox> mailbox) noexcept : mailbox_(std::move(mailbox)) {}
  virtual ~ToldTask() = default;

  /// Makes the coroutine and starts it. Throws what making it does. Thread: the loop's, as all of these.
  virtual void start(CancelScope& scope, Completion& completion) = 0;
  /// Keeps what the coroutine gave or threw.
  virtual void keep_outcome() noexcept = 0;
  /// Keeps the exception that is being handled.
  virtual void keep_exception() noexcept = 0;
  /// Destroys the coroutine and its arguments.
  virtual void drop_task() noexcept = 0;

 private:
  /// The coroutine has ended, and is left from the loop's queue.
  struct Ended : Ready, Completion {
    explicit Ended(ToldTask& its) noexcept;
    ToldTask& task;
  };
  /// The wish that it ends, on its way to the loop.
  class Cancelling final : public Posted {
   public:
    explicit Cancelling(ToldTask& task) noexcept : task_(task) {}
    void run() override;
    void drop() noexcept override { task_.release(); }

   private:
    ToldTask& task_;
  };

  void begin() final;
  void refuse() noexcept final;
  void discard() noexcept final { release(); }
  void end_now() noexcept final;
  bool is_of(const void*) const noexcept final { return false; }
  void end() noexcept;
  void refuse_with(Status why) noexcept;

  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  const std::shared_ptr<Mailbox> mailbox_;
  std::atomic<std::uint32_t> holders_{1};
  std::atomic<CancelReason> cancelled_{CancelReason::kNone};
  RightToTell right_;
  Cancelling cancelling_{*this};
  Status failure_;

  // The loop's.
  Ended ended_{*this};
  CancelScope scope_;
  bool runs_ = false;
  bool has_ended_ = false;
  bool lost_its_loop_ = false;
};

/// The same with what the coroutine gives.
template <typename T>
class ToldTaskGiving : public ToldTask {
 public:
  /// Rethrows the coroutine's exception. Call after the notification, when take_failure() was ok.
  T take() {
    if (exception_ != nullptr) std::rethrow_exception(exception_);
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }

 protected:
  using ToldTask::ToldTask;

  void start(CancelScope& scope, Completion& completion) final {
    task_ = make();
    detail::start(task_, &scope, completion);
  }
  void keep_outcome() noexcept final {
    try {
      if constexpr (std::is_void_v<T>) {
        take_result(task_);
      } else {
        value_.emplace(take_result(task_));
      }
    } catch (...) {
      keep_exception();
    }
  }
  void keep_exception() noexcept final { exception_ = std::current_exception(); }
  void drop_task() noexcept final {
    task_.reset();
    drop_arguments();
  }

  virtual Task<T> make() = 0;
  virtual void drop_arguments() noexcept = 0;

 private:
  struct Nothing {};

  Task<T> task_;
  std::exception_ptr exception_;
  std::optional<std::conditional_t<std::is_void_v<T>, Nothing, T>> value_;
};

/// The same with the function that makes the coroutine, and its arguments.
template <typename T, typename Function, typename... Args>
class ToldTaskOf final : public ToldTaskGiving<T> {
 public:
  template <typename F, typename... As>
  explicit ToldTaskOf(std::shared_ptr<Mailbox> mailbox, F&& function, As&&... args)
      : ToldTaskGiving<T>(std::move(mailbox)),
        function_(std::forward<F>(function)),
        args_(std::in_place, std::forward<As>(args)...) {}

 private:
  Task<T> make() override {
    return std::apply([this](Args&... each) { return std::invoke(function_, std::move(each)...); }, *args_);
  }
  void drop_arguments() noexcept override { args_.reset(); }

  [[no_unique_address]] Function function_;
  std::optional<std::tuple<Args...>> args_;
};

}  // namespace weft::detail
