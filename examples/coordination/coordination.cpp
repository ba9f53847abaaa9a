// SPDX-License-Identifier: Apache-2.0
// Coroutines of one loop that wait for each other: a mutex, a semaphore, a channel, an event.
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <weft/coroutines.hpp>
#include <weft/weft.hpp>

int price_of(int article) {
  return 100 + article;
}

// begin: mutex
/// Prices that the server said, each asked for once however many coroutines want it at the same time.
class Prices {
 public:
  explicit Prices(weft::Client& client) : client_(client) {}

  weft::Task<weft::Result<int>> of(int article) {
    auto guard = co_await mutex_.lock();  // weft::Result<weft::Mutex::Guard>: fails when it is cancelled
    if (!guard.ok()) co_return guard.status();
    if (const auto known = known_.find(article); known != known_.end()) co_return known->second;
    auto price = co_await client_.call<price_of>(article);  // the lock is held meanwhile
    if (price.ok()) known_.emplace(article, *price);
    ++asked_;
    co_return price;
  }
  int asked() const { return asked_; }

 private:
  weft::Client& client_;
  weft::Mutex mutex_;
  std::map<int, int> known_;
  int asked_ = 0;
};
// end: mutex

weft::Task<void> want(Prices* prices, int article, int* sum) {
  auto price = co_await prices->of(article);
  if (price.ok()) *sum += *price;
}

// begin: semaphore
/// Calls that share a semaphore: no more of them are in flight than it has permits.
weft::Task<void> ask(weft::Client* client, weft::Semaphore* places, int article, int* sum) {
  auto place = co_await places->acquire();
  if (!place.ok()) co_return;  // cancelled while it waited, and nothing was taken
  auto price = co_await client->call<price_of>(article);
  places->release();
  if (price.ok()) *sum += *price;
}
// end: semaphore

// begin: channel
weft::Task<void> produce(weft::Channel<int>* articles) {
  for (int article = 0; article < 100; ++article) {
    auto pushed = co_await articles->push(article);  // waits while the channel is full
    if (!pushed.ok()) co_return;                     // closed, or cancelled
  }
  articles->close();
}

weft::Task<void> consume(weft::Client* client, weft::Channel<int>* articles, int* sum) {
  for (;;) {
    auto article = co_await articles->pop();  // waits while it is empty
    if (!article.ok()) co_return;             // closed, and nothing is left in it
    auto price = co_await client->call<price_of>(*article);
    if (price.ok()) *sum += *price;
  }
}
// end: channel

// begin: event
weft::Task<void> wait_for_start(weft::Event* started, int* ran) {
  auto waited = co_await started->wait();
  if (waited.ok()) ++*ran;
}
// end: event

weft::Task<int> run(weft::Client& client) {
  int sum = 0;
  Prices prices{client};
  weft::Scope wanting;
  for (int i = 0; i < 10; ++i) wanting.spawn(&want, &prices, 7, &sum);
  co_await wanting.join();
  std::printf("ten wanted it, %d asked: %d\n", prices.asked(), sum);
  if (prices.asked() != 1 || sum != 10 * 107) co_return 1;

  sum = 0;
  weft::Semaphore places{4};
  weft::Scope asking;
  for (int article = 0; article < 100; ++article) asking.spawn(&ask, &client, &places, article, &sum);
  co_await asking.join();
  std::printf("four at a time: %d\n", sum);
  if (sum != 14950 || places.available() != 4) co_return 1;

  sum = 0;
  weft::Channel<int> articles{8};
  weft::Scope workers;
  workers.spawn(&produce, &articles);
  for (int i = 0; i < 3; ++i) workers.spawn(&consume, &client, &articles, &sum);
  co_await workers.join();
  std::printf("through a channel: %d\n", sum);
  if (sum != 14950) co_return 1;

  int ran = 0;
  weft::Event started;
  weft::Scope waiting;
  for (int i = 0; i < 5; ++i) waiting.spawn(&wait_for_start, &started, &ran);
  started.set();
  co_await waiting.join();
  std::printf("%d began\n", ran);
  co_return ran == 5 ? 0 : 1;
}

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<price_of>();
  server.start().value();
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(run(client));
}
