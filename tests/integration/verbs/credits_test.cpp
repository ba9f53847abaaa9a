// SPDX-License-Identifier: Apache-2.0
// CR-17, CR-18, CR-20: no message ever finds no receive, and memory stays within what the options say. On
// simulated devices, which count.
#include <gmock/gmock.h>

#include <array>
#include <chrono>

#include "integration/verbs/simulated_testing.hpp"
#include "support/pattern.hpp"
#include "weft/detail/coro/yield.hpp"
#include "weft/detail/memory/chunk_pool.hpp"

namespace weft::verbs_testing {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kLarge = 300'000;

/// Answers when the test lets it, with the request's bytes held until then.
Event* gate = nullptr;
Task<std::uint64_t> hold_text(std::string_view text) {
  [[maybe_unused]] const Result<void> open = co_await gate->wait();
  co_return text.size();
}

class VerbsCredits : public SimulatedTest {
 protected:
  VerbsCredits() : server_(serve(options())) { gate = &opened_; }
  ~VerbsCredits() override { gate = nullptr; }

  Server& serve(const VerbsOptions& its, const char* url = "verbs://127.0.0.1:0") {
    Server& made = world.serve(its, World::Where::kHere, url,
                               [](Server& server) { server.register_handler<hold_text>(); });
    return made;
  }
  std::string url() const { return server_.urls().front(); }
  template <typename R>
  void expect_all_right(std::vector<weft::Call<R>>& calls) {
    for (weft::Call<R>& call : calls) {
      const Result<R> result = world.wait_for(std::move(call));
      EXPECT_TRUE(result.ok()) << result.status().to_string();
    }
    calls.clear();
  }
  void expect_no_rnr() { EXPECT_EQ(rdma.counters().rnr_naks, 0u); }

