// SPDX-License-Identifier: Apache-2.0
// A peer to be killed:
//   victim server URL    serves all handlers there, and prints its URL
//   victim client URL    keeps calls of every sort under way, and prints when they are
#include <cstdio>
#include <memory>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "integration/path_handlers.hpp"

namespace weft::path_testing {
namespace {

constexpr std::size_t kLarge = std::size_t{4} << 20;

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

Task<void> send_for_ever(Client* client, const std::vector<std::byte>* bytes) {
  for (;;) {
    [[maybe_unused]] const auto sum = co_await client->call<sum_up>(CallOptions{.attachment = Bytes{*bytes}});
  }
}
Task<void> fetch_for_ever(Client* client, std::vector<std::byte>* landing) {
  for (;;) {
    const CallOptions options{.landing = *landing};
    [[maybe_unused]] const auto size = co_await client->call<produce>(options, std::uint64_t{kLarge}, 1u);
  }
}

Task<void> call_for_ever(Client* client) {
  const std::vector<std::byte> bytes = pattern(kLarge);
  std::vector<std::byte> landing(kLarge);
  std::vector<Call<int>> waiting;
  for (int i = 0; i < 16; ++i) waiting.push_back(client->start<wait_for_ever>(i));
  [[maybe_unused]] const auto sum = co_await client->call<add>(1, 2);
  say("calling");
  Scope scope;
  scope.spawn(&send_for_ever, client, &bytes);
  scope.spawn(&fetch_for_ever, client, &landing);
  co_await scope.join();
}

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 2) return 2;
  if (words[0] == "server") {
    Server server{{.listen = {words[1]}}};
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
  Client client{*loop, {.connect = words[1]}};
  loop->block_on(call_for_ever(&client));
  return 0;
}

}  // namespace
}  // namespace weft::path_testing

int main(int argc, char** argv) {
  return weft::path_testing::run(argc, argv);
}
