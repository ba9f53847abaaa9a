// SPDX-License-Identifier: Apache-2.0
// A front server of four loops whose handlers call on: each loop has a client of its own to the back server.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>
#include <weft/weft.hpp>

int square(int number) {
  return number * number;
}

// begin: handler
weft::Task<weft::Result<int>> sum_of_squares(int a, int b) {
  auto& back = weft::loop_state<weft::Client>();  // this loop's
  auto first = back.start<square>(a);
  auto second = back.start<square>(b);
  auto x = co_await std::move(first);
  auto y = co_await std::move(second);
  if (!x.ok()) co_return x.status().with_context("the first square");
  if (!y.ok()) co_return y.status().with_context("the second square");
  co_return *x + *y;
}
// end: handler

weft::Task<int> ask(std::vector<std::unique_ptr<weft::Client>>& clients) {
  std::vector<weft::Call<int>> sums;
  for (int i = 0; i < 100; ++i) {
    for (auto& client : clients) sums.push_back(client->start<sum_of_squares>(i, 1));
  }
  long long total = 0;
  for (auto& each : sums) {
    auto sum = co_await std::move(each);
    if (!sum.ok()) {
      std::fprintf(stderr, "%s\n", sum.status().to_string().c_str());
      co_return 1;
    }
    total += *sum;
  }
  std::printf("%zu answers, their sum is %lld\n", sums.size(), total);
  co_return 0;
}

int main() {
  weft::Server back_server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 2}};
  back_server.register_handler<square>();
  back_server.start().value();

  // begin: per_loop
  weft::Server front_server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 4}};
  front_server.register_handler<sum_of_squares>();
  const std::string back_url = back_server.urls().front();
  front_server.per_loop<weft::Client>(
      [back_url](weft::Loop& loop) { return weft::Client{loop, {.connect = back_url}}; });
  front_server.start().value();  // each loop has made its client
  // end: per_loop

  auto loop = weft::Loop::create().value();
  std::vector<std::unique_ptr<weft::Client>> clients;  // eight connections, two for each loop
  clients.reserve(8);
  for (int i = 0; i < 8; ++i) {
    clients.push_back(
        std::make_unique<weft::Client>(*loop, weft::ClientOptions{.connect = front_server.urls().front()}));
  }
  const int failed = loop->block_on(ask(clients));
  std::printf("the back server has %zu connections\n", back_server.stats().connections);
  return failed;
}
