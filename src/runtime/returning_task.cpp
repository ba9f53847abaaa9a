// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/returning_task.hpp"

#include <utility>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

TaskReturn::TaskReturn(Loop& home, Ready& waiter)
    : home_(home), home_mailbox_(home.mailbox()), waiter_(&waiter) {}

std::shared_ptr<TaskReturn> TaskReturn::send(ToldTask& task, Loop& home, Ready& waiter) {
  auto way = std::make_shared<TaskReturn>(home, waiter);
  way->kept_ = way;
  task.send_for(*way);
  return way;
}

// After the caller was notified, it may destroy everything except this, including its home's mailbox.
void TaskReturn::told() noexcept {
  const std::shared_ptr<TaskReturn> self = kept_;
  const std::shared_ptr<Mailbox> home = home_mailbox_;
  told_.raise();
  home->post(*this);
}

void TaskReturn::run() {
  const std::shared_ptr<TaskReturn> self = std::move(kept_);
  is_back_ = true;
  if (waiter_ != nullptr) home_.schedule(*waiter_);
}

void ReturningTask::begin(ToldTask& task, bool borrows, CancelScope* scope,
                          std::coroutine_handle<> coroutine) {
  Loop* home = Loop::current();
  WEFT_ASSERT(home != nullptr,
              "on_loop_of() is awaited inside a turn of a Loop; elsewhere write weft::blocking()");
  resumption_.handle = coroutine;
  return_ = TaskReturn::send(task, *home, resumption_);
  task_ = &task;
  home_ = home;
  borrows_ = borrows;
  if (scope != nullptr) scope->add(*this);
}

Status ReturningTask::take_failure() noexcept {
  if (return_ == nullptr) return std::move(failure_);
  return task_->take_failure();
}

ReturningTask::~ReturningTask() {
  if (return_ == nullptr || return_->is_back()) return;
  return_->forget_waiter();
  if (!borrows_) {
    if (task_->give_up(CancelReason::kRequested)) return_->was_given_up();
    return;
  }
  task_->cancel(CancelReason::kRequested);
  // In a child of fork the thread that would tell is not there.
  if (!task_->is_in_child()) return_->wait_for_end();
}

void ReturningTask::on_cancel(CancelReason reason) noexcept {
  if (return_->is_back()) return;
  if (borrows_) return task_->cancel(reason);
  if (!task_->give_up(reason)) return;  // it has ended, and is on its way back
  return_->was_given_up();
  return_ = nullptr;
  failure_ = to_status(reason);
  home_->schedule(resumption_);
}

}  // namespace weft::detail
