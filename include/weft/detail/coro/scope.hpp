// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/detail/coro/awaitable.hpp"
#include "weft/detail/coro/owned_argument.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/coro/waiter.hpp"

namespace weft {

/// The owner of coroutines that outlive the expression that made them. All of them must end before it is
/// destroyed: join it first. It may also be destroyed by the end of its last task, with an object that the
/// task held. Declare it last, so that objects used by its tasks outlive them. Thread: its loop's; while it
/// has tasks, spawn() and cancel() end the process with a message on another thread. Each spawned task costs
/// one allocation from the frame pool, besides the task's own frame.
class Scope {
 public:
  class [[nodiscard]] JoinAwaiter;

  /// Tasks are only cancelled by cancel().
  Scope() = default;
  /// Tasks are also cancelled by `parent`, which may be null, and must outlive this.
  explicit Scope(CancelScope* parent) : cancel_scope_(parent) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    std::size_t ending = 0;
    for (TaskEnd* end = ending_; end != nullptr; end = end->outer, ++ending) end->scope_is_gone = true;
    WEFT_ASSERT(count_ == ending, "a Scope is joined before it is destroyed");
  }

  /// Starts the Task<void> that `function(args...)` returns; it runs on this stack up to its first
  /// suspension. `function` has no state; the scope owns copies of `args` until the task ends. Pointers are
  /// copied as they are: their targets must outlive the scope. An exception that leaves the task terminates
  /// the process. Throws exceptions raised before the task exists: std::bad_alloc, or an exception from
  /// copying the arguments or from a function that is no coroutine. Nothing is spawned then.
  template <typename Function, typename... Args>
  void spawn(Function&& function, Args&&... args) {
    constexpr bool kIsFunction = !detail::Awaitable<std::decay_t<Function>>;
    static_assert(
        kIsFunction,
        "a scope spawns a function with its arguments, not a Task or a call: those may refer to what "
        "ends before they do; write spawn(&function, arguments...)");
    if constexpr (kIsFunction) {
      static_assert(
          detail::StatelessFunction<std::decay_t<Function>>,
          "a spawned function has no captures: pass what it needs as arguments, the scope owns them");
      static_assert(
          (detail::OwnedArgument<std::decay_t<Args>> && ...),
          "a spawned task owns its arguments: pass a string or a vector instead of a view, a value, "
          "or a pointer to what outlives the scope, instead of a reference");
      using Node = Spawned<std::decay_t<Function>, std::decay_t<Args>...>;
      constexpr bool kReturnsTask = std::is_same_v<typename Node::Made, Task<void>>;
      static_assert(
          kReturnsTask,
          "a spawned function returns Task<void>: it awaits what may fail, a call for instance, and "
          "looks at the result");
      if constexpr (kReturnsTask) {
        check_thread();
        // A task belongs to the scope only once it has begun: the frame may not be available, and a plain
        // function may throw.
        auto made =
            std::make_unique<Node>(*this, std::forward<Function>(function), std::forward<Args>(args)...);
        made->make();
        Node* node = made.release();
        tasks_.push_back(*node);
        if (count_++ == 0) home_ = detail::Executor::current();
        detail::start(node->task, &cancel_scope_, *node);
      }
    }
  }

  /// Returns void, once no task is left. It cannot be cancelled: cancel the scope to make it end sooner.
  JoinAwaiter join() noexcept;

  /// Asks all tasks to end, those too that are spawned later.
  void cancel(CancelReason reason) noexcept {
    check_thread();
    cancel_scope_.cancel(reason);
  }
  bool cancelled() const noexcept { return cancel_scope_.cancelled(); }
  CancelScope& cancel_scope() noexcept { return cancel_scope_; }
  /// Tasks that have not ended.
  std::size_t count() const noexcept { return count_; }

  /// Destroys all tasks where they stand, without running them. It is only for tearing down a loop that will
  /// never run again, and no task of this scope may call it.
  void drop_all() noexcept;

 private:
  struct SpawnedTag;
  struct SpawnedBase : detail::ListHook<SpawnedTag>, detail::Completion, detail::PooledFrame {
    SpawnedBase(Scope& owner, void (*destroyer)(SpawnedBase*) noexcept) noexcept
        : Completion{&Scope::task_ended}, scope(owner), destroy(destroyer) {}
    Scope& scope;
    void (*destroy)(SpawnedBase*) noexcept;
    Task<void> task;
  };

  template <typename Function, typename... Args>
  struct Spawned final : SpawnedBase {
    using Made = std::invoke_result_t<Function&, Args...>;
    template <typename F, typename... As>
    explicit Spawned(Scope& owner, F&& f, As&&... as)
        : SpawnedBase(owner, [](SpawnedBase* node) noexcept { delete static_cast<Spawned*>(node); }),
          function(std::forward<F>(f)),
          args(std::forward<As>(as)...) {}
    ~Spawned() { this->task.reset(); }  // before the arguments that it may refer to
    void make() {
      this->task =
          std::apply([this](Args&... each) { return std::invoke(function, std::move(each)...); }, args);
    }

    [[no_unique_address]] Function function;
    [[no_unique_address]] std::tuple<Args...> args;
  };

  /// End of a task, while its arguments are destroyed: the last reference to the scope may be among them.
  struct TaskEnd {
    TaskEnd* outer;
    bool scope_is_gone = false;
  };

  /// Ends the process on a wrong thread. While there are tasks, the scope belongs to the loop on which the
  /// first of them was spawned.
  void check_thread() const noexcept {
    if (count_ == 0 || home_ == nullptr) return;
    home_->check_thread(
        "spawn() or cancel() of a Scope was called on another thread than the loop's of its tasks: write "
        "loop.post(...), and call it there, or make a Scope for each loop");
  }
  static void task_ended(detail::Completion& self, detail::TaskPromiseBase& task) noexcept;

  detail::IntrusiveList<SpawnedBase, SpawnedTag> tasks_;
  std::size_t count_ = 0;
  /// Executor of the tasks; null if the first of them was spawned outside of any.
  detail::Executor* home_ = nullptr;
  TaskEnd* ending_ = nullptr;
  detail::WaitList joiners_;
  CancelScope cancel_scope_;
};

class [[nodiscard]] Scope::JoinAwaiter final : detail::Waiter {
 public:
  explicit JoinAwaiter(Scope& scope) noexcept : scope_(scope) {}

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> coroutine) noexcept {
    if (scope_.count_ == 0) return gives_way(coroutine);
    enqueue(scope_.joiners_, coroutine, nullptr);
    return true;
  }
  void await_resume() const noexcept {}

 private:
  Scope& scope_;
};

inline Scope::JoinAwaiter Scope::join() noexcept {
  return JoinAwaiter{*this};
}

}  // namespace weft
