// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "load/options.hpp"
#include "raw/socket.hpp"
#include "raw/worker.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::raw {

/// The limit's server: an epoll echo without any of Weft's layers. Serves from `start` until destroyed.
class Server {
 public:
  /// Errors: kInvalidArgument for a URL, processor or congestion control that cannot be used; the system's
  /// own for a port that is taken.
  static Result<std::unique_ptr<Server>> start(const load::ServerOptions& options);
  /// Closes every connection and joins the threads.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Returns where it listens, with the real port.
  const std::string& url() const { return url_; }

 private:
  Server() = default;
  Status start_workers(const load::ServerOptions& options, const std::shared_ptr<TlsContext>& tls);
  void accept_until_stopped();
  void accept_waiting();

  Fd listener_;
  Fd stop_;
  std::string url_;
  std::size_t next_worker_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::jthread> threads_;
};

}  // namespace weft::raw
