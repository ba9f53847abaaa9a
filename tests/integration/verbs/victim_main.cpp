// SPDX-License-Identifier: Apache-2.0
// A peer to be killed:
//   victim server URL    serves all handlers there, and prints its URL
//   victim client URL    keeps calls of every sort under way, and prints when they are
// A third word, cm, has both connect by rdma_cm.
#include <cstddef>
#include <string>
#include <vector>

#include "integration/victim_calls.hpp"

namespace weft::carrier_testing {
namespace {

constexpr std::size_t kLarge = std::size_t{4} << 20;

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) return 2;
  TransportOptions how;
  if (words.size() > 2 && words[2] == "cm") how.verbs.connect_by = VerbsConnect::kRdmaCm;
  if (words[0] == "server") {
    Server server{{.listen = {words[1]}}, how};
    register_all(server);
    if (const auto started = server.start(); !started.ok()) {
      say(started.status().to_string());
      return 1;
    }
    say(server.urls().front());
    server.wait();
    return 0;
  }
  if (words[0] != "client") return 2;
  auto loop = Loop::create().value();
  Client client{*loop, {.connect = words[1]}, how};
  loop->block_on(call_for_ever(&client, kLarge));
  return 0;
}

}  // namespace
}  // namespace weft::carrier_testing

int main(int argc, char** argv) {
  return weft::carrier_testing::run(argc, argv);
}
