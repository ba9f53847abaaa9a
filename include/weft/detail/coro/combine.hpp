// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/detail/coro/awaitable.hpp"
#include "weft/detail/coro/fanout.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft {

namespace detail {

template <typename T>
using Unvoid = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// The result of a task that has ended, std::monostate for void.
template <typename T>
Unvoid<T> take_unvoid(Task<T>& task) {
  if constexpr (std::is_void_v<T>) {
    take_result(task);
    return {};
  } else {
    return take_result(task);
  }
}

template <typename... Ts>
Task<std::tuple<Unvoid<Ts>...>> when_all_of(std::tuple<Task<Ts>...> tasks) {
  Fanout fanout;
  auto start_all = [&](CancelScope* scope) {
    std::apply([&](auto&... each) { (fanout.start(each, scope), ...); }, tasks);
  };
  FanoutAwaiter all(fanout, start_all);
  co_await all;
  if (fanout.first_failed() != Fanout::kNobody) fanout.rethrow_first_failure();
  co_return std::apply([](auto&... each) { return std::tuple<Unvoid<Ts>...>{take_unvoid(each)...}; }, tasks);
}

template <typename T>
std::vector<Task<T>> own_all(std::vector<Task<T>> tasks) noexcept {
  return tasks;
}
template <Awaitable A>
std::vector<Task<AwaitResult<A>>> own_all(std::vector<A> awaitables) {
  std::vector<Task<AwaitResult<A>>> tasks;
  tasks.reserve(awaitables.size());
  for (A& each : awaitables) tasks.push_back(own(std::move(each)));
  return tasks;
}

template <typename T>
Task<std::conditional_t<std::is_void_v<T>, void, std::vector<Unvoid<T>>>> when_all_in(
    std::vector<Task<T>> tasks) {
  Fanout fanout;
  auto start_all = [&](CancelScope* scope) {
    for (Task<T>& task : tasks) fanout.start(task, scope);
  };
  FanoutAwaiter all(fanout, start_all);
  co_await all;
  if (fanout.first_failed() != Fanout::kNobody) fanout.rethrow_first_failure();
  if constexpr (!std::is_void_v<T>) {
    std::vector<T> results;
    results.reserve(tasks.size());
    for (Task<T>& task : tasks) results.push_back(detail::take_result(task));
    co_return results;
  }
}

}  // namespace detail

/// Runs all awaitables at once, waits until every one has ended, and returns their results in order,
/// std::monostate for void. If some threw, rethrows the first exception after all have ended. Accepts Tasks,
/// calls, started Calls, sleep_for(...), any movable awaitable, and owns them. Objects that they refer to,
/// such as the arguments of a call, must live until the end: `co_await` the combination in the expression
/// that made it.
template <typename... As>
  requires(detail::Awaitable<std::remove_reference_t<As>> && ...)
Task<std::tuple<detail::Unvoid<detail::AwaitResult<As>>...>> when_all(As&&... awaitables) {
  return detail::when_all_of(
      std::tuple<Task<detail::AwaitResult<As>>...>{detail::own(std::forward<As>(awaitables))...});
}

/// The same for any number of one kind; for void the result is void.
template <detail::Awaitable A>
auto when_all(std::vector<A> awaitables) {
  return detail::when_all_in(detail::own_all(std::move(awaitables)));
}

/// Result of a race: the index of the winner and its value, which has the common type of all results, or is
/// a variant with one alternative for each.
template <typename Value>
struct RaceWinner {
  std::size_t index;
  Value value;
};

namespace detail {

template <typename... Ts>
struct RaceValueOf {
  using type = std::variant<Unvoid<Ts>...>;
};
template <typename T, std::same_as<T>... Ts>
struct RaceValueOf<T, Ts...> {
  using type = Unvoid<T>;
};
template <typename... Ts>
using RaceValue = typename RaceValueOf<Ts...>::type;

/// Becomes what `make` returns where it is needed, without a move.
template <typename Make>
struct MadeInPlace {
  operator std::invoke_result_t<Make&>() { return make(); }  // NOLINT(google-explicit-constructor)
  Make make;
};

template <typename Winner, std::size_t I, typename T>
void take_if_winner(std::size_t winner, Task<T>& task, std::optional<Winner>& result) {
  if (winner != I) return;
  if constexpr (std::is_same_v<Winner, RaceWinner<Unvoid<T>>>) {
    result.emplace(I, take_unvoid(task));
  } else {
    // Of a variant that is moved here g++ 12 says that it might not have been set.
    const auto make = [&task] { return decltype(Winner::value){std::in_place_index<I>, take_unvoid(task)}; };
    result.emplace(I, MadeInPlace<decltype(make)>{make});
  }
}

template <typename... Ts>
Task<RaceWinner<RaceValue<Ts...>>> race_of(std::tuple<Task<Ts>...> given) {
  using Winner = RaceWinner<RaceValue<Ts...>>;
  CancelScope* outer = co_await this_cancel_scope();
  CancelScope losers(outer);
  std::tuple<Task<Ts>...> tasks = std::move(given);  // destroyed before the scope they run under
  Fanout fanout(&losers);
  auto start_all = [&](CancelScope*) {
    std::apply([&](auto&... each) { (fanout.start(each, &losers), ...); }, tasks);
  };
  FanoutAwaiter all(fanout, start_all);
  co_await all;
  std::optional<Winner> result;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (take_if_winner<Winner, I>(fanout.first_ended(), std::get<I>(tasks), result), ...);
  }(std::index_sequence_for<Ts...>{});
  co_return std::move(*result);
}

template <typename T>
Task<RaceWinner<Unvoid<T>>> race_in(std::vector<Task<T>> given) {
  WEFT_ASSERT(!given.empty(), "a race of nobody has no winner");
  CancelScope* outer = co_await this_cancel_scope();
  CancelScope losers(outer);
  std::vector<Task<T>> tasks = std::move(given);  // destroyed before the scope they run under
  Fanout fanout(&losers);
  auto start_all = [&](CancelScope*) {
    for (Task<T>& task : tasks) fanout.start(task, &losers);
  };
  FanoutAwaiter all(fanout, start_all);
  co_await all;
  const std::size_t winner = fanout.first_ended();
  co_return RaceWinner<Unvoid<T>>{winner, take_unvoid(tasks[winner])};
}

}  // namespace detail

/// Runs all awaitables at once until the first ends, cancels the others with kRequested, waits until they
/// have ended too, and returns the winner's result or rethrows its exception. Results and exceptions of the
/// others are dropped. An awaitable that ends without suspending wins: those after it are not started. After
/// many operations in a row that did not suspend, it may have to give way, and then the next one is started.
/// Accepts the same awaitables as when_all().
template <typename... As>
  requires(sizeof...(As) > 0 && (detail::Awaitable<std::remove_reference_t<As>> && ...))
Task<RaceWinner<detail::RaceValue<detail::AwaitResult<As>...>>> race(As&&... awaitables) {
  return detail::race_of(
      std::tuple<Task<detail::AwaitResult<As>>...>{detail::own(std::forward<As>(awaitables))...});
}

/// The same for any number of one kind, at least one.
template <detail::Awaitable A>
auto race(std::vector<A> awaitables) {
  return detail::race_in(detail::own_all(std::move(awaitables)));
}

}  // namespace weft
