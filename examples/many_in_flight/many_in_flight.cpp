// SPDX-License-Identifier: Apache-2.0
// Many calls at the same time on one connection. They share its writes, and none waits for another.
#include <cstdio>
#include <string>
#include <vector>
#include <weft/weft.hpp>

int square(int number) {
  return number * number;
}

// begin: start
/// Sends all requests first and asks for the answers afterwards.
weft::Task<long> sum_of_squares(weft::Client& client, int count) {
  std::vector<weft::Call<int>> calls;
  for (int i = 1; i <= count; ++i) calls.push_back(client.start<square>(i));
  long sum = 0;
  for (auto& call : calls) {
    auto answer = co_await std::move(call);
    if (answer.ok()) sum += *answer;
  }
  co_return sum;
}
// end: start

// begin: spawn
/// One of many coroutines. Each makes its calls one after the other.
weft::Task<void> worker(weft::Client* client, int first, long* sum) {
  for (int i = first; i < first + 10; ++i) {
    auto answer = co_await client->call<square>(i);
    if (answer.ok()) *sum += *answer;
  }
}

weft::Task<long> sum_by_workers(weft::Client& client, int workers) {
  long sum = 0;
  weft::Scope scope;
  for (int i = 0; i < workers; ++i) scope.spawn(&worker, &client, 1 + 10 * i, &sum);
  co_await scope.join();
  co_return sum;
}
// end: spawn

weft::Task<int> ask(weft::Client& client) {
  const long all_at_once = co_await sum_of_squares(client, 1000);
  const long by_workers = co_await sum_by_workers(client, 100);
  std::printf("%ld and %ld\n", all_at_once, by_workers);
  co_return 0;
}

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<square>();
  server.start().value();
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(ask(client));
}
