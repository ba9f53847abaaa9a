// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <memory>
#include <typeinfo>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/coro/trampoline.hpp"

namespace weft::detail {

struct ExecutorLocalTag;
struct ReadyTag;

/// Work that runs later on this thread: a node in at most one Executor's queue. Owned by the code that
/// schedules it, often as part of a coroutine frame. Leaves its queue when destroyed, so a dropped frame
/// never runs.
class Ready : public ListHook<ReadyTag> {
 public:
  /// Runs outside the queue: it may schedule the node again or destroy it.
  using Run = void (*)(Ready*) noexcept;
  explicit Ready(Run run) noexcept : run_(run) {}

  bool is_scheduled() const noexcept { return linked(); }

 private:
  friend class Executor;
  Run run_;
};

/// Object that belongs to one executor and is looked up there by its type. Owned by the code that adds it;
/// leaves when destroyed.
class ExecutorLocal : public ListHook<ExecutorLocalTag> {
 public:
  explicit ExecutorLocal(const std::type_info& type) noexcept : type_(type) {}

  const std::type_info& type() const noexcept { return type_; }
  void* object() const noexcept { return object_; }
  void set_object(void* object) noexcept { object_ = object; }

 private:
  const std::type_info& type_;
  void* object_ = nullptr;
};

/// A thread's ready queue: first in, first out, no allocation, no lock. The runtime's Loop derives from it.
/// Thread: all members belong to the thread that runs it; callers that are not on the path of a call say so
/// by check_thread(). Must outlive the coroutines that wait on it.
class Executor {
 public:
  /// True where the calling thread may use an executor that is not the thread's current one.
  using MayBeUsed = bool (*)(const Executor&) noexcept;

  /// Makes an executor the current one of this thread for a scope; scopes nest.
  class Enter {
   public:
    explicit Enter(Executor& executor) noexcept : outer_(current_) { current_ = &executor; }
    Enter(const Enter&) = delete;
    Enter& operator=(const Enter&) = delete;
    ~Enter() { current_ = outer_; }

   private:
    Executor* outer_;
  };

  Executor() = default;
  /// `may_be_used` answers for check_thread(); null: any thread may use it.
  explicit Executor(MayBeUsed may_be_used) noexcept : may_be_used_(may_be_used) {}
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// The executor whose code runs on this thread, or null outside of any.
  static Executor* current() noexcept { return current_; }

  /// Ends the process with `words` on a thread that must leave this executor alone.
  void check_thread(const char* words) const noexcept {
    if (current_ != this) [[unlikely]] {
      check_elsewhere(words);
    }
  }

  /// Queues `node`, which must not be queued yet.
  void schedule(Ready& node) noexcept { ready_.push_back(node); }
  /// The same, but at the front of the queue.
  void schedule_first(Ready& node) noexcept { ready_.push_front(node); }
  /// Takes `node` out of the queue, if it is there.
  void unschedule(Ready& node) noexcept { node.unlink(); }

  bool has_ready() const noexcept { return !ready_.empty(); }

  void add_local(ExecutorLocal& local) noexcept { locals_.push_back(local); }
  /// The object of `type` that was added and has not left; null without. The few that there are are looked
  /// through, without a lock and mostly without comparing a name.
  void* find_local(const std::type_info& type) noexcept;

  /// Runs at most `budget` nodes, those too that are queued meanwhile. Returns how many ran.
  std::size_t run_ready(std::size_t budget) {
    Enter entered(*this);
    return run_entered(budget);
  }

 protected:
  /// run_ready() where this is the thread's current executor already.
  std::size_t run_entered(std::size_t budget) {
    std::size_t ran = 0;
    for (; ran < budget && has_ready(); ++ran) run_oldest();
    return ran;
  }
  /// Runs the node that is first, which there must be.
  void run_oldest() {
    Ready& node = ready_.pop_front();
    node.run_(&node);
  }

 private:
  [[gnu::cold]] void check_elsewhere(const char* words) const noexcept;

  static inline constinit thread_local Executor* current_ = nullptr;

  IntrusiveList<Ready, ReadyTag> ready_;
  IntrusiveList<ExecutorLocal, ExecutorLocalTag> locals_;
  const MayBeUsed may_be_used_ = nullptr;
};

/// The Ready that resumes a coroutine.
struct Resumption : Ready {
  explicit Resumption(std::coroutine_handle<> coroutine = {}) noexcept
      : Ready([](Ready* node) noexcept { resume(static_cast<Resumption*>(node)->handle); }),
        handle(coroutine) {}

  std::coroutine_handle<> handle;
};

/// Called when the operations that may end without suspending are used up. Returns true if there is no
/// executor to give way to.
bool no_executor_to_give_way_to() noexcept;

/// Counts an operation that ended without suspending its coroutine. Returns false if the coroutine must give
/// way: it then suspends and goes to the back of the ready queue of the current executor, so that other
/// coroutines, timers and descriptors are served. Always true without a current executor.
inline bool may_go_on() noexcept {
  if (--trampoline.at_once != 0) [[likely]] {
    return true;
  }
  return no_executor_to_give_way_to();
}

/// The same for the end of await_suspend(), which returns the result. If true, `resumption` is scheduled for
/// its coroutine, and may be destroyed before it runs.
inline bool gives_way(Resumption& resumption) noexcept {
  if (may_go_on()) [[likely]] {
    return false;
  }
  Executor::current()->schedule(resumption);
  return true;
}
inline bool gives_way(Resumption& resumption, std::coroutine_handle<> coroutine) noexcept {
  resumption.handle = coroutine;
  return gives_way(resumption);
}

/// A Resumption for awaiters that must be small. It is allocated when the coroutine gives way.
class SpareResumption {
 public:
  /// Schedules `coroutine` after may_go_on() returned false. Returns false without memory, and the coroutine
  /// goes on.
  bool schedule(std::coroutine_handle<> coroutine) noexcept;

 private:
  struct Spare;
  struct Release {
    void operator()(Spare* spare) const noexcept;
  };
  std::unique_ptr<Spare, Release> spare_;
};

/// Awaited by `co_await yield()`.
class [[nodiscard]] YieldAwaiter {
 public:
  YieldAwaiter() noexcept = default;
  YieldAwaiter(YieldAwaiter&&) noexcept {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) noexcept {
    WEFT_ASSERT(Executor::current() != nullptr, "yield() needs a current executor");
    resumption_.handle = coroutine;
    Executor::current()->schedule(resumption_);
  }
  void await_resume() const noexcept {}

 private:
  Resumption resumption_;
};

}  // namespace weft::detail
