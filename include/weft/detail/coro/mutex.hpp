// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "weft/detail/coro/semaphore.hpp"

namespace weft {

/// Mutual exclusion between coroutines of one loop, in the order in which they asked. Unlike a thread's mutex
/// it may be held over a co_await. It makes the hand-over promises of Semaphore. Thread: its loop's. Outlives
/// its guards and waiters.
class Mutex {
 public:
  class [[nodiscard]] Guard;
  class [[nodiscard]] LockAwaiter;

  bool is_locked() const noexcept { return semaphore_.available() == 0; }
  /// Result<Guard>: the lock is held until the guard is destroyed. Cancel: total.
  LockAwaiter lock() noexcept;
  std::optional<Guard> try_lock() noexcept;

 private:
  Semaphore semaphore_{1};
};

/// Holds a Mutex; empty after it was moved from.
class [[nodiscard]] Mutex::Guard {
 public:
  Guard(Guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
  Guard& operator=(Guard&& other) noexcept {
    if (this != &other) {
      unlock();
      mutex_ = std::exchange(other.mutex_, nullptr);
    }
    return *this;
  }
  ~Guard() { unlock(); }

  /// Gives the lock back now.
  void unlock() noexcept {
    if (mutex_ != nullptr) std::exchange(mutex_, nullptr)->semaphore_.release();
  }

 private:
  friend class Mutex;
  explicit Guard(Mutex* mutex) noexcept : mutex_(mutex) {}

  Mutex* mutex_;
};

class [[nodiscard]] Mutex::LockAwaiter {
 public:
  explicit LockAwaiter(Mutex& mutex) noexcept : mutex_(mutex), acquire_(mutex.semaphore_, 1) {}

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    return acquire_.await_suspend(coroutine);
  }
  Result<Guard> await_resume() {
    Result<void> acquired = acquire_.await_resume();
    if (!acquired.ok()) return std::move(acquired).status();
    return Guard{&mutex_};
  }

 private:
  Mutex& mutex_;
  Semaphore::AcquireAwaiter acquire_;
};

inline Mutex::LockAwaiter Mutex::lock() noexcept {
  return LockAwaiter{*this};
}

inline std::optional<Mutex::Guard> Mutex::try_lock() noexcept {
  if (!semaphore_.try_acquire()) return std::nullopt;
  return Guard{this};
}

}  // namespace weft
