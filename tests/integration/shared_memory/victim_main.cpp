// SPDX-License-Identifier: Apache-2.0
// A peer to be killed:
//   victim server URL    serves all handlers, and prints its URL
//   victim client URL    keeps calls of every sort under way, and prints when they are
#include <memory>
#include <string>
#include <vector>

#include "integration/shared_memory/shared_memory_testing.hpp"
#include "integration/victim_calls.hpp"

namespace weft::shared_memory_testing {
namespace {

constexpr std::size_t kLarge = std::size_t{4} << 20;

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 2) return 2;
  if (words[0] == "server") {
    Server server{{.listen = {words[1]}}, by_memory(CarrierPolicy::kRequire)};
    register_all(server);
    server.start().value();
    say(server.urls().front());
    server.wait();
    return 0;
  }
  auto loop = Loop::create().value();
  Client client{*loop, {.connect = words[1]}, by_memory(CarrierPolicy::kRequire)};
  loop->block_on(call_for_ever(&client, kLarge));
  return 0;
}

}  // namespace
}  // namespace weft::shared_memory_testing

int main(int argc, char** argv) {
  return weft::shared_memory_testing::run(argc, argv);
}
