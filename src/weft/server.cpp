// SPDX-License-Identifier: Apache-2.0
#include "weft/server.hpp"

#include "weft/detail/calls/server/protocol_names.hpp"
#include "weft/detail/functions/described_functions.hpp"

namespace weft {

namespace {

TransportOptions with_protocols(const ServerOptions& options, TransportOptions transports) {
  detail::add_protocol_names(options, transports.tls.alpn);
  return transports;
}

}  // namespace

// In braces the arguments are evaluated in their order, so the options are read before they are moved.
Server::Server(ServerOptions options, TransportOptions transports)
    : Server{make_transports(with_protocols(options, std::move(transports))), std::move(options)} {}

Server::Server(Transports transports, ServerOptions options)
    : Server(std::move(options), std::move(transports)) {}

Server::Server(ServerOptions options, Transports transports)
    : detail::CallServer(std::move(options), std::move(transports)) {
  if (describes_functions()) detail::describe_functions(*this);
}

}  // namespace weft
