// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "transport/stream_connection.hpp"
#include "transport/tcp/socket.hpp"
#include "weft/runtime/fd_watch.hpp"

namespace weft::tcp {

/// A connection over a TCP or Unix stream socket.
class TcpConnection final : public StreamConnection, private FdWatch {
 public:
  /// Takes over a connected socket. Errors: the loop cannot watch it (errno).
  static Result<std::unique_ptr<Connection>> make(Loop& loop, Socket socket, const SocketAddress& peer,
                                                  const ConnectionOptions& options);
  ~TcpConnection() override;

  std::string local_endpoint() const override;
  std::string remote_endpoint() const override;

 private:
  TcpConnection(Loop& loop, Socket socket, const SocketAddress& peer, const ConnectionOptions& options);

  Moved receive(std::span<const iovec> into) override;
  Moved send(std::span<const iovec> from) override;
  void end_sending() override;
  void shut() override;
  void on_ready(Readiness readiness) override;
  void on_settled() override;

  Socket socket_;
  /// The peer has ended its side, or will be found to have: read on until the end is there.
  bool hangup_ = false;
  const std::string local_;
  const std::string remote_;
};

}  // namespace weft::tcp
