// SPDX-License-Identifier: Apache-2.0
// Clients of URLs that can never work, of times without end, and of loops that are late, on a clock that
// stands still.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/counting_world.hpp"
#include "weft/connection_pool.hpp"

namespace weft::simulation {

using namespace weft::detail;
namespace {

class Extremes : public CountingWorld {};

const std::vector<std::string> kUseless = {
    "nonsense",       "TCP://127.0.0.1:1", "tcp://127.0.0.1", "tcp://127.0.0.1:0",    "tcp://127.0.0.1:70000",
    "tcp://a b:1",    "tcp://a..b:1",      "tcp://[::zz]:1",  "carrier-pigeon://x:1", "ucx://127.0.0.1:1",
    "unix://relative"};

// The clock never moves: a wait of any length would leave the calls undone.
TEST_F(Extremes, UselessUrlsFailEachCallAtOnce) {
  for (const std::string& url : kUseless) {
    ClientOptions options;
    options.connect = url;
    Client& client = this->client(options);
    PoolOptions of_pool;
    of_pool.client = options;
    of_pool.client.logger = &logger_;
    ConnectionPool pool{*loop_, of_pool, of("client")};
    for (int i = 0; i < 5; ++i) {
      auto call = client.start<&Counted::count>(1u);
      auto of_pool_call = pool.start<&Counted::count>(1u);
      loop_->run_until_idle();
      ASSERT_TRUE(call.done()) << url << ", attempt " << i;
      ASSERT_TRUE(of_pool_call.done()) << url << ", attempt " << i << " of a pool";
      EXPECT_EQ(outcome_of(std::move(call)).status().code(), StatusCode::kInvalidArgument) << url;
      EXPECT_EQ(outcome_of(std::move(of_pool_call)).status().code(), StatusCode::kInvalidArgument) << url;
    }
  }
}

TEST_F(Extremes, TheLongestTimesNeitherSpinNorOverflow) {
  serve();
  PoolOptions options;
  options.client.connect = "memory://server";
  options.client.logger = &logger_;
  options.spare_idle_timeout = kNoTimeout;
  options.idle_timeout = kNoTimeout;
  options.connection_life_max = kNoTimeout;
  options.client.reconnect_wait_min = kNoTimeout;
  options.client.reconnect_wait_max = kNoTimeout;
  options.client.reconnect_spread = kNoTimeout;
  options.client.connect_timeout = kNoTimeout;
  options.client.call_timeout = kNoTimeout;
  options.client.limits.ping_interval = kNoTimeout;
  options.client.limits.frame_timeout = kNoTimeout;
  options.client.limits.stall_timeout = kNoTimeout;
  options.client.limits.hello_timeout = kNoTimeout;
  ConnectionPool pool{*loop_, options, of("client")};
  auto call = pool.start<&Counted::count>(1u);
  for (int turn = 0; turn < 1000 && !call.done(); ++turn) loop_->run_once(Duration::zero());
  EXPECT_TRUE(outcome_of(std::move(call)).ok());
  int turns = 0;
  while (turns < 1000 && loop_->run_once(Duration::zero())) ++turns;
  EXPECT_LT(turns, 1000) << "it spins";
  server_.reset();
  turns = 0;
  while (turns < 1000 && loop_->run_once(Duration::zero())) ++turns;
  EXPECT_LT(turns, 1000) << "it spins when the server is gone";
}

// A client whose loop was late while its calls waited for a connection.
TEST_F(Extremes, NoCallLeavesAfterItsDeadline) {
  network_.host("client").set_outgoing({.latency = 1ms});
  serve();
  Client& client = this->client();
  auto calls = begin(client, 10, 500ms);
  clock_.advance(1500ms);
  pass(1s);
  EXPECT_EQ(counted_.ran, 0);
  for (auto& call : calls) {
    EXPECT_EQ(outcome_of(std::move(call)).status().code(), StatusCode::kDeadlineExceeded);
  }
}

// The pieces of the attachment arrive while the loop is away.
TEST_F(Extremes, NoRequestRunsWhoseAttachmentWasWholeAfterItsDeadline) {
  SimulatedNetworkOptions roomy;
  roomy.pipe_bytes = 8 << 20;
  network_.set_options(roomy);
  serve();
  Client& client = this->client();
  auto first = begin(client, 1, 500ms);
  pass(1ms);
  ASSERT_EQ(counted_.ran, 1);
  // The whole attachment takes about 5 ms.
  network_.host("client").set_outgoing({.latency = 1ms, .bytes_per_second = 100'000'000});
  const Buffer data = blob(512 * 1024);
  CallOptions options;
  options.timeout = 500ms;
  options.attachment = data.bytes();
  auto call = client.start<&Counted::weigh>(options);
  pass(3ms);
  ASSERT_EQ(counted_.ran, 1) << "the attachment is whole already";
  clock_.advance(1500ms);
  pass(1s);
  EXPECT_EQ(outcome_of(std::move(call)).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(counted_.ran, 1) << "it was run for a caller that had given up";
}

}  // namespace
}  // namespace weft::simulation
