// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

struct WaiterTag;
class Waiter;
using WaitList = IntrusiveList<Waiter, WaiterTag>;

/// A suspended coroutine in the queue of an Event, Semaphore or Channel; lives in the awaiter. Its states:
///
///   kNew ----> kWaiting ----> kGranted ----> kTaken     granted, then resumed
///     |            |-------> kClosed                    the primitive was closed
///     `------------+-------> kCancelled                 its CancelScope was cancelled
///
/// In kWaiting it is in the wait list and in the scope; leaving that state removes it from both and puts it
/// into the ready queue, so exactly one of the three outcomes happens. In kGranted it owns the grant: the
/// primitive must get the grant back if the awaiter is destroyed before it resumed.
class Waiter : public ListHook<WaiterTag>, private CancelListener, private Resumption {
 public:
  Waiter() noexcept = default;
  Waiter& operator=(const Waiter&) = delete;

  /// kWaiting to kGranted: the coroutine is scheduled on the executor it suspended on.
  void grant() noexcept { wake(State::kGranted); }
  /// kWaiting to kClosed.
  void close() noexcept { wake(State::kClosed); }

 protected:
  /// Moves only before it is awaited.
  Waiter(Waiter&& other) noexcept : Waiter() {
    WEFT_ASSERT(other.state_ == State::kNew, "what is being awaited does not move");
  }
  ~Waiter() = default;

  bool is_waiting() const noexcept { return state_ == State::kWaiting; }
  bool is_granted() const noexcept { return state_ == State::kGranted; }
  bool is_closed() const noexcept { return state_ == State::kClosed; }
  bool is_cancelled() const noexcept { return state_ == State::kCancelled; }
  /// kNew to kGranted, kClosed: nothing to wait for.
  void grant_at_once() noexcept { state_ = State::kGranted; }
  void close_at_once() noexcept { state_ = State::kClosed; }
  /// kGranted to kTaken: the grant has reached the coroutine.
  void take() noexcept { state_ = State::kTaken; }
  Status cancel_status() const { return to_status(reason_); }

  /// kNew to kCancelled when `scope` is; true if so.
  bool refused_by(CancelScope* scope) noexcept {
    if (scope == nullptr || !scope->cancelled()) return false;
    state_ = State::kCancelled;
    reason_ = scope->reason();
    return true;
  }
  /// Ends await_suspend() where there is nothing to wait for, see gives_way().
  bool gives_way(std::coroutine_handle<> coroutine) noexcept { return detail::gives_way(*this, coroutine); }
  /// kNew to kWaiting.
  void enqueue(WaitList& list, std::coroutine_handle<> coroutine, CancelScope* scope) noexcept;
  /// Takes a waiter that is being destroyed out of its list.
  void leave() noexcept { ListHook<WaiterTag>::unlink(); }

  /// Called when it was cancelled or dropped while it waited, and has left the list: later waiters may now be
  /// served.
  virtual void left_queue() noexcept {}

 private:
  enum class State : std::uint8_t { kNew, kWaiting, kGranted, kClosed, kCancelled, kTaken };

  void wake(State outcome) noexcept;
  void on_cancel(CancelReason reason) noexcept final;

  Executor* executor_ = nullptr;
  State state_ = State::kNew;
  CancelReason reason_ = CancelReason::kNone;
};

}  // namespace weft::detail
