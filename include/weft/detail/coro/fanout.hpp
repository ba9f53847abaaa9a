// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft::detail {

/// Counts several tasks down and lets their parent go on when the last has ended. Lives in the parent's
/// frame.
class Fanout : private Completion {
 public:
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  /// Makes one that with a scope is a race: the first task to end cancels the scope, and no task is started
  /// after that.
  explicit Fanout(CancelScope* losers = nullptr) noexcept
      : Completion{&Fanout::task_ended}, losers_(losers) {}
  Fanout(const Fanout&) = delete;
  Fanout& operator=(const Fanout&) = delete;

  template <typename T>
  void start(Task<T>& task, CancelScope* scope) noexcept {
    const std::uint32_t index = started_++;
    if (losers_ != nullptr && first_ended_ != kNobody) return;
    ++pending_;
    detail::start(task, scope, *this, index);
  }

  std::uint32_t first_ended() const noexcept { return first_ended_; }
  std::uint32_t first_failed() const noexcept { return first_failed_; }
  [[noreturn]] void rethrow_first_failure() { std::rethrow_exception(error_); }

 private:
  template <typename Start>
  friend class FanoutAwaiter;

  /// The starter counts as one, so that the parent does not go on while tasks are still being started.
  bool finish_starting() noexcept { return --pending_ == 0; }
  static void task_ended(Completion& self, TaskPromiseBase& task) noexcept;

  CancelScope* losers_;
  std::coroutine_handle<> parent_;
  std::exception_ptr error_;
  std::size_t pending_ = 1;
  std::uint32_t started_ = 0;
  std::uint32_t first_ended_ = kNobody;
  std::uint32_t first_failed_ = kNobody;
};

/// Suspends the parent over a Fanout. `start_all(scope)` starts the tasks under the parent's scope.
template <typename Start>
class [[nodiscard]] FanoutAwaiter {
 public:
  FanoutAwaiter(Fanout& fanout, Start& start_all) noexcept : fanout_(fanout), start_all_(start_all) {}

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    fanout_.parent_ = parent;
    start_all_(cancel_scope_of(parent));
    return !fanout_.finish_starting();
  }
  void await_resume() const noexcept {}

 private:
  Fanout& fanout_;
  Start& start_all_;
};

}  // namespace weft::detail