  Event opened_;
  Server& server_;
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsCredits, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsCredits, StressInBothDirectionsOnSharedReceivesNeverFindsNoReceive) {
  const std::vector<std::byte> bytes = pattern(kLarge);
  std::vector<Client*> callers;
  for (int i = 0; i < 5; ++i) callers.push_back(&world.client(url(), options()));
  std::vector<std::vector<std::byte>> landings(20, std::vector<std::byte>(kLarge));
  std::vector<weft::Call<std::uint64_t>> sizes;
  std::vector<weft::Call<int>> numbers;
  for (std::size_t i = 0; i < landings.size(); ++i) {
    Client& caller = *callers[i % callers.size()];
    sizes.push_back(caller.start<give_back>({.attachment = Bytes{bytes}, .landing = landings[i]}));
    for (int n = 0; n < 50; ++n) numbers.push_back(caller.start<add>(n, 1));
  }
  expect_all_right(numbers);
  expect_all_right(sizes);
  for (const auto& landing : landings) EXPECT_TRUE(landing == bytes);
  expect_no_rnr();
}

// What handlers keep is not there to be received into, and nobody sends into it.
TEST_P(VerbsCredits, RequestsThatHandlersKeepNeverLetTheOthersFindNoReceive) {
  Client& holder = world.client(url(), options());
  Client& other = world.client(url(), options());
  std::vector<weft::Call<std::uint64_t>> held;
  const std::string text(700, 'x');
  for (int i = 0; i < 200; ++i) held.push_back(holder.start<hold_text>(text));
  ASSERT_TRUE(turn_until(loop(), [&] { return server_.stats().calls_running == 200; }));
  for (int i = 0; i < 50; ++i) world.expect_alive(i % 2 == 0 ? other : holder);
  opened_.set();
  expect_all_right(held);
  expect_no_rnr();
}

// A client that takes nothing, because its loop does not run: the server's messages wait for credit.
TEST_P(VerbsCredits, AClientThatTakesNothingIsSentNoMoreThanItHasReceivesFor) {
  const Server& apart = world.serve(options());
  Client& caller = world.client(apart.urls().front(), options());
  world.expect_alive(caller);
  std::vector<std::vector<std::byte>> landings(10, std::vector<std::byte>(kLarge));
  std::vector<weft::Call<std::uint64_t>> calls;
  for (auto& landing : landings) calls.push_back(caller.start<produce>({.landing = landing}, kLarge, 1u));
  for (int turn = 0; turn < 3; ++turn) loop().run_once(0ms);
  // Until the server has sent all that it may, and waits; on a busy machine, where that is seen late, no
  // longer than a peer that says nothing is waited for.
  const auto enough = std::chrono::steady_clock::now() + 5s;
  std::uint64_t before = 0;
  for (int quiet = 0; quiet < 10'000 && std::chrono::steady_clock::now() < enough; ++quiet) {
    const std::uint64_t now = simulated.sends();
    if (std::exchange(before, now) != now) quiet = 0;
    std::this_thread::yield();
  }
  expect_no_rnr();
  expect_all_right(calls);
  for (const auto& landing : landings) EXPECT_TRUE(testing::same_bytes(landing, pattern(kLarge, 1)));
  expect_no_rnr();
}

// Whoever has many receives and does not use them gives them back to who needs them.
TEST_P(VerbsCredits, ReceivesMoveToWhoNeedsThem) {
  VerbsOptions scarce = options();
  scarce.receive_bytes_max = (3 * scarce.credits_max) * scarce.message_bytes;
  scarce.block_bytes = scarce.message_bytes;
  Server& narrow = serve(scarce);
  const std::vector<std::byte> bytes = pattern(kLarge);
  std::vector<Client*> callers;
  for (int i = 0; i < 3; ++i) callers.push_back(&world.client(narrow.urls().front(), scarce));
  for (int round = 0; round < 4; ++round) {
    for (Client* caller : callers) {
      const auto sum = world.wait_for(caller->start<sum_up>({.attachment = Bytes{bytes}}));
      ASSERT_TRUE(sum.ok() && *sum == sum_of(bytes)) << sum.status().to_string();
    }
  }
  expect_no_rnr();
}

TEST_P(VerbsCredits, MemoryToSendFromThatIsUsedUpMakesConnectionsWait) {
  VerbsOptions scarce = options();
  scarce.block_bytes = scarce.message_bytes;
  scarce.send_bytes_max = 2 * scarce.message_bytes;
  Server& narrow = serve(scarce);
  const Transports set = transports(scarce);
  std::vector<std::unique_ptr<Client>> callers;
  std::vector<std::vector<std::byte>> landings(8, std::vector<std::byte>(kLarge));
  const std::vector<std::byte> bytes = pattern(kLarge);
  std::vector<weft::Call<std::uint64_t>> calls;
  for (auto& landing : landings) {
    callers.push_back(std::make_unique<Client>(loop(), ClientOptions{.connect = narrow.urls().front()}, set));
    calls.push_back(
        callers.back()->start<give_back>({.timeout = 60s, .attachment = Bytes{bytes}, .landing = landing}));
  }
  expect_all_right(calls);
  for (const auto& landing : landings) EXPECT_TRUE(landing == bytes);
  for (const auto& caller : callers) EXPECT_EQ(caller->stats().connections, 1u);
  expect_no_rnr();
}

TEST_P(VerbsCredits, MemoryToReceiveIntoThatIsUsedUpLeavesTheNextConnectionToTcp) {
  VerbsOptions scarce = preferring();
  scarce.devices = {"sim0"};
  scarce.block_bytes = scarce.message_bytes;
  scarce.credits_max = scarce.credits_min;
  scarce.receive_bytes_max = 2 * scarce.credits_min * scarce.message_bytes;
  Server& narrow = serve(scarce, "tcp://127.0.0.1:0");
  const std::string to = narrow.urls().front();
  for (int i = 0; i < 2; ++i) world.expect_alive(world.client(to, scarce));
  EXPECT_EQ(rdma.queue_pairs().size(), 4u);
  const World::Way third = world.way_to(to, scarce);
  EXPECT_THAT(third.report.reason, HasSubstr("VerbsOptions::receive_bytes_max"));
  Client& by_tcp = world.client(to, scarce);
  world.expect_alive(by_tcp);
  EXPECT_EQ(by_tcp.stats().connections, 1u);
  EXPECT_EQ(rdma.queue_pairs().size(), 4u);
  world.end_clients();
  EXPECT_TRUE(turn_until(loop(), [&] { return narrow.stats().connections == 0; }));
  EXPECT_THAT(world.way_to(to, scarce).report.description, HasSubstr("sim0")) << "there is room again";
}

TEST_P(VerbsCredits, MoreConnectionsThanThereMayBeGoByTcp) {
  VerbsOptions scarce = preferring();
  scarce.devices = {"sim0"};
  scarce.connections_max = 1;
  const std::string to = serve(scarce, "tcp://127.0.0.1:0").urls().front();
  world.expect_alive(world.client(to, scarce));
  EXPECT_THAT(world.way_to(to, scarce).report.reason, HasSubstr("connections_max"));
  world.expect_alive(world.client(to, scarce));
}

class VerbsMemoryBounds : public VerbsCredits {
 protected:
  /// The most that one loop and device may have registered, blocks whole: what all connections receive into,
  /// what they send from, and what holds messages without bytes.
  static std::size_t registered_max(const VerbsOptions& its, std::size_t connections) {
    const VerbsMemory memory = verbs_memory(its);
    const auto whole = [&](std::size_t bytes) { return (bytes / its.block_bytes + 2) * its.block_bytes; };
    const std::size_t receive_bytes = its.credits_max * its.message_bytes * connections;
    const std::size_t send_bytes = memory.send_bytes_per_connection_max * connections;
    return whole(std::min(receive_bytes, memory.receive_bytes_max)) +
           whole(std::min(send_bytes, memory.send_bytes_max)) + memory.control_bytes_max;
  }
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsMemoryBounds, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsMemoryBounds, MemoryPerConnectionIsWhatTheFormulaSaysAndGoesWhenTheyDo) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{1000}}) {
    SCOPED_TRACE(count);
    VerbsOptions its = options();
    its.devices = {"sim0"};
    its.attachment_bytes_max = 2 * kLarge;
    const Transports at_client = transports(its);
    Server& server = serve(its);
    std::vector<std::unique_ptr<Client>> callers;
    for (std::size_t i = 0; i < count; ++i) {
      callers.push_back(
          std::make_unique<Client>(loop(), ClientOptions{.connect = server.urls().front()}, at_client));
      world.expect_alive(*callers.back());
    }
    // The connections' due, at both ends, and no more than what the options let them have.
    const VerbsMemory memory = verbs_memory(its);
    EXPECT_GE(rdma.registered_bytes(), 2 * count * memory.receive_bytes_per_connection);
    EXPECT_LE(rdma.registered_bytes(), 2 * registered_max(its, count));
    const std::vector<std::byte> bytes = pattern(kLarge);
    for (std::size_t i = 0; i < count; i += 10) {
      const auto size = world.wait_for(callers[i]->start<sum_up>({.attachment = Bytes{bytes}}));
      ASSERT_TRUE(size.ok()) << size.status().to_string();
      EXPECT_LE(rdma.registered_bytes(), 2 * registered_max(its, count) + memory.attachment_bytes_max);
    }
    std::printf("%zu connections of %s: %zu KiB registered at both ends, %.1f KiB for each end of one\n",
                count, GetParam(), rdma.registered_bytes() / 1024,
                static_cast<double>(rdma.registered_bytes()) / 2048.0 / static_cast<double>(count));
    callers.clear();
    EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 0; }));
    EXPECT_TRUE(turn_until(loop(), [&] { return rdma.registered_bytes() == 0; })) << "F5";
    EXPECT_EQ(rdma.live().total(), 0u) << "F5";
  }
  expect_no_rnr();
}

