// SPDX-License-Identifier: Apache-2.0
// A handler that calls on: the front server asks a back server, and waits without holding a thread.
#include <cstdio>
#include <weft/weft.hpp>

int square(int number) {
  return number * number;
}

class Front {
 public:
  explicit Front(weft::Client& back) : back_(&back) {}

  // begin: handler
  weft::Task<weft::Result<int>> sum_of_squares(int a, int b) {
    auto first = back_->start<square>(a);  // both are on their way
    auto second = back_->start<square>(b);
    auto x = co_await std::move(first);
    auto y = co_await std::move(second);
    if (!x.ok()) co_return x.status().with_context("the first square");
    if (!y.ok()) co_return y.status().with_context("the second square");
    co_return *x + *y;
  }
  // end: handler

 private:
  weft::Client* back_;
};

weft::Task<int> ask(weft::Client& client) {
  auto sum = co_await client.call<&Front::sum_of_squares>(3, 4);
  if (!sum.ok()) co_return 1;
  std::printf("3 * 3 + 4 * 4 = %d\n", *sum);
  co_return 0;
}

int main() {
  weft::Server back_server{{.listen = {"tcp://127.0.0.1:0"}}};
  back_server.register_handler<square>();
  back_server.start().value();

  // begin: own_loop
  // The front server runs on the loop of the client that its handlers use; no thread of its own.
  auto loop = weft::Loop::create().value();
  weft::Client back{*loop, {.connect = back_server.urls().front()}};
  Front front{back};
  weft::Server front_server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop.get()}};
  front_server.register_handler<&Front::sum_of_squares>(&front);
  front_server.start().value();
  // end: own_loop

  weft::Client client{*loop, {.connect = front_server.urls().front()}};
  return loop->block_on(ask(client));
}
