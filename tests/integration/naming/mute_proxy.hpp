// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/detail/base/descriptor.hpp"

namespace weft {

/// A TCP proxy on the loopback, with a thread of its own, that can lose its connections without a word: they
/// stay open, and nothing comes through to the client any more.
class MuteProxy {
 public:
  /// `host` is "127.0.0.1:port".
  explicit MuteProxy(const std::string& host)
      : port_(static_cast<std::uint16_t>(std::stoi(host.substr(host.find(':') + 1)))),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        stop_(::eventfd(0, EFD_CLOEXEC)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), size);
    ::listen(listener_.get(), 64);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    own_port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { run(); }};
  }
  MuteProxy(const MuteProxy&) = delete;
  MuteProxy& operator=(const MuteProxy&) = delete;
  ~MuteProxy() {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }

  std::string host() const { return "127.0.0.1:" + std::to_string(own_port_); }
  /// The connections that were made so far bring nothing any more; later ones do.
  void mute() { muted_ = accepted_.load(); }
  std::uint64_t accepted() const { return accepted_; }

 private:
  struct Pair {
    detail::Descriptor client;
    detail::Descriptor server;
    std::uint64_t number = 0;
  };

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }

  void run() {
    while (true) {
      std::vector<pollfd> waits{{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        waits.push_back({pair.client.get(), POLLIN, 0});
        waits.push_back({pair.server.get(), POLLIN, 0});
      }
      ::poll(waits.data(), waits.size(), -1);
      if (waits[0].revents != 0) return;
      std::vector<Pair> kept;
      for (std::size_t i = 0; i < pairs_.size(); ++i) {
        Pair& pair = pairs_[i];
        const bool goes_on =
            (waits[2 + 2 * i].revents == 0 || pass(pair.client, pair.server, false)) &&
            (waits[3 + 2 * i].revents == 0 || pass(pair.server, pair.client, pair.number < muted_.load()));
        if (goes_on) kept.push_back(std::move(pair));
      }
      pairs_ = std::move(kept);
      if (waits[1].revents != 0) accept_one();
    }
  }
  void accept_one() {
    Pair pair{detail::Descriptor{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)},
              detail::Descriptor{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}, accepted_};
    const sockaddr_in address = loopback(port_);
    const auto* const to = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(pair.server.get(), to, sizeof address) != 0) return;
    ++accepted_;
    pairs_.push_back(std::move(pair));
  }
  /// Returns false at the end of a connection.
  static bool pass(const detail::Descriptor& from, const detail::Descriptor& to, bool drops) {
    std::array<char, 65536> bytes;
    const ssize_t got = ::recv(from.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    for (ssize_t sent = 0; sent < got && !drops;) {
      const auto rest = static_cast<std::size_t>(got - sent);
      const ssize_t count = ::send(to.get(), bytes.data() + sent, rest, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += count;
    }
    return true;
  }

  const std::uint16_t port_;
  std::uint16_t own_port_ = 0;
  const detail::Descriptor listener_;
  const detail::Descriptor stop_;
  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<std::uint64_t> muted_{0};
  std::vector<Pair> pairs_;
  std::thread thread_;
};

}  // namespace weft
