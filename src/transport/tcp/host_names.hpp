// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/tcp/socket_address.hpp"

namespace weft::detail::tcp {

using Addresses = Result<std::vector<SocketAddress>>;

/// Knows the addresses of names. Thread: any, several at once.
class HostNames {
 public:
  virtual ~HostNames() = default;
  /// Blocks, for as long as it takes. Errors: kUnavailable.
  virtual Addresses blocking_look_up(const std::string& host, std::uint16_t port) = 0;
};

/// Returns the system's resolver.
std::shared_ptr<HostNames> system_names();

}  // namespace weft::detail::tcp
