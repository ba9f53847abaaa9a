// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "weft/detail/coro/ring.hpp"
#include "weft/detail/coro/waiter.hpp"

namespace weft {

namespace detail {
Status push_to_closed_channel();
Status pop_from_closed_channel();
}  // namespace detail

/// A bounded queue between coroutines of one loop: push suspends while it is full, pop while it is empty.
/// Values arrive in the order in which push was called, poppers are served in the order in which they asked.
///
/// A waiting pusher's value moves into the queue as soon as there is room: the push has then happened, also
/// if the pusher is dropped before it runs. A woken popper has one value reserved, which stays in the queue
/// until it runs: if it is dropped, the value goes to the next popper. A cancel after either is too late.
///
/// Thread: its loop's. Allocates its room once, when made. Outlives its waiters.
template <typename T>
class Channel {
 public:
  class [[nodiscard]] PushAwaiter;
  class [[nodiscard]] PopAwaiter;

  /// Room for `capacity` values, at least one.
  explicit Channel(std::size_t capacity) : values_(capacity) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() { WEFT_ASSERT(pushers_.empty() && poppers_.empty(), "a Channel outlives those who wait on it"); }

  std::size_t size() const noexcept { return values_.size(); }
  std::size_t capacity() const noexcept { return values_.capacity(); }
  bool is_closed() const noexcept { return closed_; }

  /// Result<void>: ok once `value` is in the queue. Cancel: total. Errors: kFailedPrecondition when closed.
  PushAwaiter push(T value) { return PushAwaiter{*this, std::move(value)}; }
  /// Result<T>. Cancel: total. Errors: kOutOfRange when closed and empty.
  PopAwaiter pop() noexcept { return PopAwaiter{*this}; }

  /// Moves from `value` if there is room now and the channel is open.
  bool try_push(T& value) {
    if (closed_ || values_.full()) return false;
    values_.push_back(std::move(value));
    serve_poppers();
    return true;
  }
  bool try_push(T&& value) { return try_push(value); }
  /// A value that no woken popper has reserved.
  std::optional<T> try_pop() {
    if (!has_unreserved()) return std::nullopt;
    return take();
  }

  /// Ends the channel: further pushes fail. Queued values can still be popped; waiting pushers fail and keep
  /// their values.
  void close() noexcept {
    closed_ = true;
    while (!pushers_.empty()) pushers_.front().close();
    while (!poppers_.empty()) poppers_.front().close();
  }

 private:
  bool has_unreserved() const noexcept { return values_.size() > reserved_; }

  /// The oldest value; the oldest waiting pusher's takes the room.
  T take() {
    T value = values_.pop_front();
    if (!pushers_.empty()) {
      auto& pusher = static_cast<PushAwaiter&>(pushers_.front());
      values_.push_back(std::move(pusher.value_));
      pusher.grant();
      serve_poppers();
    }
    return value;
  }

  void serve_poppers() noexcept {
    while (!poppers_.empty() && has_unreserved()) {
      ++reserved_;
      poppers_.front().grant();
    }
  }

  detail::Ring<T> values_;
  std::size_t reserved_ = 0;
  detail::WaitList pushers_;
  detail::WaitList poppers_;
  bool closed_ = false;
};

template <typename T>
class [[nodiscard]] Channel<T>::PushAwaiter final : detail::Waiter {
 public:
  PushAwaiter(Channel& channel, T&& value) : channel_(channel), value_(std::move(value)) {}

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    CancelScope* scope = detail::cancel_scope_of(coroutine);
    if (refused_by(scope)) return gives_way(coroutine);
    if (channel_.closed_) {
      close_at_once();
      return gives_way(coroutine);
    }
    if (channel_.try_push(value_)) return gives_way(coroutine);
    enqueue(channel_.pushers_, coroutine, scope);
    return true;
  }
  Result<void> await_resume() const {
    if (is_cancelled()) return cancel_status();
    if (is_closed()) return detail::push_to_closed_channel();
    return {};
  }

 private:
  friend class Channel;
  friend detail::WaitList;

  Channel& channel_;
  T value_;
};

template <typename T>
class [[nodiscard]] Channel<T>::PopAwaiter final : detail::Waiter {
 public:
  explicit PopAwaiter(Channel& channel) noexcept : channel_(channel) {}
  PopAwaiter(PopAwaiter&&) noexcept = default;
  ~PopAwaiter() {
    if (!is_granted()) return;
    --channel_.reserved_;
    channel_.serve_poppers();
  }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    CancelScope* scope = detail::cancel_scope_of(coroutine);
    if (refused_by(scope)) return gives_way(coroutine);
    if (channel_.has_unreserved()) {
      ++channel_.reserved_;
      grant_at_once();
      return gives_way(coroutine);
    }
    if (channel_.closed_) {
      close_at_once();
      return gives_way(coroutine);
    }
    enqueue(channel_.poppers_, coroutine, scope);
    return true;
  }
  Result<T> await_resume() {
    if (is_cancelled()) return cancel_status();
    if (is_closed()) return detail::pop_from_closed_channel();
    detail::Waiter::take();
    --channel_.reserved_;
    return channel_.take();
  }

 private:
  friend class Channel;

  Channel& channel_;
};

}  // namespace weft
