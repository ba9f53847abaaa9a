// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/coro/awaited_first.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/frame_pool.hpp"
#include "weft/detail/coro/trampoline.hpp"

namespace weft {

template <typename T = void>
class Task;

namespace detail {

class TaskPromiseBase;

/// Receiver of the news that a Task started by detail::start() has ended.
struct Completion {
  /// Called once, from the task's final suspension; may destroy the task. Must not resume a coroutine: it
  /// schedules one, or leaves one to the trampoline.
  using Completed = void (*)(Completion& self, TaskPromiseBase& task) noexcept;
  Completed completed;
};

/// The queue entry of a coroutine that gives way because it awaits a task. Owned by the promise of that task.
struct GaveWay;

class FinalAwaiter {
 public:
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> coroutine) const noexcept;
  void await_resume() const noexcept {}
};

/// Base of the promises of all tasks. At its end a task does one of three things: nothing, when its parent
/// is still starting it and looks for itself; calls its Completion; or leaves its parent to the trampoline.
class TaskPromiseBase : public PooledFrame {
 public:
  TaskPromiseBase() = default;
  TaskPromiseBase(const TaskPromiseBase&) = delete;
  TaskPromiseBase& operator=(const TaskPromiseBase&) = delete;
  ~TaskPromiseBase() {
    if (starting == Starting::kGaveWay) [[unlikely]] {
      leave_queue();
    }
  }

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }

  bool failed() const noexcept { return error != nullptr; }
  void ended() noexcept {
    if (starting == Starting::kYes) return;
    if (completion != nullptr) {
      completion->completed(*completion, *this);
    } else {
      continue_with(continuation);
    }
  }

  /// Schedules `coroutine`, which is this task's or its parent's. Returns false, and changes nothing, without
  /// memory.
  bool give_way(std::coroutine_handle<> coroutine) noexcept;

  /// The scope this coroutine runs under; null until it is started when it inherits one.
  CancelScope* cancel_scope = nullptr;
  std::coroutine_handle<> continuation;
  Completion* completion = nullptr;
  std::exception_ptr error;
  /// Free for the Completion's use.
  std::uint32_t tag = 0;
  /// Says whether the parent is inside await_suspend and asks for the outcome itself. A whole word: clang
  /// clears the members above by stores that overlap when a lone byte follows them, and loading them again
  /// then stalls.
  /// kGaveWay: the `completion` is a GaveWay.
  enum class Starting : std::uint32_t { kNo, kYes, kGaveWay } starting = Starting::kNo;

 private:
  void leave_queue() noexcept;
};

template <typename Promise>
void FinalAwaiter::await_suspend(std::coroutine_handle<Promise> coroutine) const noexcept {
  coroutine.promise().ended();
}

template <typename T>
class TaskPromise final : public TaskPromiseBase {
  static_assert(std::is_object_v<T> && std::is_move_constructible_v<T>,
                "a Task's result is void or a movable value; give a pointer instead of a reference");

 public:
  TaskPromise() noexcept {}
  ~TaskPromise() {
    if (has_value_) std::destroy_at(std::addressof(value_));
  }

  Task<T> get_return_object() noexcept;
  template <typename U = T>
    requires std::constructible_from<T, U>
  void return_value(U&& value) {
    std::construct_at(std::addressof(value_), std::forward<U>(value));
    has_value_ = true;
  }
  T take() {
    if (failed()) std::rethrow_exception(std::exchange(error, nullptr));
    return std::move(value_);
  }

 private:
  union {
    T value_;
  };
  bool has_value_ = false;
};

template <>
class TaskPromise<void> final : public TaskPromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() {
    if (failed()) std::rethrow_exception(std::exchange(error, nullptr));
  }
};

/// Starts `child` from the trampoline, because the stack is deep, or from the ready queue, if it gives way.
void start_child_later(std::coroutine_handle<> child, TaskPromiseBase& promise) noexcept;

