// SPDX-License-Identifier: Apache-2.0
// A server that looks at who calls, for the tool's tests: guarded_server <policy> <tokens> [URL <chain>
// <key>]
#include <cstdio>
#include <utility>

#include "weft/detail/access/policy.hpp"
#include "weft/detail/access/tokens.hpp"
#include "weft/detail/protobuf/service.hpp"
#include "weft/weft.hpp"

int main(int argc, char** argv) {
  weft::ServerOptions options{.listen = {argc > 3 ? argv[3] : "tcp://127.0.0.1:0"}};
  weft::TransportOptions transports;
  if (argc > 5) transports.tls.certificates = {{.chain_file = argv[4], .key_file = argv[5]}};
  options.authorizer = weft::policy_file(argv[1]).value();
  options.authenticator = weft::token_file(argv[2]).value();
  weft::Server server{std::move(options), std::move(transports)};
  const weft::protobuf::Services services{server};
  server.start().value();
  std::printf("listening on %s\n", server.urls().front().c_str());
  std::fflush(stdout);
  server.wait();
}
