// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <string>

#include "integration/verbs/verbs_testing.hpp"
#include "transport/tcp/socket_address.hpp"
#include "weft/verbs/verbs.hpp"

namespace weft::verbs_testing {

inline VerbsOptions by_cm(VerbsOptions options) {
  options.connect_by = VerbsConnect::kRdmaCm;
  return options;
}

/// Where a server has to listen so that the way to it leads over a device: an address of that device, if it
/// is one of this machine's. To simulated devices every address leads.
inline std::string routed_url(verbs::Driver& driver, const std::string& scheme = "verbs") {
  const std::string loopback = scheme + "://127.0.0.1:0";
  const auto device = verbs::Device::open({}, driver);
  const auto port = device.ok() ? (*device)->active_port() : Result<verbs::Port>{device.status()};
  if (!port.ok()) return loopback;
  for (const verbs::Gid& gid : port->gids) {
    const std::string host = gid.to_string();
    if (gid.link_local() || host.find(':') != std::string::npos) continue;
    const std::string url = "tcp://" + host + ":0";
    const auto addresses = tcp::addresses_of(Url::parse(url).value());
    if (!addresses.ok()) continue;
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const tcp::SocketAddress& address = addresses->front();
    const bool ours =
        ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0;
    ::close(descriptor);
    if (ours) return scheme + "://" + host + ":0";
  }
  return loopback;
}

}  // namespace weft::verbs_testing
