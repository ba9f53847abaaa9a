// SPDX-License-Identifier: Apache-2.0
// Weft inside another event loop, which polls the descriptor of Weft's loop and runs a turn when it is
// readable.
#include <poll.h>

#include <cstdio>
#include <string>
#include <weft/weft.hpp>

std::string greet(std::string_view name) {
  return "hello, " + std::string{name};
}

weft::Task<void> ask(weft::Client* client, bool* done) {
  auto answer = co_await client->call<greet>("poll");
  std::printf("%s\n", answer.ok() ? answer->c_str() : answer.status().to_string().c_str());
  *done = true;
}

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<greet>();
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  weft::Scope scope;
  bool done = false;
  // begin: poll
  loop->post([&] { scope.spawn(&ask, &client, &done); });  // between turns work is handed over by post()
  pollfd weft_wants{loop->descriptor(), POLLIN, 0};        // beside it, the descriptors of everybody else
  while (!done) {
    poll(&weft_wants, 1, -1);
    loop->run_once(weft::Duration::zero());
  }
  // end: poll
  return 0;
}
