// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include "weft/detail/coro/awaitable.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft {

/// Makes `awaitable` run under `scope` instead of its awaiter's: `co_await with_scope(scope, work())`. It may
/// be a task, or any movable awaitable, such as a call; the returned task owns it. `scope` must outlive that
/// task. Throws std::bad_alloc when there is no memory for a task, which is only needed for other awaitables.
template <typename A>
  requires detail::Awaitable<std::remove_reference_t<A>>
Task<detail::AwaitResult<A>> with_scope(CancelScope& scope, A&& awaitable) {
  auto task = detail::own(std::forward<A>(awaitable));
  detail::TaskAccess::coroutine(task).promise().cancel_scope = &scope;
  return task;
}

}  // namespace weft
