// SPDX-License-Identifier: Apache-2.0
// A handler that blocks runs on a worker's thread: the loop, and everybody else's calls, go on.
#include <cstdio>
#include <latch>
#include <weft/weft.hpp>

class Gate {
 public:
  /// Blocks its thread, as a database driver or a long computation would.
  int wait() {
    open_.wait();
    return 42;
  }
  void open() { open_.count_down(); }

 private:
  std::latch open_{1};
};

weft::Task<int> ask(weft::Client& client) {
  auto waiting = client.start<&Gate::wait>();         // a worker blocks in it
  auto opened = co_await client.call<&Gate::open>();  // and the loop serves this all the same
  auto answer = co_await std::move(waiting);
  if (!opened.ok() || !answer.ok()) co_return 1;
  std::printf("the gate is open: %d\n", *answer);
  co_return 0;
}

int main() {
  Gate gate;
  // begin: register
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .worker_threads = 2}};
  server.register_handler<&Gate::wait>(&gate, {.blocking = true});
  server.register_handler<&Gate::open>(&gate);
  // end: register
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(ask(client));
}
