// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <memory>
#include <string>
#include <vector>

#include "transport/tcp/connect_attempt.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft::detail::tcp {

/// Awaits a connection to the first of several addresses that answers (RFC 8305, "happy eyeballs"): they are
/// tried alternating between their families, each 250 ms after the previous one, or at once when that has
/// failed. The first that connects wins, and the others are closed. Returns the winning attempt. Cancel:
/// total. Dropping the coroutine has the same effect as a cancel. Errors: kDeadlineExceeded; otherwise the
/// code common to all addresses, or kUnavailable. The text lists each address with its failure.
class ConnectRace final : private ConnectAttemptOwner, private Timer, private CancelListener {
 public:
  /// `options` outlive it; there is at least one address.
  ConnectRace(Loop& loop, const std::vector<SocketAddress>& addresses, const TcpOptions& tcp,
              const ConnectOptions& options);

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    resumption_.handle = coroutine;
    return begin(cancel_scope_of(coroutine));
  }
  Result<ConnectAttempt*> await_resume() noexcept { return std::move(outcome_); }

 private:
  bool begin(CancelScope* scope);
  void on_attempt_ended(ConnectAttempt& attempt) override;
  void on_timer() override;
  void on_cancel(CancelReason reason) noexcept override;
  bool try_next();
  bool any_under_way() const;
  Status failure(StatusCode code) const;
  std::string outcomes() const;
  StatusCode common_code() const;
  void end(Result<ConnectAttempt*> outcome);

  Loop& loop_;
  const TcpOptions& tcp_;
  const ConnectOptions& options_;
  std::vector<std::unique_ptr<ConnectAttempt>> attempts_;
  /// Number of them that have begun.
  std::size_t begun_ = 0;
  bool ended_ = false;
  Result<ConnectAttempt*> outcome_;
  Resumption resumption_;
};

}  // namespace weft::detail::tcp
