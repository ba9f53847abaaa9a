// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/coro/waiter.hpp"

namespace weft {

/// A count of permits, granted in the order of arrival: a large request at the front is not overtaken by
/// small ones. A permit belongs to a waiter from the moment it is granted; if the waiter is dropped before it
/// runs, the permits go to the next one. A cancel after the grant is too late: the waiter has its permits.
/// Thread: its loop's. Allocates nothing. Must outlive its waiters.
class Semaphore {
 public:
  class [[nodiscard]] AcquireAwaiter;

  explicit Semaphore(std::size_t permits) noexcept : available_(permits) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  ~Semaphore() { WEFT_ASSERT(waiters_.empty(), "a Semaphore outlives those who wait on it"); }

  std::size_t available() const noexcept { return available_; }
  bool has_waiters() const noexcept { return !waiters_.empty(); }

  /// Result<void>: ok once `permits` are the caller's, who gives them back by release(). Cancel: total.
  AcquireAwaiter acquire(std::size_t permits = 1) noexcept;
  /// Takes `permits` if they are free and no coroutine is waiting.
  bool try_acquire(std::size_t permits = 1) noexcept {
    if (available_ < permits || has_waiters()) return false;
    available_ -= permits;
    return true;
  }
  /// Returns permits, or adds new ones. Schedules the waiters that get them; they run after this has
  /// returned.
  void release(std::size_t permits = 1) noexcept {
    available_ += permits;
    serve();
  }

 private:
  void serve() noexcept;

  detail::WaitList waiters_;
  std::size_t available_;
};

class [[nodiscard]] Semaphore::AcquireAwaiter final : detail::Waiter {
 public:
  AcquireAwaiter(Semaphore& semaphore, std::size_t permits) noexcept
      : semaphore_(semaphore), permits_(permits) {}
  AcquireAwaiter(AcquireAwaiter&&) noexcept = default;
  ~AcquireAwaiter();

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    CancelScope* scope = detail::cancel_scope_of(coroutine);
    if (refused_by(scope)) return gives_way(coroutine);
    if (semaphore_.try_acquire(permits_)) {
      grant_at_once();
      return gives_way(coroutine);
    }
    enqueue(semaphore_.waiters_, coroutine, scope);
    return true;
  }
  Result<void> await_resume() {
    if (is_cancelled()) return cancel_status();
    take();
    return {};
  }

 private:
  friend class Semaphore;
  void left_queue() noexcept override { semaphore_.serve(); }

  Semaphore& semaphore_;
  std::size_t permits_;
};

inline Semaphore::AcquireAwaiter Semaphore::acquire(std::size_t permits) noexcept {
  return AcquireAwaiter{*this, permits};
}

}  // namespace weft
