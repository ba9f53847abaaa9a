// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "load/options.hpp"
#include "raw/exchange.hpp"
#include "raw/poller.hpp"
#include "raw/socket.hpp"
#include "raw/wire.hpp"

namespace weft::raw {

/// One thread of the server and its connections.
class Worker {
 public:
  /// `tls` may be null: none.
  Worker(load::LoopMode mode, bool nobatch, std::shared_ptr<TlsContext> tls);

  /// Hands over a connection. Thread: any.
  void give(Fd connection);
  /// Makes `run` return. Thread: any.
  void stop();
  /// Serves until stopped. Thread: the worker's.
  void run();

 private:
  /// A connection is read up to its hello, and from then on belongs to its exchange.
  struct Connection {
    explicit Connection(Fd fd) : wire(std::move(fd)) {}
    Wire wire;
    std::array<std::byte, kHelloBytes> hello{};
    std::size_t hello_have = 0;
    std::unique_ptr<Exchange> exchange;
    std::uint32_t interest = 0;
    std::size_t place = 0;
  };

  void wake();
  void adopt_given();
  void serve(Connection& connection, std::uint32_t events);
  bool advance(Connection& connection, std::uint32_t events);
  bool read_hello(Connection& connection);
  void update_interest(Connection& connection);
  void drop(Connection& connection);

  bool nobatch_;
  const std::shared_ptr<TlsContext> tls_;
  Poller poller_;
  Fd wake_;
  Scratch scratch_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::atomic<bool> stopping_ = false;
  std::mutex given_mutex_;
  std::vector<Fd> given_;
};

}  // namespace weft::raw
