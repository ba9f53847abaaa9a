// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/told_task.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kLoopStopped{StatusCode::kCancelled, Layer::kRuntime, Retry::kNever,
                                    "the loop of the coroutine was stopped"};
constexpr FixedFailure kLoopOfParent{StatusCode::kFailedPrecondition, Layer::kRuntime, Retry::kNever,
                                     "a loop of the parent was given work in a child of fork; make one here"};

}  // namespace

ToldTask::Ended::Ended(ToldTask& its) noexcept
    : Ready([](Ready* node) noexcept { static_cast<Ended*>(node)->task.end(); }),
      Completion{[](Completion& self, TaskPromiseBase&) noexcept {
        Ended& ended = static_cast<Ended&>(self);
        ended.task.has_ended_ = true;
        Executor::current()->schedule(ended);
      }},
      task(its) {}

void ToldTask::Cancelling::run() {
  if (task_.runs_) task_.scope_.cancel(task_.cancelled_.load(std::memory_order_relaxed));
  task_.release();
}

// The Told may release the record while this thread is still returning from here.
void ToldTask::send_for(Told& who) noexcept {
  right_.give_to(who);
  hold();
  hold();
  if (!mailbox_->send(*this)) {
    release();
    refuse();
  }
  release();
}

bool ToldTask::give_up(CancelReason reason) noexcept {
  const bool is_over = right_.claim();
  cancel(reason);
  return is_over;
}

void ToldTask::cancel(CancelReason reason) noexcept {
  CancelReason none = CancelReason::kNone;
  if (cancelled_.compare_exchange_strong(none, reason, std::memory_order_acq_rel) && !mailbox_->in_child()) {
    hold();
    mailbox_->post(cancelling_);
  }
}

void ToldTask::begin() {
  const CancelReason reason = cancelled_.load(std::memory_order_acquire);
  if (reason != CancelReason::kNone) return refuse_with(to_status(reason));
  hold();
  mailbox_->keep(*this);
  runs_ = true;
  try {
    start(scope_, ended_);
  } catch (...) {  // what the function threw before there was a coroutine is what the coroutine throws
    keep_exception();
    runs_ = false;
    end();
  }
}

void ToldTask::refuse() noexcept {
  lost_its_loop_ = !mailbox_->in_child();
  refuse_with(mailbox_->in_child() ? Status::of<kLoopOfParent>() : Status::of<kLoopStopped>());
}

// The arguments go with the record, on the thread that lets go of it last.
void ToldTask::refuse_with(Status why) noexcept {
  failure_ = std::move(why);
  failure_.mark_unprocessed();
  right_.tell();
}

void ToldTask::end_now() noexcept {
  if (!has_ended_) {
    failure_ = Status::of<kLoopStopped>();
    lost_its_loop_ = true;
  }
  end();
}

void ToldTask::end() noexcept {
  if (has_ended_) keep_outcome();
  runs_ = false;
  drop_task();
  ended_.unlink();
  unlink();
  right_.tell();
  release();
}

}  // namespace weft::detail
