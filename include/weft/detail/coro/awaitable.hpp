// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

#include "weft/detail/coro/task.hpp"

namespace weft::detail {

/// An awaiter: a type with the three functions on which a coroutine suspends.
template <typename A>
concept Awaiter =
    requires(std::remove_reference_t<A>& awaiter, std::coroutine_handle<TaskPromise<void>> coroutine) {
      { awaiter.await_ready() } -> std::convertible_to<bool>;
      awaiter.await_suspend(coroutine);
      awaiter.await_resume();
    };

template <typename A>
concept HasMemberCoAwait = requires(A&& awaitable) {
  { std::forward<A>(awaitable).operator co_await() } -> Awaiter;
};
template <typename A>
concept HasFreeCoAwait = requires(A&& awaitable) {
  { operator co_await(std::forward<A>(awaitable)) } -> Awaiter;
};

/// Accepted by `co_await std::move(a)` in a Task: a Task, a call, a started Call, sleep_for(...), the result
/// of an Event's or a Channel's function, or a user's awaitable.
template <typename A>
concept Awaitable = Awaiter<A> || HasMemberCoAwait<A> || HasFreeCoAwait<A>;

template <Awaitable A>
auto result_of_await(A&& awaitable) {
  if constexpr (HasMemberCoAwait<A>) {
    return std::forward<A>(awaitable).operator co_await().await_resume();
  } else if constexpr (HasFreeCoAwait<A>) {
    return operator co_await(std::forward<A>(awaitable)).await_resume();
  } else {
    return awaitable.await_resume();
  }
}

/// Type of the value that awaiting an `A` returns.
template <typename A>
  requires Awaitable<std::remove_cvref_t<A>>
using AwaitResult = decltype(detail::result_of_await(std::declval<std::remove_cvref_t<A>>()));

/// A task that owns `awaitable` and awaits it.
template <typename T>
Task<T> as_task(Task<T> task) noexcept {
  return task;
}
template <Awaitable A>
Task<AwaitResult<A>> as_task(A awaitable) {
  // By its name where that is possible: g++ 12 moves an awaiter that is given as an rvalue once more.
  if constexpr (Awaiter<A>) {
    co_return co_await awaitable;
  } else {
    co_return co_await std::move(awaitable);
  }
}

/// Fails to compile, with the reason in words, when `A` cannot be owned by a task.
template <typename A>
consteval bool check_owned_awaitable() {
  static_assert(!std::is_lvalue_reference_v<A>,
                "weft takes over what it is to wait for: say std::move(...), or make it in this expression");
  static_assert(
      std::is_lvalue_reference_v<A> || std::move_constructible<std::remove_cvref_t<A>>,
      "weft cannot take this awaitable over, because it does not move: write a small coroutine that "
      "awaits it, and give its Task");
  return !std::is_lvalue_reference_v<A> && std::move_constructible<std::remove_cvref_t<A>>;
}

/// The same in one step for an argument of type `A&&`.
template <typename A>
Task<AwaitResult<A>> own(A&& awaitable) {
  if constexpr (check_owned_awaitable<A>()) {
    return as_task(std::forward<A>(awaitable));
  } else {
    return {};
  }
}

/// A task that awaits an awaitable owned by another object, which must outlive the task.
template <Awaitable A>
Task<AwaitResult<A>> await_in_place(A&& awaitable) {
  if constexpr (Awaiter<A>) {
    co_return co_await awaitable;
  } else {
    co_return co_await std::forward<A>(awaitable);
  }
}

}  // namespace weft::detail
