// SPDX-License-Identifier: Apache-2.0
// A handler that answers later, from a thread that knows nothing of loops.
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

class Printer {
 public:
  // begin: handler
  /// The Reply is the right and the duty to answer this one call, now or later, from any thread.
  void print(weft::Reply<std::string> reply, std::string document) {
    const std::lock_guard lock{mutex_};
    jobs_.emplace_back([reply = std::move(reply), document = std::move(document)]() mutable {
      std::move(reply)("printed " + document);
    });
  }
  // end: handler

 private:
  std::mutex mutex_;
  std::vector<std::jthread> jobs_;
};

weft::Task<int> ask(weft::Client& client) {
  auto answer = co_await client.call<&Printer::print>("the report");
  if (!answer.ok()) co_return 1;
  std::printf("%s\n", answer->c_str());
  co_return 0;
}

int main() {
  Printer printer;
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<&Printer::print>(&printer);
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(ask(client));
}
