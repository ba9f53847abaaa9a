// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "transport/tcp/socket_address.hpp"

namespace weft::detail::tcp {

/// Addresses of both ends of a connected socket, kept small: a server has many idle connections.
class SocketEnds {
 public:
  SocketEnds(const SocketAddress& local, const SocketAddress& remote);

  /// Each returns endpoint_text() of its end.
  std::string local() const { return paths_ != nullptr ? paths_->local : text_of(local_); }
  std::string remote() const { return paths_ != nullptr ? paths_->remote : text_of(remote_); }

 private:
  /// An Internet address without the fields of sockaddr_in6 that are always zero.
  struct End {
    std::array<std::uint8_t, 16> address{};
    std::uint32_t scope = 0;
    /// Port in network byte order.
    std::uint16_t port = 0;
    bool is_v6 = false;
  };
  struct Paths {
    std::string local;
    std::string remote;
  };

  static End end_of(const SocketAddress& address);
  static std::string text_of(const End& end);

  End local_;
  End remote_;
  /// Texts of both ends of a Unix socket, else null.
  std::unique_ptr<const Paths> paths_;
};

}  // namespace weft::detail::tcp
