// SPDX-License-Identifier: Apache-2.0
// A handler that sends many values: a generator, which waits while its reader is behind.
#include <cstdio>
#include <string>
#include <weft/weft.hpp>

// begin: handler
struct Quote {
  std::string symbol;
  int price = 0;
};

weft::Stream<Quote> watch(std::string symbol, int first) {
  for (int price = first;; ++price) {
    if (price > 104) throw weft::user_error(1, "the market closed");
    Quote quote{symbol, price};
    co_yield quote;
  }
}
// end: handler

// begin: reading
weft::Task<void> follow(weft::Client& client) {
  auto quotes = client.open<watch>("WFT", 100);
  while (auto quote = co_await quotes.next()) std::printf("%s %d\n", quote->symbol.c_str(), quote->price);
  if (!quotes.status().ok()) std::printf("%s\n", quotes.status().to_string().c_str());
}
// end: reading

// begin: leaving
weft::Task<int> first_above(weft::Client& client, int limit) {
  auto quotes = client.open<watch>("WFT", 1);
  while (auto quote = co_await quotes.next()) {
    if (quote->price > limit) co_return quote->price;  // dropping `quotes` ends the handler
  }
  co_return -1;
}
// end: leaving

int main() {
  auto loop = weft::Loop::create().value();
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<watch>();
  server.start().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  loop->block_on(follow(client));
  std::printf("%d\n", loop->block_on(first_above(client, 41)));
}
