// SPDX-License-Identifier: Apache-2.0
// A peer to be killed:
//   victim server KIND          serves all handlers, and prints its URL
//   victim client KIND URL      keeps calls of every sort under way, and prints when they are
//   victim exchange KIND URL    sends an attachment and takes it back, again and again
//   victim stuck KIND URL       kills itself in the middle of a message through shared memory
#include <memory>
#include <string>
#include <vector>

#include "integration/ucx/raw_ucx_peer.hpp"
#include "integration/ucx/ucx_handlers.hpp"
#include "integration/victim_calls.hpp"

namespace weft::ucx_testing {
namespace {

constexpr std::size_t kLarge = std::size_t{16} << 20;

Server& serve(std::string_view kind) {
  static std::unique_ptr<Server> server;
  server = std::make_unique<Server>(ServerOptions{.listen = {"ucx://127.0.0.1:0"}},
                                    TransportOptions{.ucx = options_of(kind)});
  register_all(*server);
  server->start().value();
  return *server;
}

// The server sends as much as it receives, and receives nothing while the victim takes nothing.
Task<void> exchange_for_ever(Client* client) {
  const std::vector<std::byte> bytes = pattern(kLarge);
  for (;;) {
    const CallOptions options{.attachment = Bytes{bytes}};
    [[maybe_unused]] const auto size = co_await client->call<give_back>(options);
  }
}

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "server") {
    Server& server = serve(words[1]);
    say(server.urls().front());
    server.wait();
    return 0;
  }
  if (words.size() == 3 && words[0] == "stuck") {
    RawUcxPeer peer{words[2], UcxErrorMode::kPeer, RawUcxPeer::Reach::kSharedMemory};
    if (peer.come_up()) peer.die_in_a_message();
    return 1;
  }
  const bool exchanges = words.size() == 3 && words[0] == "exchange";
  if (words.size() != 3 || (words[0] != "client" && !exchanges)) return 2;
  auto loop = Loop::create().value();
  Client client{*loop, {.connect = words[2]}, {.ucx = options_of(words[1])}};
  loop->block_on(exchanges ? exchange_for_ever(&client) : call_for_ever(&client, kLarge));
  return 0;
}

}  // namespace
}  // namespace weft::ucx_testing

int main(int argc, char** argv) {
  return weft::ucx_testing::run(argc, argv);
}
