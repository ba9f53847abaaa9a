// SPDX-License-Identifier: Apache-2.0
// Late loops refuse requests that waited too long, and read before they judge a peer. On a manual clock.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/counting_world.hpp"

namespace weft::simulation {

using namespace weft::detail;
namespace {

/// A timer that fires in every turn and makes that take `time`.
class Busy final : public Timer {
 public:
  Busy(Loop& loop, ManualClock& clock, Duration time) : loop_(loop), clock_(clock), time_(time) {
    loop_.arm(*this, loop_.now());
  }
  ~Busy() { loop_.disarm(*this); }
  void on_timer() override {
    clock_.advance(time_);
    loop_.read_clock();
    loop_.arm(*this, TimePoint::min());
  }

 private:
  Loop& loop_;
  ManualClock& clock_;
  Duration time_;
};

class LateLoops : public CountingWorld {};

// The calls arrive a millisecond after they left, and the loop is back after three times their timeout.
TEST_F(LateLoops, RunNoRequestWhoseTimeHasPassed) {
  network_.host("client").set_outgoing({.latency = 1ms});
  serve();
  Client& client = this->client();
  auto first = begin(client, 1, 500ms);
  pass(10s);
  ASSERT_EQ(counted_.ran, 1);
  auto calls = begin(client, 1000, 500ms);
  clock_.advance(1500ms);
  pass(1s);
  EXPECT_EQ(counted_.ran, 1) << "requests were run for callers that had given up";
  EXPECT_GE(server_->stats().refused[RefusalReason::kBehind], 1u);
  for (auto& call : calls) {
    EXPECT_EQ(outcome_of(std::move(call)).status().code(), StatusCode::kDeadlineExceeded);
  }
  auto after = begin(client, 1, 500ms);
  pass(100ms);
  EXPECT_EQ(counted_.ran, 2) << "the connection goes on";
}

// The calls are on their way for nearly as long as the loop is away, and then wait for 5 ms.
TEST_F(LateLoops, RunARequestThatHasJustArrived) {
  serve();
  Client& client = this->client();
  auto first = begin(client, 1, 500ms);
  pass(10s);
  network_.host("client").set_outgoing({.latency = 1495ms});
  auto calls = begin(client, 100, 500ms);
  clock_.advance(1500ms);
  pass(1s);
  EXPECT_EQ(counted_.ran, 101);
  EXPECT_EQ(server_->stats().refused[RefusalReason::kBehind], 0u);
}

TEST_F(LateLoops, RunTheFirstRequestAfterALongSilence) {
  serve();
  Client& client = this->client();
  for (int i = 1; i <= 3; ++i) {
    pass(1h);
    auto call = begin(client, 1, 10ms);
    pass(1ms);
    EXPECT_EQ(counted_.ran, i);
    EXPECT_TRUE(outcome_of(std::move(call.front())).ok());
  }
}

// Many clients on a loop whose turns take 300 ms each. Such a turn is old from its beginning, so that the
// loop reads one connection of many in it.
class CrowdedLoops : public LateLoops {
 protected:
  static constexpr int kClients = 40;

  void connect_all(const ClientOptions& options) {
    for (int i = 0; i < kClients; ++i) {
      auto call = begin(client(options), 1, 30s);
      pass(10ms);
      ASSERT_TRUE(outcome_of(std::move(call.front())).ok());
    }
  }
  void be_late_for(int turns) {
    Busy busy{*loop_, clock_, 300ms};
    for (int turn = 0; turn < turns; ++turn) loop_->run_once(Duration::zero());
  }
};

TEST_F(CrowdedLoops, KeepPeersWhosePongsTheyReadLate) {
  serve();
  ClientOptions options;
  options.limits.ping_interval = 2s;
  connect_all(options);
  be_late_for(1000);
  pass(1s);
  for (auto& client : clients_) EXPECT_EQ(client->stats().connections, 1u) << "it lost a peer that was there";

  network_.host("server").power_off();
  pass(10s);
  auto lost = begin(*clients_.front(), 1, 30s);
  pass(20s);
  EXPECT_FALSE(outcome_of(std::move(lost.front())).ok());
  EXPECT_EQ(clients_.front()->stats().connections, 1u);
  EXPECT_GE(clients_.front()->stats().connect_failures, 1u) << "a dead peer was not given up";
}

// The hellos of the server arrive after the loop begins to be late.
TEST_F(CrowdedLoops, ConnectOnceAlthoughTheyReadHellosLate) {
  network_.host("server").set_outgoing({.latency = 1ms});
  serve();
  ClientOptions options;
  options.connect_timeout = 2s;
  std::vector<Call<std::uint32_t>> calls;
  CallOptions patient;
  patient.timeout = kNoTimeout;
  for (int i = 0; i < kClients; ++i) calls.push_back(client(options).start<&Counted::count>(patient, 1u));
  pass(1500us);
  be_late_for(1000);
  pass(1s);
  for (auto& call : calls) {
    const auto answer = outcome_of(std::move(call));
    EXPECT_TRUE(answer.ok()) << answer.status().to_string();
  }
  for (auto& client : clients_) {
    EXPECT_EQ(client->stats().connections, 1u);
    EXPECT_EQ(client->stats().connect_failures, 0u);
  }
}

// The answers arrive a millisecond after the loop begins to be late.
TEST_F(CrowdedLoops, TakeAnswersThatArrivedBeforeTheDeadline) {
  serve();
  connect_all({});
  network_.host("server").set_outgoing({.latency = 1ms});
  std::vector<Call<std::uint32_t>> calls;
  for (auto& client : clients_) calls.push_back(std::move(begin(*client, 1, 500ms).front()));
  ASSERT_EQ(counted_.ran, 2 * kClients);
  be_late_for(1000);
  for (auto& call : calls) {
    const auto answer = outcome_of(std::move(call));
    EXPECT_TRUE(answer.ok()) << answer.status().to_string();
  }
}

TEST_F(CrowdedLoops, EndCallsThatGetNoAnswer) {
  serve();
  connect_all({});
  network_.host("server").set_outgoing({.latency = 1000h});
  std::vector<Call<std::uint32_t>> calls;
  for (auto& client : clients_) calls.push_back(std::move(begin(*client, 1, 500ms).front()));
  be_late_for(200);
  for (auto& call : calls) {
    EXPECT_EQ(outcome_of(std::move(call)).status().code(), StatusCode::kDeadlineExceeded);
  }
}

}  // namespace
}  // namespace weft::simulation
