// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "transport/tcp/socket_address.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/transport/tcp.hpp"

namespace weft::detail::tcp {

/// Sole owner of a socket's descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() { close(); }

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

/// A non-blocking stream socket. Errors: errno.
Result<Socket> open_socket(int family);

/// Sets what `options` ask for; accepted sockets inherit it from the listening one. Errors: errno, names the
/// option.
Status apply(const TcpOptions& options, int fd, int family);

}  // namespace weft::detail::tcp
