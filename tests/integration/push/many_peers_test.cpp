// SPDX-License-Identifier: Apache-2.0
// A broadcast to very many peers in memory: what it costs, and what a slow one does to it.
#include <cstdio>
#include <optional>

#include "integration/rpc/rpc_testing.hpp"
#include "support/fewer_steps.hpp"
#include "weft/detail/transport/memory.hpp"

namespace weft::testing::many_peers_tests {
namespace {

void on_tick(std::string) {}

Task<Result<BroadcastOutcome>> broadcast(Peers peers, const std::string* text) {
  Result<BroadcastOutcome> outcome = co_await peers.broadcast<on_tick>(*text);
  co_return outcome;
}

TEST(ManyPeers, AllHearABroadcastButTheOneThatDoesNotRead) {
  // All within one broadcast's time, in which a sanitizer comes as far as a fifth.
  constexpr std::size_t kPeers = kFewerSteps > 0 ? 2'000 : 10'000;
  const auto loop = Loop::create().value();
  const auto standing_loop = Loop::create().value();
  Transports transports;
  MemoryOptions memory;
  memory.pipe_bytes = 4096;
  transports.add(std::make_unique<MemoryNetwork>(memory));
  ServerOptions options;
  options.listen = {"memory://many"};
  options.threads = 0;
  options.loop = loop.get();
  options.limits.ping_interval = Duration::zero();
  std::optional<Peer> first;
  Server server{std::move(options), transports};
  server.on_peers(
      [&](const Peer& peer) {
        if (!first) first.emplace(peer);
      },
      [](const Peer&) {});
  server.start().value();
  Client silent{*standing_loop, {.connect = "memory://many"}, transports};
  auto connecting = silent.start<remote<"none", void()>>();
  while (!first) {
    standing_loop->run_once(Duration::zero());
    loop->run_once(Duration::zero());
  }
  // Its loop does not turn any more, and more is on the way to it than a broadcast waits behind.
  const auto much = first->start<on_tick>(std::string(300'000, 'm'));

  std::vector<std::unique_ptr<Client>> clients;
  std::vector<Call<void>> calls;
  for (std::size_t i = 0; i < kPeers; ++i) {
    clients.push_back(std::make_unique<Client>(*loop, ClientOptions{.connect = "memory://many"}, transports));
    clients.back()->register_handler<on_tick>();
    calls.push_back(clients.back()->start<remote<"none", void()>>());
    if (i % 500 != 499) continue;
    ASSERT_TRUE(turn_until(*loop, [&] { return server.peers().count() == i + 2; })) << server.peers().count();
  }
  const std::string text(100, 't');
  for (int round = 0; round < 5; ++round) {
    const auto before = std::chrono::steady_clock::now();
    Result<BroadcastOutcome> outcome = loop->block_on(broadcast(server.peers(), &text));
    const auto took = std::chrono::steady_clock::now() - before;
    EXPECT_EQ(outcome.value().answered, kPeers);
    EXPECT_EQ(outcome.value().behind, 1u);
    EXPECT_EQ(outcome.value().failed, 0u);
    std::printf("%zu peers of one loop with their clients: %lld us\n", kPeers,
                static_cast<long long>(took / 1us));
  }
  EXPECT_FALSE(much.done());
}

}  // namespace
}  // namespace weft::testing::many_peers_tests
