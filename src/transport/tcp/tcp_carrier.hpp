// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "transport/tcp/socket.hpp"
#include "transport/tcp/socket_ends.hpp"
#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/transport/base_carrier.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft::detail::tcp {

/// Carries bytes over a TCP or Unix stream socket.
class TcpCarrier : public BaseCarrier, private FdWatch {
 public:
  /// Makes a carrier over a connected socket, which it takes over. Errors: the loop cannot watch the socket
  /// (errno).
  static Result<std::unique_ptr<BaseCarrier>> make(Loop& loop, Socket socket, const SocketAddress& peer);
  TcpCarrier(Loop& loop, Socket socket, const SocketAddress& peer, const SocketAddress& local);
  ~TcpCarrier() override;

  const Capabilities& capabilities() const override;
  std::string local_endpoint() const override { return ends_.local(); }
  std::string remote_endpoint() const override { return ends_.remote(); }
  Moved receive(std::span<const iovec> into, std::span<const iovec> landing) override;
  Moved send(std::span<const iovec> from, std::size_t leased) override;
  TimePoint arrived_by(TimePoint now) const override;
  void end_sending() override;
  void shut() override;

 protected:
  int fd() const { return socket_.fd(); }
  /// True if the socket belongs to a parent process.
  bool in_child() const { return made_in_.in_child(); }

 private:
  void on_ready(Readiness readiness) override;
  void on_report_end() override;
  Status lost(int error) const noexcept;

  Loop& loop_;
  Socket socket_;
  const ForkMark made_in_;
  /// The peer has ended its side, or is about to: read on until the end.
  bool hangup_ = false;
  const bool unix_;
  const SocketEnds ends_;
};

}  // namespace weft::detail::tcp