TEST_P(VerbsMemoryBounds, TheLimitsHoldWhateverConnectionsAskFor) {
  VerbsOptions its = preferring();
  its.devices = {"sim0"};
  its.block_bytes = its.message_bytes * 4;
  its.receive_bytes_max = its.message_bytes * 40;
  its.send_bytes_max = its.message_bytes * 8;
  its.attachment_bytes_max = 3 * kLarge;
  const Transports set = transports(its);
  Server& server = serve(its, "tcp://127.0.0.1:0");
  const std::vector<std::byte> bytes = pattern(kLarge);
  std::vector<std::unique_ptr<Client>> callers;
  std::vector<weft::Call<std::uint64_t>> calls;
  for (int i = 0; i < 20; ++i) {
    callers.push_back(std::make_unique<Client>(loop(), ClientOptions{.connect = server.urls().front()}, set));
    for (int n = 0; n < 3; ++n) calls.push_back(callers.back()->start<sum_up>({.attachment = Bytes{bytes}}));
  }
  std::size_t most = 0;
  for (auto& call : calls) {
    const auto size = world.wait_for(std::move(call));
    EXPECT_TRUE(size.ok()) << size.status().to_string();
    most = std::max(most, rdma.registered_bytes());
  }
  const VerbsMemory memory = verbs_memory(its);
  EXPECT_GT(simulated.sends(), 0u);
  EXPECT_LE(most, 2 * (memory.receive_bytes_max + memory.send_bytes_max + memory.control_bytes_max) +
                      memory.attachment_bytes_max);
  expect_no_rnr();
}

}  // namespace
}  // namespace weft::verbs_testing
