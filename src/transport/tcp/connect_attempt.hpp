// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "transport/tcp/socket.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::tcp {

class ConnectAttempt;

class ConnectAttemptOwner {
 public:
  /// It is kConnected or kFailed. Called in a turn of the loop, and not inside ConnectAttempt::begin().
  virtual void on_attempt_ended(ConnectAttempt& attempt) = 0;

 protected:
  ~ConnectAttemptOwner() = default;
};

/// One address, and the socket that is being connected to it.
///
///   kNotBegun --begin()--> kUnderWay --> kConnected | kFailed
///
/// Closed by close(), or by its destructor; the outcome stays known.
class ConnectAttempt final : private FdWatch {
 public:
  enum class State { kNotBegun, kUnderWay, kConnected, kFailed };

  ConnectAttempt(Loop& loop, ConnectAttemptOwner& owner, const SocketAddress& address)
      : loop_(loop), owner_(owner), address_(address) {}
  ~ConnectAttempt() { close(); }

  /// Ends kFailed also for want of memory: races call it from the loop.
  void begin(const TcpOptions& options, const std::string& local_address) noexcept;
  /// Gives the socket up that is under way.
  void close();
  Socket take_socket();
  /// Asks the socket whether the peer has answered.
  void look() {
    if (state_ == State::kUnderWay) on_ready({});
  }

  State state() const { return state_; }
  const SocketAddress& address() const { return address_; }
  /// Reason for which it is kFailed.
  const Status& failure() const { return failure_; }

 private:
  void on_ready(Readiness readiness) override;
  Status connect(const TcpOptions& options, const std::string& local_address);
  void fail(Status why);

  Loop& loop_;
  ConnectAttemptOwner& owner_;
  const SocketAddress address_;
  Socket socket_;
  State state_ = State::kNotBegun;
  Status failure_;
};

}  // namespace weft::detail::tcp
