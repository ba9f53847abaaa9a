// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "weft/detail/base/result.hpp"

namespace weft::raw {

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// A listening, non-blocking socket for `tcp://HOST:PORT` or `unix:///path`. Connections it accepts inherit
/// `congestion` (empty: the system's default).
Result<Fd> listen_on(const std::string& url, const std::string& congestion);

/// Returns where `listener` really listens, port 0 replaced by the one the system chose.
Result<std::string> listening_url(const Fd& listener, const std::string& asked);

/// Takes one waiting connection, non-blocking and without Nagle's delay. An empty Fd when none is waiting.
Result<Fd> accept_from(const Fd& listener);

/// A connected, non-blocking socket. Blocks until the connection stands.
Result<Fd> blocking_connect(const std::string& url, const std::string& congestion);

}  // namespace weft::raw
