// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <string>
#include <thread>

#include "support/raw_socket.hpp"

namespace weft::testing {

/// Carries bytes between one client and a server, on a thread of its own, and does something to them.
class Middle {
 public:
  enum class Deed : int { kNone, kCut, kSpoil };

  explicit Middle(const detail::Url& server) : server_(server) {
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    EXPECT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&at), length), 0);
    EXPECT_EQ(::listen(listening_, 8), 0);
    ::getsockname(listening_, reinterpret_cast<sockaddr*>(&at), &length);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread{[this] { carry(); }};
  }
  ~Middle() {
    over_ = true;
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }
  std::string url() const { return "tls://127.0.0.1:" + std::to_string(port_); }
  void next(Deed deed) { deed_ = deed; }
  /// Parts that came of each side so far; what a side sends at once, if it is short, is one.
  int of_client() const { return of_client_; }
  int of_server() const { return of_server_; }

 private:
  void carry() {
    while (!over_) {
      const int client = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      const int server = connected_socket(server_);
      while (!over_ && carry_once(client, server)) {
      }
      ::close(client);
      ::close(server);
    }
  }
  bool carry_once(int client, int server) {
    pollfd both[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    if (::poll(both, 2, 20) < 0) return false;
    char bytes[65536];
    if (both[0].revents != 0) {
      const ssize_t got = ::recv(client, bytes, sizeof bytes, 0);
      if (got <= 0 || deed_ == Deed::kCut) return false;
      ++of_client_;
      EXPECT_EQ(::send(server, bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL), got);
    }
    if (both[1].revents != 0) {
      const ssize_t got = ::recv(server, bytes, sizeof bytes, 0);
      if (got <= 0) return false;
      ++of_server_;
      if (deed_ == Deed::kSpoil) bytes[got - 1] = static_cast<char>(bytes[got - 1] ^ 1);
      EXPECT_EQ(::send(client, bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL), got);
    }
    return true;
  }

  const detail::Url server_;
  int listening_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> over_{false};
  std::atomic<Deed> deed_{Deed::kNone};
  std::atomic<int> of_client_{0};
  std::atomic<int> of_server_{0};
  std::thread thread_;
};

}  // namespace weft::testing
