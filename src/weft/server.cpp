// SPDX-License-Identifier: Apache-2.0
#include "weft/server.hpp"

#include "weft/detail/functions/described_functions.hpp"

namespace weft {

Server::Server(ServerOptions options, TransportOptions transports)
    : Server(std::move(options), make_transports(std::move(transports))) {}

Server::Server(ServerOptions options, Transports transports)
    : detail::CallServer(std::move(options), std::move(transports)) {
  if (describes_functions()) detail::describe_functions(*this);
}

}  // namespace weft
