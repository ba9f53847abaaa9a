// SPDX-License-Identifier: Apache-2.0
// Ways to stop waiting for an answer. Each time the server is told, and its handler hears of it.
#include <chrono>
#include <cstdio>
#include <string>
#include <weft/weft.hpp>

using namespace std::chrono_literals;

class Sleeper {
 public:
  // begin: handler
  weft::Task<weft::Result<int>> sleep_long() {
    auto slept = co_await weft::sleep_for(1h);  // wakes early when the caller has gone
    if (slept.ok()) co_return 1;
    ++interrupted_;
    co_return slept.status();
  }
  // end: handler
  int interrupted() { return interrupted_; }

 private:
  int interrupted_ = 0;
};

weft::Task<int> ask(weft::Client& client) {
  // begin: deadline
  auto late = co_await client.call<&Sleeper::sleep_long>({.timeout = 20ms});
  std::printf("with a deadline: %s\n", std::string{to_string(late.status().code())}.c_str());
  // end: deadline

  // begin: cancel
  auto call = client.start<&Sleeper::sleep_long>();
  call.cancel();
  auto cancelled = co_await std::move(call);
  std::printf("on request: %s\n", std::string{to_string(cancelled.status().code())}.c_str());
  // end: cancel

  // begin: drop
  {
    auto dropped = client.start<&Sleeper::sleep_long>();
  }  // nobody will ask for its answer
  // end: drop

  for (int interrupted = 0; interrupted < 3;) {
    auto count = co_await client.call<&Sleeper::interrupted>();
    if (!count.ok()) co_return 1;
    interrupted = *count;
  }
  std::printf("3 handlers were woken early\n");
  co_return 0;
}

int main() {
  Sleeper sleeper;
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<&Sleeper::sleep_long>(&sleeper);
  server.register_handler<&Sleeper::interrupted>(&sleeper);
  server.start().value();
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(ask(client));
}
