// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

struct ConnectWaiterTag;

/// Waits for a connection rather than for a call, see Client::connect().
struct ConnectWaiter : ListHook<ConnectWaiterTag> {
  Resumption resumption;
  Status outcome;
};

/// All waiters for a connection.
class ConnectWaiters {
 public:
  explicit ConnectWaiters(Loop& loop) : loop_(loop) {}

  bool empty() const { return waiters_.empty(); }
  void add(ConnectWaiter& waiter) { waiters_.push_back(waiter); }
  /// Lets all of them go on with `outcome`.
  void end(const Status& outcome) noexcept {
    while (!waiters_.empty()) {
      ConnectWaiter& waiter = waiters_.pop_front();
      waiter.outcome = outcome;
      loop_.schedule(waiter.resumption);
    }
  }

 private:
  Loop& loop_;
  IntrusiveList<ConnectWaiter, ConnectWaiterTag> waiters_;
};

/// Awaits a connection of `Core`, which has ready() and add_connect_waiter(). Cancel: total.
template <typename Core>
class ConnectionAwaiter : CancelListener {
 public:
  explicit ConnectionAwaiter(Core& core) : core_(core) {}

  bool await_ready() const noexcept { return core_.ready(); }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    if (CancelScope* scope = cancel_scope_of(coroutine)) {
      if (scope->cancelled()) {
        waiter_.outcome = to_status(scope->reason());
        return false;
      }
      scope->add(*this);
    }
    waiter_.resumption.handle = coroutine;
    core_.add_connect_waiter(waiter_);
    return true;
  }
  Result<void> await_resume() { return std::move(waiter_.outcome); }

 private:
  void on_cancel(CancelReason reason) noexcept override {
    if (!waiter_.linked()) return;
    waiter_.unlink();
    waiter_.outcome = to_status(reason);
    core_.loop().schedule(waiter_.resumption);
  }

  Core& core_;
  ConnectWaiter waiter_;
};

/// Waits for a connection of `core`, which outlives the task. Cancel: total.
template <typename Core>
Task<Result<void>> await_connection(Core& core) {
  ConnectionAwaiter<Core> awaiter{core};
  Result<void> outcome = co_await awaiter;
  co_return outcome;
}

}  // namespace weft::detail
