// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "weft/detail/transport/url.hpp"

namespace weft::testing {

using namespace weft::detail;

/// A blocking socket that is connected to a tcp:// or unix:// URL of this machine, or -1. Without a buffer
/// size the system chooses.
inline int connected_socket(const Url& url, int receive_buffer_bytes = 0) {
  const auto connected = [&](int family, const auto& address) {
    const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer_bytes != 0) {
      ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    ::close(fd);
    return -1;
  };
  if (url.scheme == "unix") {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    url.host.copy(address.sun_path, sizeof address.sun_path - 1);
    return connected(AF_UNIX, address);
  }
  if (url.host.find(':') != std::string::npos) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(url.port);
    ::inet_pton(AF_INET6, url.host.c_str(), &address.sin6_addr);
    return connected(AF_INET6, address);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(url.port);
  ::inet_pton(AF_INET, url.host.c_str(), &address.sin_addr);
  return connected(AF_INET, address);
}

/// A socket on 127.0.0.1 to which nobody can connect: its backlog is full, so what asks is neither answered
/// nor refused.
class SwallowingListener {
 public:
  SwallowingListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(fd_, 0) != 0) return;
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    filler_ = connected_socket({"tcp", "127.0.0.1", port_});
  }
  ~SwallowingListener() {
    ::close(fd_);
    ::close(filler_);
  }
  SwallowingListener(const SwallowingListener&) = delete;
  SwallowingListener& operator=(const SwallowingListener&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  int fd_;
  int filler_ = -1;
  std::uint16_t port_ = 0;
};

/// A socket that listens on 127.0.0.1, on a port of its own. The system takes connections in, and nobody
/// answers them before accept_fd().
class SilentListener {
 public:
  SilentListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), length) == 0 && ::listen(fd_, 16) == 0) {
      ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length);
      port_ = ntohs(address.sin_port);
    }
  }
  ~SilentListener() { ::close(fd_); }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;

  std::string url() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
  /// There is a connection to accept.
  bool has_waiting() const {
    pollfd wanted{fd_, POLLIN, 0};
    return ::poll(&wanted, 1, 0) > 0;
  }
  /// Blocks until there is a connection; the descriptor is the caller's.
  int accept_fd() { return ::accept(fd_, nullptr, nullptr); }

 private:
  int fd_;
  int port_ = 0;
};

}  // namespace weft::testing
