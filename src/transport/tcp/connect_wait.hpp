// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>

#include "weft/base/status.hpp"
#include "weft/base/time.hpp"
#include "weft/coro/cancel.hpp"
#include "weft/coro/executor.hpp"
#include "weft/runtime/fd_watch.hpp"
#include "weft/runtime/loop.hpp"
#include "weft/runtime/timer.hpp"

namespace weft::tcp {

/// Awaits the end of a non-blocking connect on `fd`, which outlives it; gives how that ended. Cancel: total,
/// with the scope's status; the caller closes the socket. Dropping the coroutine is as good as a cancel.
class ConnectWait final : private FdWatch, private Timer, private CancelListener {
 public:
  ConnectWait(Loop& loop, int fd, Deadline deadline) noexcept : loop_(loop), fd_(fd), deadline_(deadline) {}

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    resumption_.handle = coroutine;
    return begin(cancel_scope_of(coroutine));
  }
  Status await_resume() noexcept { return std::move(outcome_); }
  /// The outcome is the connect's own, not that of a deadline or a cancel: another address may do better.
  bool answered() const noexcept { return answered_; }

 private:
  bool begin(CancelScope* scope);
  void on_ready(Readiness readiness) override;
  void on_timer() override;
  void on_cancel(CancelReason reason) noexcept override;
  void end(Status outcome);

  Loop& loop_;
  const int fd_;
  const Deadline deadline_;
  bool answered_ = false;
  Status outcome_;
  Resumption resumption_;
};

}  // namespace weft::tcp
