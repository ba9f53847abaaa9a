// SPDX-License-Identifier: Apache-2.0
// A server that looks at who calls, for the tool's tests: guarded_server <policy> <tokens>
#include <cstdio>
#include <utility>

#include "weft/access/policy.hpp"
#include "weft/access/tokens.hpp"
#include "weft/protobuf/service.hpp"
#include "weft/weft.hpp"

int main(int, char** argv) {
  weft::ServerOptions options{.listen = {"tcp://127.0.0.1:0"}};
  options.authorizer = weft::policy_file(argv[1]).value();
  options.authenticator = weft::token_file(argv[2]).value();
  weft::Server server{std::move(options)};
  const weft::protobuf::Services services{server};
  server.start().value();
  std::printf("listening on %s\n", server.urls().front().c_str());
  std::fflush(stdout);
  server.wait();
}
