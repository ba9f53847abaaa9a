// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "weft/verbs.hpp"

namespace weft::testing {

/// Returns where a server has to listen so that the way to it leads over a device: an IPv4 address of that
/// device, if it is one of this machine's. To simulated devices every address leads.
inline std::string routed_host(verbs::Driver& driver) {
  const std::string loopback = "127.0.0.1";
  const auto device = verbs::Device::open({}, driver);
  const auto port = device.ok() ? (*device)->active_port() : Result<verbs::Port>{device.status()};
  if (!port.ok()) return loopback;
  for (const verbs::Gid& gid : port->gids) {
    const std::string host = gid.to_string();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (gid.link_local() || ::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) continue;
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool ours = ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(descriptor);
    if (ours) return host;
  }
  return loopback;
}

}  // namespace weft::testing
