// SPDX-License-Identifier: Apache-2.0
// A broadcast to many peers of one loop takes many turns, while peers come and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "support/counting_clock.hpp"
#include "weft/detail/transport/memory.hpp"

namespace weft::testing::broadcast_turns_tests {
namespace {

constexpr std::size_t kPeers = 200;

struct Hearer {
  int heard = 0;
  void hear(int) { ++heard; }
};

int here() {
  return 0;
}

/// A server whose loop has a clock that passes with each look at it: its turns are cut soon, and by count.
class BroadcastInTurns : public ::testing::Test {
 protected:
  BroadcastInTurns() {
    transports_.add(std::make_unique<MemoryNetwork>());
    ServerOptions options;
    options.listen = {"memory://turns"};
    options.threads = 0;
    options.loop = loop_.get();
    options.limits.ping_interval = Duration::zero();
    server_.emplace(std::move(options), transports_);
    server_->register_handler<here>();
    server_->start().value();
  }
  ~BroadcastInTurns() override {
    peers_.clear();
    server_->stop(Duration::zero());
    turn_both([this] { return server_->stopped(); });
  }

  struct Member {
    explicit Member(BroadcastInTurns& test)
        : client(*test.peers_loop_, {.connect = "memory://turns"}, test.transports_) {
      client.register_handler<&Hearer::hear>(&hearer);
    }
    Hearer hearer;
    Client client;
  };

  void add_peers(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      peers_.push_back(std::make_unique<Member>(*this));
      auto call = peers_.back()->client.start<here>();
      turn_both([&] { return call.done(); });
    }
  }
  template <typename Condition>
  void turn_both(Condition condition) {
    for (int turns = 0; turns < 100'000 && !condition(); ++turns) {
      peers_loop_->run_once(Duration::zero());
      loop_->run_once(Duration::zero());
    }
    ASSERT_TRUE(condition());
  }
  void begin_broadcast() {
    loop_->post([this] { scope_.spawn(&BroadcastInTurns::broadcast, this); });
  }
  static Task<void> broadcast(BroadcastInTurns* test) {
    test->outcome_ = co_await test->server_->peers().broadcast<&Hearer::hear>(1);
  }
  BroadcastOutcome end_broadcast() {
    turn_both([this] { return outcome_.has_value(); });
    return outcome_.has_value() ? outcome_->value() : BroadcastOutcome{};
  }
  /// The peers that have heard, once each has taken what was sent to it.
  std::size_t heard() {
    for (int turns = 0; turns < 20; ++turns) peers_loop_->run_once(Duration::zero());
    return static_cast<std::size_t>(std::count_if(peers_.begin(), peers_.end(),
                                                  [](const auto& peer) { return peer->hearer.heard == 1; }));
  }
  /// The server's loop turns until some peers have heard, but not all.
  std::size_t turn_into_the_middle() {
    std::size_t count = 0;
    while (count == 0) {
      loop_->run_once(Duration::zero());
      count = heard();
    }
    return count;
  }

  CountingClock clock_{std::chrono::microseconds{100}};
  std::unique_ptr<Loop> loop_ = Loop::create({.clock = &clock_}).value();
  std::unique_ptr<Loop> peers_loop_ = Loop::create().value();
  Transports transports_;
  std::optional<Server> server_;
  std::vector<std::unique_ptr<Member>> peers_;
  std::optional<Result<BroadcastOutcome>> outcome_;
  Scope scope_;
};

TEST_F(BroadcastInTurns, CallsAFewInEachTurnAndEachOnce) {
  add_peers(kPeers);
  begin_broadcast();
  std::size_t before = turn_into_the_middle();
  EXPECT_LT(before, kPeers / 4);
  while (before < kPeers) {
    loop_->run_once(Duration::zero());
    const std::size_t now = heard();
    EXPECT_LT(now - before, kPeers / 4);
    before = now;
  }
  EXPECT_EQ(end_broadcast().answered, kPeers);
  EXPECT_EQ(heard(), kPeers);
}

TEST_F(BroadcastInTurns, ThoseThatLeaveBeforeTheirCallHaveFailed) {
  add_peers(kPeers);
  begin_broadcast();
  const std::size_t called = turn_into_the_middle();
  // Among them the next to be called, and one far behind it.
  peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(called),
               peers_.begin() + static_cast<std::ptrdiff_t>(called) + 3);
  peers_.pop_back();
  const BroadcastOutcome outcome = end_broadcast();
  EXPECT_EQ(outcome.answered, kPeers - 4);
  EXPECT_EQ(outcome.failed, 4u);
  EXPECT_EQ(heard(), kPeers - 4);
}

TEST_F(BroadcastInTurns, AllThatAreLeftMayLeave) {
  add_peers(kPeers);
  begin_broadcast();
  const std::size_t called = turn_into_the_middle();
  peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(called), peers_.end());
  const BroadcastOutcome outcome = end_broadcast();
  EXPECT_EQ(outcome.answered, called);
  EXPECT_EQ(outcome.failed, kPeers - called);
}

TEST_F(BroadcastInTurns, ThoseThatComeMeanwhileAreNotCalled) {
  add_peers(kPeers / 2);
  begin_broadcast();
  turn_into_the_middle();
  auto late = std::make_unique<Member>(*this);
  auto call = late->client.start<here>();
  const BroadcastOutcome outcome = end_broadcast();
  turn_both([&] { return call.done(); });
  EXPECT_EQ(outcome.answered, kPeers / 2);
  EXPECT_EQ(outcome.peers(), kPeers / 2);
  EXPECT_EQ(late->hearer.heard, 0);
}

TEST_F(BroadcastInTurns, AServerThatStopsInTheMiddleEndsIt) {
  add_peers(kPeers);
  begin_broadcast();
  const std::size_t called = turn_into_the_middle();
  server_->stop(Duration::zero());
  const BroadcastOutcome outcome = end_broadcast();
  EXPECT_LE(outcome.answered, called);
  EXPECT_EQ(outcome.peers(), kPeers);
}

}  // namespace
}  // namespace weft::testing::broadcast_turns_tests
