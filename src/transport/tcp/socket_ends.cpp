// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/socket_ends.hpp"

#include <netinet/in.h>

#include <cstring>

namespace weft::detail::tcp {

namespace {

bool is_internet(const SocketAddress& address) {
  return address.family() == AF_INET || address.family() == AF_INET6;
}

template <typename Native>
SocketAddress address_from(const Native& native) {
  SocketAddress address;
  std::memcpy(&address.storage, &native, sizeof native);
  address.length = sizeof native;
  return address;
}

}  // namespace

SocketEnds::SocketEnds(const SocketAddress& local, const SocketAddress& remote) {
  // An end without an address is called by the other's, as endpoint_text() does.
  if (is_internet(local) || is_internet(remote)) {
    local_ = end_of(is_internet(local) ? local : remote);
    remote_ = end_of(is_internet(remote) ? remote : local);
  } else {
    paths_ = std::make_unique<const Paths>(
        Paths{.local = endpoint_text(local, remote), .remote = endpoint_text(remote, local)});
  }
}

SocketEnds::End SocketEnds::end_of(const SocketAddress& address) {
  End end;
  if (address.family() == AF_INET) {
    sockaddr_in native{};
    std::memcpy(&native, &address.storage, sizeof native);
    std::memcpy(end.address.data(), &native.sin_addr, sizeof native.sin_addr);
    end.port = native.sin_port;
    return end;
  }
  sockaddr_in6 native{};
  std::memcpy(&native, &address.storage, sizeof native);
  std::memcpy(end.address.data(), &native.sin6_addr, sizeof native.sin6_addr);
  end.scope = native.sin6_scope_id;
  end.port = native.sin6_port;
  end.is_v6 = true;
  return end;
}

std::string SocketEnds::text_of(const End& end) {
  if (end.is_v6) {
    sockaddr_in6 native{};
    native.sin6_family = AF_INET6;
    std::memcpy(&native.sin6_addr, end.address.data(), sizeof native.sin6_addr);
    native.sin6_scope_id = end.scope;
    native.sin6_port = end.port;
    const SocketAddress address = address_from(native);
    return endpoint_text(address, address);
  }
  sockaddr_in native{};
  native.sin_family = AF_INET;
  std::memcpy(&native.sin_addr, end.address.data(), sizeof native.sin_addr);
  native.sin_port = end.port;
  const SocketAddress address = address_from(native);
  return endpoint_text(address, address);
}

}  // namespace weft::detail::tcp
