// SPDX-License-Identifier: Apache-2.0
// Two servers are asked the same; the first answer counts, and the other call is cancelled.
#include <chrono>
#include <cstdio>
#include <string>
#include <weft/weft.hpp>

weft::Task<weft::Result<std::string>> look_up(std::string name) {
  if (name == "slow") {
    auto slept = co_await weft::sleep_for(std::chrono::hours{1});
    if (!slept.ok()) co_return slept.status();
  }
  co_return "found by the " + name + " one";
}

// begin: race
weft::Task<weft::Result<std::string>> ask_both(weft::Client& one, weft::Client& other) {
  auto winner = co_await weft::race(one.call<look_up>("slow"), other.call<look_up>("quick"));
  co_return std::move(winner.value);  // the loser has ended too
}
// end: race

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0", "tcp://127.0.0.1:0"}}};
  server.register_handler<look_up>();
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client one{*loop, {.connect = server.urls().front()}};
  weft::Client other{*loop, {.connect = server.urls().back()}};
  const auto answer = loop->block_on(ask_both(one, other));
  std::printf("%s\n", answer.ok() ? answer->c_str() : answer.status().to_string().c_str());
  return answer.ok() ? 0 : 1;
}
