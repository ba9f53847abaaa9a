// SPDX-License-Identifier: Apache-2.0
// What a stranger's first program may look like: it must build and run with nothing but what was installed.
#include <cstdio>
#include <string>
#include <string_view>

#include "weft/weft.hpp"

std::string echo(std::string_view text) {
  return std::string{text};
}

weft::Task<int> ask(weft::Client& client) {
  const auto answer = co_await client.call<echo>("hello from outside");
  if (!answer.ok()) {
    std::fprintf(stderr, "%s\n", answer.status().to_string().c_str());
    co_return 1;
  }
  std::printf("consumer: %s\n", answer->c_str());
  co_return *answer == "hello from outside" ? 0 : 1;
}

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<echo>();
  if (const auto started = server.start(); !started.ok()) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  const auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(ask(client));
}
