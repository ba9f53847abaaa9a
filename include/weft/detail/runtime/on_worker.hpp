// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/owned_argument.hpp"
#include "weft/detail/runtime/worker_job.hpp"
#include "weft/detail/runtime/worker_pool.hpp"

namespace weft {

namespace detail {

/// Awaited by `co_await on_worker(...)`: gives a Result<R>, or R itself where that is a Result.
template <typename R>
class [[nodiscard("a function for a worker is not run until it is awaited")]] WorkerCall final
    : public WorkerAwait {
 public:
  using Given = std::conditional_t<is_result<R>, R, Result<R>>;

  WorkerCall(WorkerPool& pool, WorkerJobGiving<R>* job) noexcept : WorkerAwait(pool, job) {}

  Given await_resume() {
    Status failure = take_failure();
    if (!failure.ok()) return failure;
    auto& ended = static_cast<WorkerJobGiving<R>&>(*job());
    if constexpr (std::is_void_v<R>) {
      ended.take();
      return {};
    } else {
      return ended.take();
    }
  }
};

}  // namespace detail

/// Runs `function(args...)` on a thread of `pool`, and continues here, on the coroutine's own loop, with its
/// result; rethrows its exception. Any coroutine may await it, also outside of a server.
///
/// A record that both threads share owns the function, copies of `args` and the result. Objects that these
/// refer to, by captures or pointers, must outlive the function: the awaiting coroutine may lend its own
/// objects, as long as it is not dropped. A function given as a temporary captures references and plain
/// values only; pass owned objects in `args`, or in a named function object, which is copied.
///
/// Cancel: work that no thread has taken yet is taken back, at once, and never runs. Running work is waited
/// for, and its result is the result: it may still use borrowed objects. If its first parameter is a
/// std::stop_token, a stop is requested from it. Dropped: running work continues and ends with its record, on
/// the worker's thread if that is last; in all other cases function and arguments are destroyed on the
/// coroutine's thread.
///
/// Thread: inside a turn of a Loop, as long as the pool exists; the pool may end while this waits. Errors:
/// kResourceExhausted when the pool's queue is full or memory is exhausted; kUnavailable when the pool ends
/// first; kFailedPrecondition in a child of fork; to_status(reason) when cancelled. `function` was not run
/// then.
template <typename F, typename... Args>
auto on_worker(WorkerPool& pool, F&& function, Args&&... args) {
  using Function = std::decay_t<F>;
  static_assert(std::is_lvalue_reference_v<F> || (std::is_trivially_copy_constructible_v<Function> &&
                                                  std::is_trivially_destructible_v<Function>),
                "a function that owns something is a temporary here, which compilers destroy twice around a "
                "co_await: give what it owns as arguments behind it, or give the function a name");
  static_assert(
      (detail::OwnedArgument<std::decay_t<Args>> && ...),
      "a worker's function owns its arguments: pass a string or a vector instead of a view, a value, "
      "or a pointer to what outlives it, instead of a reference");
  using R = detail::WorkerResult<Function, std::decay_t<Args>...>;
  static_assert(!std::is_reference_v<R>,
                "a worker's result is a value: return a pointer instead of a reference");
  detail::WorkerJobGiving<R>* job = nullptr;
  try {
    job = new detail::WorkerJobOf<Function, std::decay_t<Args>...>(std::forward<F>(function),
                                                                   std::forward<Args>(args)...);
  } catch (const std::bad_alloc&) {
    // The call says so when it is awaited.
  }
  return detail::WorkerCall<R>{pool, job};
}

}  // namespace weft
