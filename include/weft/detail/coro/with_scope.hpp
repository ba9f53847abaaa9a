// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include "weft/detail/coro/awaitable.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft {

/// Makes `awaitable` run under `scope` instead of its awaiter's: `co_await with_scope(scope, work())`. It is
/// a task, or any awaitable that moves, such as a call; the task that is returned owns it. `scope` must
/// outlive that task. Throws std::bad_alloc when memory for a task is out, which a task itself does not need.
template <typename A>
  requires detail::Awaitable<std::remove_reference_t<A>>
Task<detail::AwaitResult<A>> with_scope(CancelScope& scope, A&& awaitable) {
  auto task = detail::own(std::forward<A>(awaitable));
  detail::TaskAccess::coroutine(task).promise().cancel_scope = &scope;
  return task;
}

}  // namespace weft
