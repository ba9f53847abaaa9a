// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "weft/transport/url.hpp"

namespace weft::test {

/// A peer that speaks bytes, not our protocol: a plain blocking socket, connected to tcp:// or unix:// on
/// this machine.
class RawSocket {
 public:
  explicit RawSocket(const Url& url) {
    if (url.scheme == "unix") {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      url.host.copy(address.sun_path, sizeof address.sun_path - 1);
      open(AF_UNIX, &address, sizeof address);
    } else if (url.host.find(':') != std::string::npos) {
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_port = htons(url.port);
      ::inet_pton(AF_INET6, url.host.c_str(), &address.sin6_addr);
      open(AF_INET6, &address, sizeof address);
    } else {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(url.port);
      ::inet_pton(AF_INET, url.host.c_str(), &address.sin_addr);
      open(AF_INET, &address, sizeof address);
    }
  }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;
  ~RawSocket() { close(); }

  bool connected() const { return fd_ >= 0; }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// What is there now, at most `size` bytes; empty when nothing is, or at the end.
  std::string receive_some(std::size_t size) {
    std::string bytes(size, '\0');
    const ssize_t got = ::recv(fd_, bytes.data(), size, MSG_DONTWAIT);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  /// The other side ended its stream or reset it, and everything was received.
  bool at_end() {
    char byte;
    const ssize_t got = ::recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  /// Ends the connection with a reset, as a crashed machine's kernel does.
  void reset() {
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  void open(int family, const void* address, socklen_t length) {
    fd_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd_, static_cast<const sockaddr*>(address), length) != 0) close();
  }

  int fd_ = -1;
};

}  // namespace weft::test
