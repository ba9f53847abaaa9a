// SPDX-License-Identifier: Apache-2.0
// A server whose loop was blocked for longer than its callers wait, over TCP and the system's clock.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <vector>

#include "weft/client.hpp"
#include "weft/server.hpp"

namespace weft::testing {
namespace {

using namespace std::chrono_literals;

struct Blocked {
  std::atomic<int> ran{0};
  std::latch began{1};
  std::latch released{1};

  int count(int number) {
    ++ran;
    return number;
  }
  // Blocks its loop.
  void block() {
    began.count_down();
    released.wait();
  }
};

Task<void> stay_away(Blocked* blocked, Client* client, std::vector<Call<int>>* calls) {
  auto blocking = client->start<&Blocked::block>();
  // The call leaves with this coroutine's turn.
  while (!blocked->began.try_wait()) {
    auto turn = sleep_for(1ms);
    (void)co_await std::move(turn);
  }
  CallOptions options;
  options.timeout = 500ms;
  for (int i = 0; i < 1000; ++i) calls->push_back(client->start<&Blocked::count>(options, i));
  auto away = sleep_for(1500ms);
  (void)co_await std::move(away);
  blocked->released.count_down();
  auto end = co_await std::move(blocking);
  EXPECT_TRUE(end.ok()) << end.status().to_string();
}

TEST(LateLoopOverTcp, RunsNoneOfAThousandCallsThatExpiredMeanwhile) {
  Blocked blocked;
  ServerOptions options;
  options.listen = {"tcp://127.0.0.1:0"};
  Server server{std::move(options)};
  server.register_handler<&Blocked::count>(&blocked);
  server.register_handler<&Blocked::block>(&blocked);
  ASSERT_TRUE(server.start().ok());
  auto loop = Loop::create().value();
  {
    ClientOptions of_client;
    of_client.connect = server.urls().front();
    Client client{*loop, std::move(of_client)};
    std::vector<Call<int>> calls;
    loop->block_on(stay_away(&blocked, &client, &calls));
    for (auto& call : calls) {
      const auto result = loop->block_on(std::move(call));
      EXPECT_EQ(result.status().code(), StatusCode::kDeadlineExceeded);
    }
    // The server has dealt with all requests before the next one comes: bytes that arrive meanwhile hide how
    // long the others have waited.
    while (client.stats().late_answers < calls.size()) loop->run_once(5ms);
    EXPECT_EQ(blocked.ran, 0) << "requests ran for callers that had given up";
    const auto after = loop->block_on(client.call<&Blocked::count>(7));
    EXPECT_TRUE(after.ok()) << after.status().to_string();
    EXPECT_EQ(blocked.ran, 1);
  }
  server.stop();
}

}  // namespace
}  // namespace weft::testing
