// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/coro/awaitable.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/coro/with_scope.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft {

namespace detail {

class DeadlineTimer final : public Timer {
 public:
  explicit DeadlineTimer(CancelScope& scope) noexcept : scope_(scope) {}
  void on_timer() override { scope_.cancel(CancelReason::kDeadline); }

 private:
  CancelScope& scope_;
};

template <typename T>
struct DeadlineResult {
  using type = Result<T>;
};
template <typename T>
struct DeadlineResult<Result<T>> {
  using type = Result<T>;
};

template <typename T>
Task<typename DeadlineResult<T>::type> run_with_deadline(Deadline deadline, Task<T> task) {
  CancelScope* parent = co_await this_cancel_scope();
  Loop* loop = Loop::current();
  WEFT_ASSERT(loop != nullptr, "with_deadline() runs inside a turn of a Loop");
  if (parent != nullptr && parent->cancelled()) co_return to_status(parent->reason());
  if (deadline.expired(loop->now())) co_return to_status(CancelReason::kDeadline);

  CancelScope scope{parent};
  scope.set_deadline(deadline);
  DeadlineTimer timer{scope};
  if (!deadline.is_infinite()) loop->arm(timer, deadline.at());
  Task<T> scoped = with_scope(scope, std::move(task));
  if constexpr (is_result<T>) {
    co_return co_await std::move(scoped);
  } else if constexpr (std::is_void_v<T>) {
    co_await std::move(scoped);
    if (scope.cancelled()) co_return to_status(scope.reason());
    co_return Result<void>{};
  } else {
    T value = co_await std::move(scoped);
    if (scope.cancelled()) co_return to_status(scope.reason());
    co_return std::move(value);
  }
}

}  // namespace detail

/// Runs `task` under a scope that is cancelled with kDeadline at `deadline`, and waits for it to end: the
/// task is asked to stop, not killed. A `Task<Result<T>>` always returns its own result; any other returns
/// its value, or kDeadlineExceeded (or the awaiter's cancel) if it was cancelled before it ended. A passed
/// deadline, or a cancelled awaiter, ends it before `task` is started. Thread: inside a turn of a Loop.
/// Cancel: decided by `task`. Accepts any movable awaitable, see when_all().
template <typename A>
  requires detail::Awaitable<std::remove_reference_t<A>>
Task<typename detail::DeadlineResult<detail::AwaitResult<A>>::type> with_deadline(Deadline deadline,
                                                                                  A&& task) {
  return detail::run_with_deadline(deadline, detail::own(std::forward<A>(task)));
}

}  // namespace weft
