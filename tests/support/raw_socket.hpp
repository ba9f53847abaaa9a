// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "support/sockets.hpp"

namespace weft::testing {

using namespace weft::detail;

/// A peer that speaks bytes, not our protocol: a plain blocking socket, connected to tcp:// or unix:// on
/// this machine.
class RawSocket {
 public:
  explicit RawSocket(const Url& url) : fd_(connected_socket(url)) {}
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
  /// Receives the bytes that are there now, at most `size`; empty when there are none, or at the end.
  std::string receive_some(std::size_t size) {
    std::string bytes(size, '\0');
    const ssize_t got = ::recv(fd_, bytes.data(), size, MSG_DONTWAIT);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  /// The other side ended its byte stream or reset it, and everything was received.
  bool at_end() {
    char byte;
    const ssize_t got = ::recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }
  /// There is something to receive.
  bool has_input() {
    char byte;
    return ::recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
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
  int fd_;
};

}  // namespace weft::testing
