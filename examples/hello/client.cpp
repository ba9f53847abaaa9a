// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <weft/weft.hpp>

#include "echo.hpp"

weft::Task<int> ask(weft::Client& client) {
  auto later = client.start<echo>("later");           // on its way
  auto answer = co_await client.call<echo>("hello");  // weft::Result<std::string>
  if (!answer.ok()) {
    std::fprintf(stderr, "%s\n", answer.status().to_string().c_str());
    co_return 1;
  }
  auto second = co_await std::move(later);  // answered meanwhile, or soon
  std::printf("%s, %s\n", answer->c_str(), second.ok() ? second->c_str() : "lost");
  co_return 0;
}

int main(int argc, char** argv) {
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = argc > 1 ? argv[1] : "tcp://127.0.0.1:9000"}};
  return loop->block_on(ask(client));
}
