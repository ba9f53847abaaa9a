// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/transport/url.hpp"

namespace weft::detail::tcp {

/// An address of a socket, of any of the families that this transport knows.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

/// The addresses in `url` that need no lookup: a numeric host, "localhost" or a path. An empty list: the host
/// is a name, which must be resolved. Errors: kInvalidArgument.
Result<std::vector<SocketAddress>> addresses_of(const Url& url);

/// The addresses that the system's resolver knows for `host`. Blocks. Errors: kUnavailable.
Result<std::vector<SocketAddress>> blocking_look_up(const std::string& host, std::uint16_t port);

/// Reads "127.0.0.2", "127.0.0.2:4000", "::1" or "[::1]:4000". Errors: kInvalidArgument.
Result<SocketAddress> parse_local_address(const std::string& text);

Url url_of(const SocketAddress& address);
/// The address as text for people. A Unix client has no name of its own: both ends are then called by the
/// path that was listened on. A path is what its owner made it, so it is cleaned like every text of a peer.
std::string endpoint_text(const SocketAddress& address, const SocketAddress& other);
/// Returns where the socket is bound; the path is empty for a Unix socket without one.
SocketAddress local_address_of(int fd);

}  // namespace weft::detail::tcp
