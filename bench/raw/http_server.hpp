// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "load/options.hpp"
#include "raw/poller.hpp"
#include "raw/socket.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::raw {

/// The limit of HTTP: a bare epoll loop that answers each HTTP/1.1 request with its body, and understands no
/// more of it than Content-Length. One thread. Serves from `start` until destroyed.
class HttpServer {
 public:
  /// Errors: as those of Server::start(), and kInvalidArgument for TLS or more than one thread.
  static Result<std::unique_ptr<HttpServer>> start(const load::ServerOptions& options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Returns where it listens, with the real port.
  const std::string& url() const { return url_; }

 private:
  /// Bytes of one connection that were received, and bytes to be sent.
  struct Connection {
    explicit Connection(Fd its) : fd(std::move(its)) {}
    Fd fd;
    std::string received;
    std::string queued;
    bool waits_for_room = false;
  };

  HttpServer(const load::ServerOptions& options, Fd listener);
  void run();
  void accept_waiting();
  bool serve(Connection& connection);
  static void answer_requests(Connection& connection);
  bool send_queued(Connection& connection);

  Poller poller_;
  Fd listener_;
  Fd stop_;
  std::string url_;
  std::jthread thread_;
};

}  // namespace weft::raw
