// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "transport/tcp/socket.hpp"
#include "transport/tcp/socket_path.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/runtime/turn_end_hook.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft::detail::tcp {

/// Accepts in batches, at most one between two flushes: output of new connections is sent, and its memory
/// freed, before more are accepted. When the system has no descriptor left, or refuses for any other lasting
/// reason, it waits a while and tries again; the peers wait in the backlog meanwhile.
class TcpListener final : public Listener, private FdWatch, private Timer, private TurnEndHook {
 public:
  static Result<std::unique_ptr<Listener>> make(Loop& loop, const Url& url, const TcpOptions& options);
  ~TcpListener() override;

  Url local_url() const override { return url_of(address_); }
  void start(UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming) override;

 private:
  TcpListener(Loop& loop, Logger* logger) : loop_(loop), logger_(logger) {}
  Status open(const SocketAddress& address, const TcpOptions& options);
  void on_ready(Readiness readiness) override;
  void on_timer() override;
  void on_turn_end() override;
  void accept_some();
  bool hand_over(Socket socket, const SocketAddress& peer);
  void pause(int error);

  Loop& loop_;
  Logger* const logger_;
  Socket socket_;
  SocketPath path_;  ///< of a Unix socket; gone before the socket
  SocketAddress address_;
  TimePoint report_again_at_{};
  UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming_;
};

}  // namespace weft::detail::tcp
