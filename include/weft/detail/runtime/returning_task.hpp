// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <memory>

#include "weft/detail/base/status.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/posted.hpp"
#include "weft/detail/runtime/thread_signal.hpp"
#include "weft/detail/runtime/told.hpp"
#include "weft/detail/runtime/told_task.hpp"

namespace weft {

class Loop;

namespace detail {

/// The way back of a ToldTask to the coroutine that waits for it on another loop, its home. Both sides share
/// it: the coroutine may be gone when the task has ended, and the home's loop too.
class TaskReturn final : public Told, private Posted {
 public:
  /// Hands `task` to its loop, from a turn of `home`. `waiter` is scheduled there when the task has ended,
  /// unless forget_waiter() or was_given_up() came first. Throws std::bad_alloc, and has done nothing then.
  static std::shared_ptr<TaskReturn> send(ToldTask& task, Loop& home, Ready& waiter);

  TaskReturn(Loop& home, Ready& waiter);

  // Thread: home's.
  void forget_waiter() noexcept { waiter_ = nullptr; }
  /// Called when no notification follows.
  void was_given_up() noexcept { kept_.reset(); }
  bool is_back() const noexcept { return is_back_; }
  /// Blocks until the task has ended.
  void wait_for_end() noexcept { told_.wait(Deadline::infinite()); }

 private:
  void told() noexcept override;
  void run() override;
  void drop() noexcept override { kept_.reset(); }

  Loop& home_;
  const std::shared_ptr<Mailbox> home_mailbox_;
  Ready* waiter_;
  bool is_back_ = false;
  ThreadSignal told_;
  /// Itself, until the notification has arrived.
  std::shared_ptr<TaskReturn> kept_;
};

/// The part of a coroutine's wait for a ToldTask of another loop that knows no types. Cancel: at once, and
/// the task is cancelled on its loop; when that has memory of the caller's the coroutine waits for its end.
class ReturningTask : private CancelListener {
 public:
  ReturningTask() = default;
  ReturningTask(const ReturningTask&) = delete;
  ReturningTask& operator=(const ReturningTask&) = delete;
  /// Gives up the awaited work; blocks while that uses memory of the caller's.
  ~ReturningTask();

  /// Begins `task`, which stays until this is gone. `borrows`: it has memory of the caller's. `scope`, may be
  /// null, is not cancelled. Throws std::bad_alloc, and has done nothing then. Inside a turn of a loop.
  void begin(ToldTask& task, bool borrows, CancelScope* scope, std::coroutine_handle<> coroutine);
  /// Returns the reason why the task gave no result, after the coroutine was resumed; ok when it gave one, or
  /// threw.
  Status take_failure() noexcept;
  /// Says whether it was because the task's loop was stopped.
  bool lost_its_loop() const noexcept { return return_ != nullptr && task_->lost_its_loop(); }

 private:
  void on_cancel(CancelReason reason) noexcept override;

  ToldTask* task_ = nullptr;
  /// Null without a waiter: before, and once it was given up.
  std::shared_ptr<TaskReturn> return_;
  Loop* home_ = nullptr;
  bool borrows_ = false;
  Status failure_;
  Resumption resumption_;
};

}  // namespace detail

}  // namespace weft
