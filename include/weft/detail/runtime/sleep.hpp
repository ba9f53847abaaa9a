// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>

#include "weft/detail/base/result.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft {

namespace detail {

/// Awaited by `co_await sleep_for(...)`; lives in the coroutine's frame and allocates nothing. Dropping the
/// coroutine disarms it.
class [[nodiscard]] SleepAwaiter : private Timer, private CancelListener {
 public:
  explicit SleepAwaiter(Duration duration) noexcept : duration_(duration) {}
  explicit SleepAwaiter(TimePoint until) noexcept : until_(until) {}
  /// Moves only before it is awaited.
  SleepAwaiter(SleepAwaiter&& other) noexcept : duration_(other.duration_), until_(other.until_) {
    WEFT_ASSERT(other.loop_ == nullptr, "what is being awaited does not move");
  }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    resumption_.handle = coroutine;
    return begin(cancel_scope_of(coroutine)) || gives_way(resumption_, coroutine);
  }
  Result<void> await_resume() const {
    if (reason_ != CancelReason::kNone) return to_status(reason_);
    return {};
  }

 private:
  bool begin(CancelScope* scope);
  void on_timer() override;
  void on_cancel(CancelReason reason) noexcept override;

  Duration duration_{};
  TimePoint until_ = TimePoint::min();
  Loop* loop_ = nullptr;
  CancelReason reason_ = CancelReason::kNone;
  Resumption resumption_;
};

}  // namespace detail

/// Suspends for `duration` from now, at least; returns at once when that is not positive.
/// Thread: inside a turn of a Loop. Cancel: total. Errors: to_status(reason) when cancelled.
inline detail::SleepAwaiter sleep_for(Duration duration) noexcept {
  return detail::SleepAwaiter{duration};
}

/// Suspends until `at` by the loop's clock; returns at once when that has passed. Otherwise like sleep_for().
inline detail::SleepAwaiter sleep_until(TimePoint at) noexcept {
  return detail::SleepAwaiter{at};
}

}  // namespace weft
