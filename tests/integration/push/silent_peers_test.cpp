// SPDX-License-Identifier: Apache-2.0
// Peers that read nothing: what a broadcast waits for, and what memory their requests take. The peers' loop
// does not turn, and turns again later.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/transport/memory.hpp"

namespace weft::testing::silent_peers_tests {
namespace {

struct Listener {
  int heard = 0;
  void listen(std::string) { ++heard; }
};

int greet() {
  return 0;
}

class SilentPeers : public ::testing::TestWithParam<const char*> {
 protected:
  struct Member {
    Member(Loop& loop, const std::string& url, const RpcLimits& limits, const Transports& transports)
        : client(loop, {.connect = url, .limits = limits}, transports) {
      client.register_handler<&Listener::listen>(&listener);
    }
    Listener listener;
    Client client;
  };

  SilentPeers() {
    if (!is_over("memory://silent")) return;
    MemoryOptions memory;
    memory.pipe_bytes = 4096;
    Transports pipes;
    pipes.add(std::make_unique<MemoryNetwork>(memory));
    transports_ = std::move(pipes);
  }
  ~SilentPeers() override {
    peers_.clear();
    if (!server_) return;
    server_->stop(Duration::zero());
    turn_both([this] { return server_->stopped(); });
  }

  static bool is_over(const std::string& carrier) { return carrier == GetParam(); }
  void serve(std::size_t memory_max) {
    ServerOptions options;
    options.listen = {is_over("unix") ? "unix://" + ::testing::TempDir() + "silent_peers.sock" : GetParam()};
    options.threads = 0;
    options.loop = loop_.get();
    options.limits.process_memory_max = memory_max;
    options.limits.ping_interval = Duration::zero();
    server_.emplace(std::move(options), transports_);
    server_->register_handler<greet>();
    server_->start().value();
  }
  void add_peer(Loop& loop, const RpcLimits& limits = {}) {
    peers_.push_back(std::make_unique<Member>(loop, server_->urls().front(), limits, transports_));
    auto call = peers_.back()->client.start<greet>();
    turn_both([&] { return call.done(); });
    ASSERT_TRUE(call.done());
  }
  template <typename Condition>
  void turn_both(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < patience) {
      peers_loop_->run_once(Duration::zero());
      loop_->run_once(Duration::zero());
    }
    EXPECT_TRUE(condition());
  }
  static Task<Result<BroadcastOutcome>> send(Peers peers, BroadcastOptions options, const std::string* text) {
    Result<BroadcastOutcome> outcome = co_await peers.broadcast<&Listener::listen>(options, *text);
    co_return outcome;
  }
  /// The silent peers' loop does not turn meanwhile.
  Result<BroadcastOutcome> broadcast(const BroadcastOptions& options, const std::string& text) {
    return loop_->block_on(send(server_->peers(), options, &text));
  }
  /// Waits for the answer to a call to one peer, in the order of their connections: the server then knows
  /// that the peer is silent no longer. All peers read meanwhile.
  void call_peer(std::size_t index) {
    std::optional<Call<void>> call;
    loop_->post([&] {
      std::size_t visited = 0;
      server_->peers().for_each_here([&](Peer peer) {
        if (visited++ == index)
          call.emplace(peer.start<&Listener::listen>(CallOptions{.timeout = 20s}, "short"));
      });
    });
    turn_both([&] { return call && call->done(); });
  }
  /// All peers read meanwhile.
  BroadcastOutcome broadcast_to_all(const std::string& text) {
    std::optional<Result<BroadcastOutcome>> outcome;
    Scope scope;
    const auto run = [](Peers peers, const std::string* what,
                        std::optional<Result<BroadcastOutcome>>* into) -> Task<void> {
      *into = co_await peers.broadcast<&Listener::listen>(BroadcastOptions{.timeout = 20s}, *what);
    };
    loop_->post([&] { scope.spawn(run, server_->peers(), &text, &outcome); });
    turn_both([&] { return outcome.has_value(); });
    return outcome.has_value() && outcome->ok() ? **outcome : BroadcastOutcome{};
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<Loop> peers_loop_ = Loop::create().value();
  Transports transports_ = make_transports();
  std::optional<Server> server_;
  std::vector<std::unique_ptr<Member>> peers_;
};

TEST_P(SilentPeers, DelayOneBroadcastAndAreAwaitedAgainOnceTheyAnswer) {
  serve(RpcLimits{}.process_memory_max);
  add_peer(*loop_);
  add_peer(*peers_loop_);
  add_peer(*peers_loop_);
  const std::string text = "news";
  // Awaited once for 50 ms; a broadcast that waited for its timeout again would take longer than this test
  // may.
  const Result<BroadcastOutcome> first = broadcast({.timeout = 50ms, .unanswered_max = 1000}, text);
  EXPECT_EQ(first.value().failed, 2u);
  constexpr int kMore = 199;
  for (int round = 0; round < kMore; ++round) {
    const Result<BroadcastOutcome> outcome = broadcast({.timeout = 1h, .unanswered_max = 1000}, text);
    ASSERT_EQ(outcome.value().answered, 1u);
    ASSERT_EQ(outcome.value().silent, 2u);
    ASSERT_EQ(outcome.value().peers(), 3u);
  }
  // They read again: every call reaches them, and they are awaited again.
  turn_both([&] { return peers_[1]->listener.heard >= kMore && peers_[2]->listener.heard >= kMore; });
  for (std::size_t i = 0; i < 3; ++i) call_peer(i);
  const BroadcastOutcome after = broadcast_to_all(text);
  EXPECT_EQ(after.answered, 3u);
  EXPECT_EQ(after.silent, 0u);
  EXPECT_EQ(server_->peers().count(), 3u);
}

TEST_P(SilentPeers, ABroadcastWhoseTimeIsOverAtOnceEnds) {
  serve(RpcLimits{}.process_memory_max);
  add_peer(*peers_loop_);
  for (int round = 0; round < 3; ++round) {
    const Result<BroadcastOutcome> outcome = broadcast({.timeout = Duration{1}}, "late");
    EXPECT_EQ(outcome.value().peers(), 1u);
    EXPECT_EQ(outcome.value().answered, 0u);
  }
}

// The requests are refused before anything is queued.
TEST_P(SilentPeers, RequestsThatPeersDoNotAllowTakeNoMemory) {
  constexpr std::size_t kPeers = 40;
  serve(16 * 64 * 1024);
  RpcLimits limits;
  limits.body_bytes_max = 64;
  for (std::size_t i = 0; i < kPeers; ++i) add_peer(*loop_, limits);
  const std::string long_text(1000, 'x');
  const Result<BroadcastOutcome> refused = broadcast({.timeout = 20s}, long_text);
  EXPECT_EQ(refused.value().failed, kPeers);
  add_peer(*loop_);
  call_peer(kPeers);
  EXPECT_EQ(peers_.back()->listener.heard, 1) << "the peer that came last";
  EXPECT_EQ(broadcast({.timeout = 20s}, "short").value().answered, kPeers + 1);
}

/// Peers with short pipes: over TCP the system keeps megabytes for each connection, so that a peer need not
/// read for long.
class SilentPeersOfSmallPipes : public SilentPeers {};

TEST_P(SilentPeersOfSmallPipes, TakeNoMoreMemoryThanTheServersBudget) {
  constexpr std::size_t kPeers = 60;
  constexpr std::size_t kChunks = 16;
  serve(kChunks * 64 * 1024);
  for (std::size_t i = 0; i < kPeers; ++i) add_peer(*peers_loop_);
  const std::size_t before = loop_->chunks().chunks_out();
  const std::string text(16'000, 'x');
  std::size_t kept_at_most = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 40; ++round) {
    const Result<BroadcastOutcome> outcome = broadcast({.timeout = 200ms, .unanswered_max = 1000}, text);
    loop_->run_once(Duration::zero());  // the cancels of calls that had no answer leave
    if (outcome.ok()) {
      EXPECT_EQ(outcome->peers(), kPeers);
    }
    refused += outcome.ok() ? outcome->failed : kPeers;
    kept_at_most = std::max(kept_at_most, loop_->chunks().chunks_out() - before);
  }
  // The records of the calls take the rest of the memory.
  EXPECT_GE(kept_at_most, kChunks / 4) << "much waits for peers that do not read";
  EXPECT_LE(kept_at_most, kChunks);
  EXPECT_GT(refused, kPeers);

  // A call to one of them is refused with words, wherever nothing of this peer's waits yet.
  std::size_t refused_calls = 0;
  {
    std::vector<Call<void>> calls;
    loop_->post([&] {
      server_->peers().for_each_here([&](Peer peer) {
        calls.push_back(peer.start<&Listener::listen>(CallOptions{.timeout = 5ms}, text));
      });
    });
    ASSERT_TRUE(turn_until(*loop_, [&] {
      return calls.size() == kPeers &&
             std::all_of(calls.begin(), calls.end(), [](const auto& call) { return call.done(); });
    }));
    for (auto& call : calls) {
      const auto wait = [](Call<void> its) -> Task<Status> {
        auto result = co_await std::move(its);
        co_return result.status();
      };
      const Status status = loop_->block_on(wait(std::move(call)));
      if (status.code() != StatusCode::kResourceExhausted) continue;
      ++refused_calls;
      EXPECT_THAT(std::string{status.message()}, ::testing::HasSubstr("process_memory_max"));
    }
  }
  EXPECT_GT(refused_calls, 0u);

  // Once they read again all memory is back. The bytes that were still in the system's buffers then are read
  // later: a peer is silent until its first answer has arrived. A broadcast that finds memory for a few peers
  // in each turn reaches all.
  EXPECT_EQ(server_->peers().count(), kPeers);
  turn_both([&] { return loop_->chunks().chunks_out() <= before; });
  for (std::size_t i = 0; i < kPeers; ++i) call_peer(i);
  const BroadcastOutcome after = broadcast_to_all("short");
  EXPECT_EQ(after.answered, kPeers) << after.silent << " silent, " << after.failed << " failed";
}

INSTANTIATE_TEST_SUITE_P(Carriers, SilentPeers, ::testing::Values("memory://silent", "unix", kAnyPort));
INSTANTIATE_TEST_SUITE_P(Carriers, SilentPeersOfSmallPipes, ::testing::Values("memory://silent", "unix"));

}  // namespace
}  // namespace weft::testing::silent_peers_tests
