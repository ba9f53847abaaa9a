// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources": thousands of calls of one connection lose it together. Each ends once and with
// what became of it, a part of them in each turn, whatever is done with them, and with their server or
// client, meanwhile.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft::faults::lost_together_tests {

using namespace weft::detail;
namespace {

constexpr std::size_t kCalls = 5'000;
/// Calls that one turn may end: those of the turn in which the loss is seen, and a part that comes behind it.
constexpr std::size_t kEndedInATurn = 1'024;

/// Keeps what it is to answer.
struct Owing {
  std::vector<Reply<int>> replies;
  void take(Reply<int> reply) { replies.push_back(std::move(reply)); }
};

class LostTogether : public StillFaultTest {
 protected:
  /// A server that owes a peer as many answers as there are calls.
  void owe() {
    server_ = &serve({}, [this](Server& its) { its.register_handler<&Owing::take>(&owing_); });
    peer_.emplace(server_->urls().front());
    std::string requests = hello_bytes();
    for (std::uint64_t id = 1; id <= kCalls; ++id) requests += request_bytes<&Owing::take>(id);
    ASSERT_TRUE(peer_->send(requests));
    ASSERT_TRUE(turn_until(loop(), [&] { return owing_.replies.size() == kCalls; }));
  }
  std::uint64_t dropped() const { return server_->stats().methods.front().dropped; }
  /// Turns until some of the calls, and not all, were told.
  void lose_some() {
    peer_->reset();
    ASSERT_TRUE(turn_until(loop(), [&] { return dropped() > 0; }));
    ASSERT_LT(dropped(), kCalls) << "one turn told all of them";
  }

  /// A client whose peer took its requests, and resets the connection.
  void ask(ClientOptions options = {}) {
    HostileListener listener;
    options.connect = listener.url();
    options.limits.calls_in_flight_max = kCalls;
    options.call_timeout = kNoTimeout;
    caller_ = std::make_unique<Client>(loop(), std::move(options));
    for (std::size_t i = 0; i < kCalls; ++i) calls_.push_back(caller_->start<&add>(1, 2));
    ASSERT_TRUE(turn_until(loop(), [&] { return listener.has_waiting(); }));
    asked_.emplace(listener.accept());
    ASSERT_TRUE(asked_->send(hello_bytes()));
    ASSERT_TRUE(turn_until(loop(), [&] { return caller_->stats().calls == kCalls; }));
  }
  std::size_t done() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(calls_, [](const auto& call) { return call.done(); }));
  }
  void lose_some_asked() {
    asked_->reset();
    ASSERT_TRUE(turn_until(loop(), [&] { return done() > 0; }));
    ASSERT_LT(done(), kCalls) << "one turn ended all of them";
  }

  Owing owing_;
  Server* server_ = nullptr;
  std::optional<HostilePeer> peer_;
  std::unique_ptr<Client> caller_;
  std::vector<Call<int>> calls_;
  std::optional<HostilePeer> asked_;
};

TEST_F(LostTogether, CallsThatAreServedAreToldAPartInEachTurn) {
  owe();
  peer_->reset();
  std::uint64_t before = 0;
  std::uint64_t most = 0;
  ASSERT_TRUE(turn_until(loop(), [&] {
    const std::uint64_t now = dropped();
    most = std::max(most, now - std::exchange(before, now));
    return now == kCalls;
  }));
  EXPECT_LE(most, kEndedInATurn);
  EXPECT_EQ(server_->stats().calls_running, kCalls) << "their Replies are there";
  owing_.replies.clear();
  EXPECT_TRUE(turn_until(loop(), [&] { return server_->stats().calls_running == 0; }));
  EXPECT_EQ(dropped(), kCalls);
}

TEST_F(LostTogether, ServedCallsThatAreAnsweredBeforeTheyAreToldAreDroppedOnce) {
  owe();
  lose_some();
  for (std::size_t i = 0; i < kCalls; i += 2) std::move(owing_.replies[i])(1);
  owing_.replies.clear();
  EXPECT_TRUE(turn_until(loop(), [&] { return server_->stats().calls_running == 0; }));
  const MethodStats stats = server_->stats().methods.front();
  EXPECT_EQ(stats.dropped, kCalls);
  EXPECT_EQ(stats.answered + stats.failures(), 0u) << "nobody was there to hear it";
}

TEST_F(LostTogether, AServerThatStopsMeanwhileTellsAllOfThem) {
  owe();
  lose_some();
  server_->stop(0s);
  ASSERT_TRUE(turn_until(loop(), [&] { return dropped() == kCalls; }));
  owing_.replies.clear();
  EXPECT_TRUE(turn_until(loop(), [&] { return server_->stats().calls_running == 0; }));
}

TEST_F(LostTogether, CallsThatWereAskedEndAPartInEachTurn) {
  ask();
  asked_->reset();
  std::size_t before = 0;
  std::size_t most = 0;
  ASSERT_TRUE(turn_until(loop(), [&] {
    const std::size_t now = done();
    most = std::max(most, now - std::exchange(before, now));
    return now == kCalls;
  }));
  EXPECT_LE(most, kEndedInATurn);
  EXPECT_EQ(caller_->stats().calls_in_flight, 0u);
  for (Call<int>& call : calls_) {
    ASSERT_EQ(wait_for(std::move(call)).status().code(), StatusCode::kUnavailable);
  }
}

TEST_F(LostTogether, AskedCallsThatAreCancelledOrDroppedBeforeTheyAreToldEndOnce) {
  ask();
  lose_some_asked();
  const std::size_t told = done();
  EXPECT_EQ(caller_->stats().calls_in_flight, kCalls - told);
  std::size_t cancelled = 0;
  for (std::size_t i = kCalls / 2; i < kCalls; ++i) {
    if (i % 3 == 0) continue;
    if (!calls_[i].done()) ++cancelled;
    calls_[i].cancel();
  }
  EXPECT_GT(cancelled, 0u);
  calls_.resize(kCalls - 100);
  ASSERT_TRUE(turn_until(loop(), [&] { return done() == calls_.size(); }));
  EXPECT_EQ(caller_->stats().calls_in_flight, 0u);
  for (Call<int>& call : calls_) {
    const StatusCode code = wait_for(std::move(call)).status().code();
    ASSERT_TRUE(code == StatusCode::kUnavailable || code == StatusCode::kCancelled);
  }
}

TEST_F(LostTogether, AClientThatIsDestroyedMeanwhileTellsTheRestWhatBecameOfThem) {
  ask();
  lose_some_asked();
  caller_.reset();
  EXPECT_EQ(done(), kCalls);
  for (Call<int>& call : calls_) {
    ASSERT_EQ(wait_for(std::move(call)).status().code(), StatusCode::kUnavailable);
  }
}

}  // namespace
}  // namespace weft::faults::lost_together_tests
