// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/task.hpp"

#include <new>

namespace weft::detail {

struct GaveWay final : Completion, Resumption, PooledFrame {
  explicit GaveWay(std::coroutine_handle<> coroutine) noexcept
      : Completion{&GaveWay::task_ended}, Resumption(coroutine) {}

  /// The task gave way before it began, and now its parent goes on.
  static void task_ended(Completion&, TaskPromiseBase& task) noexcept { continue_with(task.continuation); }
};

bool TaskPromiseBase::give_way(std::coroutine_handle<> coroutine) noexcept {
  try {
    completion = new GaveWay{coroutine};
  } catch (const std::bad_alloc&) {
    return false;
  }
  starting = Starting::kGaveWay;
  Executor::current()->schedule(static_cast<GaveWay&>(*completion));
  return true;
}

void TaskPromiseBase::leave_queue() noexcept {
  delete static_cast<GaveWay*>(completion);
  completion = nullptr;
}

void start_child_later(std::coroutine_handle<> child, TaskPromiseBase& promise) noexcept {
  if (may_go_on() || !promise.give_way(child)) continue_with(child);
}

}  // namespace weft::detail
