// SPDX-License-Identifier: Apache-2.0
// Two sides on one machine whose connection begins on a Unix socket and moves to shared memory.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <weft/weft.hpp>

std::string greet(std::string_view name) {
  return "hello, " + std::string{name};
}

int main() {
  const std::string url = "unix:///tmp/weft-example-" + std::to_string(::getpid());
  // begin: compose
  weft::TransportOptions options;
  options.shared_memory.listening = weft::CarrierPolicy::kPrefer;   // of servers
  options.shared_memory.connecting = weft::CarrierPolicy::kPrefer;  // of clients

  weft::Server server{{.listen = {url}}, options};
  server.register_handler<greet>();
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = url}, options};
  // end: compose
  auto answer = loop->block_on(client.call<greet>("neighbour"));
  std::printf("%s\n", answer.ok() ? answer->c_str() : answer.status().to_string().c_str());
  // begin: report
  // "shared memory", or "unix" and the reason.
  const std::string carrier{client.carried_by()};
  const std::string reason = client.carrier_report().reason;
  std::printf("by %s%s%s\n", carrier.c_str(), reason.empty() ? "" : ": ", reason.c_str());
  // end: report
  return answer.ok() && carrier == "shared memory" ? 0 : 1;
}
