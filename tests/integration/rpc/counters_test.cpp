// SPDX-License-Identifier: Apache-2.0
// CR-1: what servers and clients count, over sockets and over memory.
#include <thread>

#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/transport/memory.hpp"
#include "weft/detail/transport/tcp.hpp"

namespace weft::testing::counters_tests {
namespace {

int half(int number) {
  if (number % 2 != 0) throw user_error(1, "odd", StatusCode::kInvalidArgument);
  return number / 2;
}
Task<std::string> echo_later(std::string text) {
  if (text.empty()) throw user_error(2, "nothing", StatusCode::kNotFound);
  co_return text;
}
int wait_for_worker(int number) {
  return number;
}

class Counting : public RpcTest, public ::testing::WithParamInterface<const char*> {
 protected:
  Counting() {
    transports_.add(detail::make_tcp_transport());
    transports_.add(std::make_unique<MemoryNetwork>());
  }
  void start(ServerOptions options = {}) {
    options.listen = {GetParam()};
    if (options.threads == 0) options.loop = &loop();
    server_ = std::make_unique<Server>(std::move(options), transports_);
    server_->register_handler<half, echo_later>();
    server_->register_handler<wait_for_worker>({.blocking = true});
    server_->start().value();
    client_ =
        std::make_unique<Client>(loop(), ClientOptions{.connect = server_->urls().front()}, transports_);
  }
  MethodStats of_half() const { return server_->stats().methods.at(0); }

  Transports transports_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_P(Counting, EachCallCountsForItsMethodOnceAndBothSidesCountTheSameBytes) {
  start({.threads = 0});
  for (int number = 0; number < 100; ++number) {
    EXPECT_EQ((call<half>(*client_, number).ok()), number % 2 == 0);
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(call<echo_later>(*client_, std::string(1000, 'x')).ok());
  EXPECT_FALSE(call<echo_later>(*client_, std::string{}).ok());
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(call<wait_for_worker>(*client_, i).ok());
  EXPECT_FALSE((call<remote<"no such", int(int)>>(*client_, 1).ok()));

  const ServerStats stats = server_->stats();
  ASSERT_EQ(stats.methods.size(), 4u) << "with weft.functions.v1";
  EXPECT_TRUE(stats.methods[0].name.ends_with("half")) << stats.methods[0].name;
  EXPECT_EQ(stats.methods[0].calls, 100u);
  EXPECT_EQ(stats.methods[0].answered, 50u);
  EXPECT_EQ(stats.methods[0].failed_with(StatusCode::kInvalidArgument), 50u);
  EXPECT_EQ(stats.methods[0].failures(), 50u);
  EXPECT_EQ(stats.methods[1].calls, 11u);
  EXPECT_EQ(stats.methods[1].answered, 10u);
  EXPECT_EQ(stats.methods[1].failed_with(StatusCode::kNotFound), 1u);
  EXPECT_EQ(stats.methods[1].running, 0u);
  EXPECT_EQ(stats.methods[2].calls, 7u);
  EXPECT_EQ(stats.methods[2].answered, 7u);
  EXPECT_EQ(stats.calls, 119u) << "that of no method too";
  EXPECT_EQ(stats.calls_refused, 1u);

  const ClientStats of_client = client_->stats();
  EXPECT_EQ(of_client.calls, 119u);
  EXPECT_EQ(of_client.traffic.bytes_sent, stats.traffic.bytes_received);
  EXPECT_EQ(of_client.traffic.bytes_received, stats.traffic.bytes_sent);
  EXPECT_EQ(of_client.traffic.frames_sent, 120u) << "a hello, and a frame for each call";
  EXPECT_EQ(stats.traffic.frames_received, 120u);
  EXPECT_EQ(stats.traffic.frames_sent, of_client.traffic.frames_received);
  for (const ConnectionStats& side : {of_client.traffic, stats.traffic}) {
    EXPECT_GT(side.receives, 0u);
    EXPECT_LE(side.receives, side.frames_received);
    EXPECT_LE(side.sends, side.frames_sent);
  }
}

TEST_P(Counting, ManyAtOnceTakeFewerReceivesThanFrames) {
  start({.threads = 0});
  std::vector<Call<int>> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(client_->start<half>(2 * i));
  for (const Result<int>& result : loop().block_on(await_all(calls))) EXPECT_TRUE(result.ok());
  const ConnectionStats traffic = server_->stats().traffic;
  EXPECT_EQ(traffic.frames_received, 201u);
  EXPECT_LT(traffic.receives, 50u);
  EXPECT_LT(traffic.sends, 50u);
}

TEST_P(Counting, WhatConnectionsThatHaveEndedCountedStays) {
  start({.threads = 0});
  EXPECT_TRUE(call<half>(*client_, 2).ok());
  const ClientStats before = client_->stats();
  client_->close();
  ASSERT_TRUE(turn_until(loop(), [&] { return server_->stats().connections == 0; }));
  loop().run_until_idle();
  EXPECT_EQ(client_->stats().traffic, before.traffic);
  EXPECT_EQ(client_->stats().calls, 1u);
  EXPECT_EQ(server_->stats().traffic.bytes_received, before.traffic.bytes_sent);
  client_ = std::make_unique<Client>(loop(), ClientOptions{.connect = server_->urls().front()}, transports_);
  EXPECT_TRUE(call<half>(*client_, 2).ok());
  EXPECT_EQ(server_->stats().traffic.bytes_received, 2 * before.traffic.bytes_sent);
  EXPECT_EQ(of_half().calls, 2u);
}

TEST_P(Counting, IsReadFromAnotherThreadWhileCallsAndConnectionsComeAndGo) {
  start({.threads = 2});
  std::atomic<bool> done = false;
  std::uint64_t looks = 0;
  std::thread reader{[&] {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
    while (!done || looks == 0) {
      const ServerStats stats = server_->stats();
      EXPECT_GE(stats.calls, calls) << "counters only grow";
      EXPECT_GE(stats.traffic.bytes_received, bytes);
      EXPECT_LE(stats.methods[0].answered + stats.methods[0].failures(), stats.methods[0].calls);
      calls = stats.calls;
      bytes = stats.traffic.bytes_received;
      ++looks;
    }
  }};
  for (int round = 0; round < 20; ++round) {
    Client passing{loop(), {.connect = server_->urls().front()}, transports_};
    for (int i = 0; i < 20; ++i) EXPECT_EQ((call<half>(passing, i).ok()), i % 2 == 0);
  }
  done = true;
  reader.join();
  EXPECT_EQ(of_half().calls, 400u);
  EXPECT_EQ(of_half().answered, 200u);
}

INSTANTIATE_TEST_SUITE_P(Over, Counting, ::testing::Values(kAnyPort, "memory://counting"),
                         [](const auto& test) { return std::string{test.index == 0 ? "Tcp" : "Memory"}; });

}  // namespace
}  // namespace weft::testing::counters_tests