/// Starts `child` on its parent's stack. True when it did not end at once and the parent has to suspend.
inline bool start_child(std::coroutine_handle<> child, TaskPromiseBase& promise) noexcept {
  Trampoline& here = trampoline;
  if (here.depth >= kInlineDepthMax) [[unlikely]] {
    start_child_later(child, promise);
    return true;
  }
  promise.starting = TaskPromiseBase::Starting::kYes;
  ++here.depth;
  child.resume();
  --here.depth;
  promise.starting = TaskPromiseBase::Starting::kNo;
  return !child.done();
}

/// The same for an awaited task, which counts as an operation: the parent also suspends if it gives way.
inline bool start_awaited_child(std::coroutine_handle<> child, TaskPromiseBase& promise) noexcept {
  if (start_child(child, promise)) return true;
  return !may_go_on() && promise.give_way(promise.continuation);
}

struct TaskAccess;

}  // namespace detail

/// A lazy coroutine with a result: runs when awaited, `T result = co_await make_task();`, once. Exceptions
/// reach the awaiter. Inherits the awaiter's CancelScope. Destroying a suspended Task drops it: its locals
/// are destroyed, and it leaves every queue in which it waits. Thread: starts, resumes and is destroyed on
/// one thread.
template <typename T>
class [[nodiscard("a Task does nothing until it is awaited")]] Task : public detail::AwaitedFirst {
 public:
  using value_type = T;
  using promise_type = detail::TaskPromise<T>;

  /// An empty task, to be assigned to.
  Task() noexcept = default;
  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      coroutine_ = std::exchange(other.coroutine_, nullptr);
    }
    return *this;
  }
  ~Task() { reset(); }

  explicit operator bool() const noexcept { return coroutine_ != nullptr; }

  /// Drops the coroutine now.
  void reset() noexcept {
    if (coroutine_) std::exchange(coroutine_, nullptr).destroy();
  }

  class [[nodiscard]] Awaiter {
   public:
    explicit Awaiter(std::coroutine_handle<promise_type> child) noexcept : child_(child) {}

    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> parent) const noexcept {
      promise_type& promise = child_.promise();
      WEFT_ASSERT(!promise.continuation, "a Task is awaited once");
      promise.continuation = parent;
      if (promise.cancel_scope == nullptr) promise.cancel_scope = detail::cancel_scope_of(parent);
      return detail::start_awaited_child(child_, promise);
    }
    T await_resume() const { return child_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> child_;
  };

  /// The Task must outlive the await; a temporary does.
  Awaiter operator co_await() && noexcept {
    WEFT_ASSERT(coroutine_, "co_await of an empty Task");
    return Awaiter{coroutine_};
  }
  /// A Task is awaited once: say so by std::move.
  Awaiter operator co_await() & = delete;

 private:
  friend promise_type;
  friend detail::TaskAccess;
  explicit Task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

template <typename T>
Task<T> TaskPromise<T>::get_return_object() noexcept {
  return Task<T>{std::coroutine_handle<TaskPromise>::from_promise(*this)};
}

inline Task<void> TaskPromise<void>::get_return_object() noexcept {
  return Task<void>{std::coroutine_handle<TaskPromise>::from_promise(*this)};
}

struct TaskAccess {
  template <typename T>
  static std::coroutine_handle<TaskPromise<T>> coroutine(Task<T>& task) noexcept {
    WEFT_ASSERT(task.coroutine_, "an empty Task has no coroutine");
    return task.coroutine_;
  }
};

/// Starts `task` without an awaiter: `completion` receives its end, on this stack if it ends at once. The
/// caller keeps `task` until then, and may drop it earlier. Used by scopes, fan-outs and loops.
template <typename T>
void start(Task<T>& task, CancelScope* scope, Completion& completion, std::uint32_t tag = 0) noexcept {
  auto coroutine = TaskAccess::coroutine(task);
  TaskPromise<T>& promise = coroutine.promise();
  promise.completion = &completion;
  promise.tag = tag;
  if (promise.cancel_scope == nullptr) promise.cancel_scope = scope;
  resume(coroutine);
}

/// Returns the result of an ended task; rethrows its exception.
template <typename T>
T take_result(Task<T>& task) {
  return TaskAccess::coroutine(task).promise().take();
}

}  // namespace detail

}  // namespace weft
