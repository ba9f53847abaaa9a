// SPDX-License-Identifier: Apache-2.0
// Counters of a server: calls by method, and what went over its connections.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <weft/weft.hpp>

int half(int number) {
  if (number % 2 != 0) throw weft::user_error(1, "odd", weft::StatusCode::kInvalidArgument);
  return number / 2;
}
weft::Task<std::string> greet(std::string name) {
  co_return "hello " + name;
}

// begin: show
void show(const weft::ServerStats& stats) {
  for (const weft::MethodStats& method : stats.methods) {
    std::printf("%.*s: %llu calls, %llu answered, %llu failed, %llu of them for an invalid argument\n",
                static_cast<int>(method.name.size()), method.name.data(),
                static_cast<unsigned long long>(method.calls),
                static_cast<unsigned long long>(method.answered),
                static_cast<unsigned long long>(method.failures()),
                static_cast<unsigned long long>(method.failed_with(weft::StatusCode::kInvalidArgument)));
  }
  const weft::ConnectionStats& traffic = stats.traffic;
  std::printf("%llu frames received\n", static_cast<unsigned long long>(traffic.frames_received));
}
// end: show

weft::Task<int> ask(weft::Client& client) {
  int answered = 0;
  for (int number = 0; number < 4; ++number) {
    auto result = co_await client.call<half>(number);
    if (result.ok()) ++answered;
  }
  const std::string name = "you";
  auto greeting = co_await client.call<greet>(name);
  co_return answered == 2 && greeting.ok() ? 0 : 1;
}

int main() {
  auto loop = weft::Loop::create().value();
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop.get()}};
  server.register_handler<half, greet>();
  server.start().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  const int outcome = loop->block_on(ask(client));
  show(server.stats());
  // Both sides count the same bytes.
  const bool same = server.stats().traffic.bytes_received == client.stats().traffic.bytes_sent;
  std::printf("%s\n", same ? "the client sent as much" : "the client sent something else");
  return outcome;
}
