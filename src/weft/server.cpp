// SPDX-License-Identifier: Apache-2.0
#include "weft/server.hpp"

namespace weft {

Server::Server(ServerOptions options, TransportOptions transports)
    : Server(std::move(options), make_transports(std::move(transports))) {}

}  // namespace weft
