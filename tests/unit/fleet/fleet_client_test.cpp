// SPDX-License-Identifier: Apache-2.0
// CR-13: calls of many servers behind a name, on a clock that stands still.
#include "weft/fleet/fleet_client.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/manual_time.hpp"
#include "weft/balancing/round_robin.hpp"
#include "weft/coro/scope.hpp"
#include "weft/runtime/sleep.hpp"
#include "weft/server.hpp"
#include "weft/transport/memory.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

struct Replica {
  int number = 0;
  int ran = 0;
  bool is_slow = false;

  Task<int> ask() {
    ++ran;
    if (is_slow) {
      SleepAwaiter nap = sleep_for(10s);
      static_cast<void>(co_await nap);
    }
    co_return number;
  }
};
inline constexpr auto ask_again = idempotent<&Replica::ask>;

class SilentLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override {}
};

class Fleets : public ::testing::Test {
 protected:
  Fleets() : loop_(Loop::create({.clock = &clock_}).value()) {
    transports_.add(std::make_unique<MemoryNetwork>());
  }
  ~Fleets() override {
    fleet_.reset();
    servers_.clear();
    loop_->run_until_idle();
  }

  void serve(int number) {
    replicas_[number].number = number;
    ServerOptions options;
    options.listen = {url(number)};
    options.threads = 0;
    options.loop = loop_.get();
    options.logger = &logger_;
    options.limits.ping_interval = 0s;
    auto server = std::make_unique<Server>(std::move(options), transports_);
    server->register_handler<&Replica::ask>(&replicas_[number]);
    server->start().value();
    servers_[number] = std::move(server);
  }
  void crash(int number) { servers_.erase(number); }
  static std::string url(int number) { return "memory://s" + std::to_string(100 + number); }
  FleetClient& make(int servers, FleetOptions options = {}) {
    options.name = "static:";
    for (int i = 0; i < servers; ++i) options.name += (i == 0 ? "" : ",") + url(i);
    options.naming.logger = &logger_;
    options.pool.client.logger = &logger_;
    options.pool.client.limits.ping_interval = 0s;
    options.seed = 7;
    fleet_ = std::make_unique<FleetClient>(*loop_, std::move(options), transports_);
    testing::pass(*loop_, clock_, 1s);
    return *fleet_;
  }
  /// Runs `task` while time passes as it must.
  template <typename T>
  T run(Task<T> task, Duration time = 60s) {
    std::optional<T> result;
    Scope scope;
    loop_->post([&] { scope.spawn(&Fleets::keep<T>, &task, &result); });
    for (Duration passed{}; !result && passed < time; passed += 10ms) testing::pass(*loop_, clock_, 10ms);
    EXPECT_TRUE(result.has_value());
    return std::move(*result);
  }
  template <typename T>
  static Task<void> keep(Task<T>* task, std::optional<T>* result) {
    result->emplace(co_await std::move(*task));
  }

  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_;
  Transports transports_;
  std::map<int, Replica> replicas_;
  std::map<int, std::unique_ptr<Server>> servers_;
  std::unique_ptr<FleetClient> fleet_;
};

TEST_F(Fleets, CR13RoundRobinSharesCallsWithinThreePercent) {
  for (int i = 0; i < 4; ++i) serve(i);
  FleetOptions options;
  options.balancing = std::make_unique<RoundRobin>();
  FleetClient& fleet = make(4, std::move(options));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  for (auto& [number, replica] : replicas_) replica.ran = 0;
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  for (auto& [number, replica] : replicas_) EXPECT_NEAR(replica.ran, 100, 3) << number;
}

TEST_F(Fleets, CR13NoIdempotentCallFailsWhileServersAreKilledAndComeBackInTurn) {
  for (int i = 0; i < 4; ++i) serve(i);
  FleetClient& fleet = make(4);
  for (int round = 0; round < 8; ++round) {
    crash(round % 4);
    for (int i = 0; i < 25; ++i) {
      const Result<int> reply = run(fleet.call<ask_again>());
      ASSERT_TRUE(reply.ok()) << reply.status().to_string();
    }
    serve(round % 4);
    for (int i = 0; i < 25; ++i) ASSERT_TRUE(run(fleet.call<ask_again>()).ok());
  }
}

TEST_F(Fleets, AServerThatComesBackGetsCallsAgain) {
  serve(0);
  FleetClient& fleet = make(2);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  serve(1);
  testing::pass(*loop_, clock_, 20s);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  EXPECT_GT(replicas_[1].ran, 10);
}

TEST_F(Fleets, ACallSaysWhyNoServerCouldBeAskedInItsTime) {
  FleetClient& fleet = make(2);
  const FleetCallOptions options{.call = {.timeout = 3s}};
  const Result<int> reply = run(fleet.call<&Replica::ask>(options));
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(reply.status().unprocessed());
}

TEST_F(Fleets, ABackupAnswersForAServerThatDoesNot) {
  serve(0);
  serve(1);
  FleetOptions given;
  given.balancing = std::make_unique<RoundRobin>();
  given.backup_after = 50ms;
  FleetClient& fleet = make(2, std::move(given));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(run(fleet.call<ask_again>()).ok());
  replicas_[0].is_slow = true;
  const FleetCallOptions options{.call = {.timeout = 2s}};
  for (int i = 0; i < 4; ++i) {
    const Result<int> reply = run(fleet.call<ask_again>(options));
    ASSERT_TRUE(reply.ok()) << reply.status().to_string();
    EXPECT_EQ(*reply, 1);
  }
  EXPECT_GT(fleet.stats().backups_won, 0u);
}

TEST_F(Fleets, AQuorumIsTheFirstGoodAnswersAndTheRestIsCancelled) {
  for (int i = 0; i < 3; ++i) serve(i);
  FleetClient& fleet = make(3);
  replicas_[1].is_slow = true;
  const FleetCallOptions options{.call = {.timeout = 5s}};
  const auto replies = run(fleet.call_quorum<&Replica::ask>(2, options));
  ASSERT_TRUE(replies.ok()) << replies.status().to_string();
  EXPECT_EQ(replies->size(), 2u);
  EXPECT_EQ(fleet.stats().calls_in_flight, 0u);
  crash(0);
  const auto fewer = run(fleet.call_quorum<&Replica::ask>(2, options));
  EXPECT_FALSE(fewer.ok());
}

}  // namespace
}  // namespace weft
