// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/coro/waiter.hpp"

namespace weft {

/// A flag that coroutines wait for. Stays set until reset; setting it wakes all waiters. Thread: the loop's.
/// Allocates nothing. No coroutine may wait on it when it is destroyed.
class Event {
 public:
  class [[nodiscard]] WaitAwaiter;

  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { WEFT_ASSERT(waiters_.empty(), "an Event outlives those who wait on it"); }

  bool is_set() const noexcept { return set_; }
  /// Schedules all waiters; they run after this has returned.
  void set() noexcept {
    set_ = true;
    while (!waiters_.empty()) waiters_.front().grant();
  }
  /// Resets the event. Waiters that set() has woken already return all the same.
  void reset() noexcept { set_ = false; }

  /// Result<void>: ok once the event is set. Cancel: total.
  WaitAwaiter wait() noexcept;

 private:
  detail::WaitList waiters_;
  bool set_ = false;
};

class [[nodiscard]] Event::WaitAwaiter final : detail::Waiter {
 public:
  explicit WaitAwaiter(Event& event) noexcept : event_(event) {}

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    CancelScope* scope = detail::cancel_scope_of(coroutine);
    if (refused_by(scope) || event_.is_set()) return gives_way(coroutine);
    enqueue(event_.waiters_, coroutine, scope);
    return true;
  }
  Result<void> await_resume() const {
    if (is_cancelled()) return cancel_status();
    return {};
  }

 private:
  Event& event_;
};

inline Event::WaitAwaiter Event::wait() noexcept {
  return WaitAwaiter{*this};
}

}  // namespace weft
