// SPDX-License-Identifier: Apache-2.0
// CR-13, CR-14: servers that refuse calls and say how long to wait, and a fleet that does, on a clock that
// stands still.
#include "unit/fleet/fleet_testing.hpp"
#include "weft/detail/balancing/round_robin.hpp"
#include "weft/detail/limits/quiet_methods.hpp"

namespace weft::fleet_tests {
namespace {

class FleetWaits : public FleetTest {
 protected:
  /// One call of ask() each second, and others are refused.
  void serve_one_each_second(int number) {
    HandlerOptions asking;
    asking.rate = Rate{.per_second = 1, .burst = 1};
    serve(number, asking);
  }
  std::uint64_t refused_at(int number) {
    return servers_[number]->stats().refused[RefusalReason::kOverMethodsRate];
  }
  static FleetOptions by_turns() {
    FleetOptions options;
    options.balancing = std::make_unique<RoundRobin>();
    options.outliers.reset();
    return options;
  }
  Result<int> ask(Duration timeout = 30s) {
    return run(fleet_->call<&Replica::ask>(FleetCallOptions{.call = {.timeout = timeout}}));
  }
};

TEST_F(FleetWaits, AskNoServerSoonerThanItSaid) {
  serve_one_each_second(0);
  make(1, by_turns());
  EXPECT_TRUE(ask().ok());
  Many many;
  begin<&Replica::ask>(many, {});
  testing::pass(*loop_, clock_, 100ms);
  EXPECT_EQ(refused_at(0), 1u);
  const std::uint64_t attempts = fleet_->stats().attempts;
  for (int i = 0; i < 20; ++i) begin<&Replica::ask>(many, {.call = {.timeout = 60s}});
  testing::pass(*loop_, clock_, 800ms);
  EXPECT_EQ(fleet_->stats().attempts, attempts) << "nobody asks before the time that was told";
  EXPECT_GE(fleet_->stats().waits_told, 20u);
  finish(many);
  for (const Result<int>& result : many.results) {
    EXPECT_TRUE(result.ok() || result.status().code() == StatusCode::kResourceExhausted)
        << result.status().to_string();
  }
}

TEST_F(FleetWaits, AskOthersMeanwhile) {
  serve_one_each_second(0);
  serve(1);
  make(2, by_turns());
  for (int i = 0; i < 4; ++i) static_cast<void>(ask());  // both are connected
  testing::pass(*loop_, clock_, 3s);
  const std::uint64_t refused = refused_at(0);
  const TimePoint begun = loop_->now();
  for (int i = 0; i < 40; ++i) {
    const Result<int> answer = ask(1s);
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  }
  ASSERT_LE(loop_->now() - begun, 1s);
  EXPECT_EQ(refused_at(0), refused + 1);
  EXPECT_EQ(fleet_->stats().waits_told, 0u);
}

TEST_F(FleetWaits, FailAtOnceACallThatHasLessTime) {
  serve_one_each_second(0);
  make(1, by_turns());
  EXPECT_TRUE(ask().ok());
  EXPECT_EQ(ask(100ms).status().code(), StatusCode::kResourceExhausted);
  const std::uint64_t attempts = fleet_->stats().attempts;
  const TimePoint begun = loop_->now();
  const Result<int> answer = ask(100ms);
  EXPECT_EQ(answer.status().code(), StatusCode::kResourceExhausted) << answer.status().to_string();
  EXPECT_TRUE(answer.status().unprocessed());
  EXPECT_GT(answer.status().retry_after(), 100ms);
  EXPECT_LE(answer.status().retry_after(), 1s);
  EXPECT_LE(loop_->now() - begun, 10ms);
  EXPECT_EQ(fleet_->stats().attempts, attempts);
}

TEST_F(FleetWaits, LeaveOtherMethodsOfTheServerAsTheyAre) {
  serve_one_each_second(0);
  make(1, by_turns());
  EXPECT_TRUE(ask().ok());
  EXPECT_FALSE(ask(100ms).ok());
  EXPECT_TRUE(run(fleet_->call<&Replica::once>(FleetCallOptions{.call = {.timeout = 100ms}}, 1)).ok());
}

TEST_F(FleetWaits, AreThoseOfTheCallAloneIfSoAskedFor) {
  serve_one_each_second(0);
  FleetOptions options = by_turns();
  options.waits_as_told = false;
  make(1, std::move(options));
  EXPECT_TRUE(ask().ok());
  Many many;
  for (int i = 0; i < 3; ++i) {
    begin<&Replica::ask>(many, {});
    testing::pass(*loop_, clock_, 10ms);
  }
  EXPECT_EQ(refused_at(0), 3u);
  testing::pass(*loop_, clock_, 800ms);
  EXPECT_EQ(refused_at(0), 3u) << "a call that was refused waits as it was told";
  finish(many);
}

// More of them come than the server bears, so most of what it is asked it refuses.
TEST_F(FleetWaits, EjectNoServerForItsRefusals) {
  for (const bool waits : {true, false}) {
    serve_one_each_second(0);
    serve(1);
    FleetOptions options = by_turns();
    options.outliers.emplace();
    options.outliers->failure_share = 0.4;
    options.outliers->window_calls_min = 8;
    options.waits_as_told = waits;
    make(2, std::move(options));
    std::size_t ejected = 0;
    const std::uint64_t refused = refused_at(0);
    for (int round = 0; round < 80; ++round) {
      Many many;
      for (int i = 0; i < 20; ++i) begin<&Replica::ask>(many, {.call = {.timeout = 60s}});
      finish(many);
      for (const Result<int>& result : many.results) EXPECT_TRUE(result.ok()) << result.status().to_string();
      ejected = std::max(ejected, fleet_->stats().ejected);
      testing::pass(*loop_, clock_, 400ms);
    }
    EXPECT_GE(refused_at(0) - refused, 5u);
    EXPECT_EQ(ejected, waits ? 0u : 1u);
    fleet_.reset();
    crash(0);
    crash(1);
  }
}

TEST_F(FleetWaits, EndWithAServerThatComesMeanwhile) {
  serve_one_each_second(0);
  serve(1);
  make_listed(url(0) + "\n", by_turns());
  EXPECT_TRUE(ask().ok());
  EXPECT_FALSE(ask(100ms).ok());
  Many many;
  HandlerOptions asking;
  asking.rate = Rate{.per_second = 1.0 / 60, .burst = 1};
  crash(0);
  serve(0, asking);
  testing::pass(*loop_, clock_, 2s);
  EXPECT_TRUE(ask().ok());
  EXPECT_FALSE(ask(100ms).ok());
  begin<&Replica::ask>(many, {.call = {.timeout = 300s}});
  const TimePoint begun = loop_->now();
  list(url(0) + "\n" + url(1) + "\n");
  finish(many);
  EXPECT_TRUE(many.results.front().ok());
  EXPECT_LE(loop_->now() - begun, 30s) << "and not after a minute";
}

TEST_F(FleetWaits, ArePartOfACallToAll) {
  serve_one_each_second(0);
  serve(1);
  make(2, by_turns());
  for (int i = 0; i < 6; ++i) static_cast<void>(ask());
  const std::uint64_t refused = refused_at(0);
  ASSERT_GT(refused, 0u);
  auto all = run(fleet_->call_all<&Replica::ask>(FleetCallOptions{.call = {.timeout = 5s}}));
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(all->front().outcome.status().code(), StatusCode::kResourceExhausted);
  EXPECT_GT(all->front().outcome.status().retry_after(), Duration::zero());
  EXPECT_TRUE(all->back().outcome.ok());
  EXPECT_EQ(refused_at(0), refused);
}

TEST(QuietMethods, AreRememberedOneByOneAndThenAsAWhole) {
  detail::QuietMethods quiet;
  const TimePoint now{1h};
  EXPECT_EQ(quiet.until(1, now), now);
  for (std::uint64_t method = 1; method <= 4; ++method) quiet.tell(method, now + method * 1s, now);
  quiet.tell(3, now + 1s, now);
  EXPECT_EQ(quiet.until(1, now), now + 1s);
  EXPECT_EQ(quiet.until(3, now), now + 3s) << "a shorter wait takes nothing back";
  EXPECT_EQ(quiet.until(5, now), now);
  quiet.tell(5, now + 2s, now);
  EXPECT_EQ(quiet.until(6, now), now + 2s) << "the whole server, when so many are refused";
  EXPECT_EQ(quiet.until(6, now + 2s), now + 2s);
  EXPECT_EQ(quiet.until(1, now + 2s), now + 2s);
  quiet.tell(7, now + 9s, now + 4s);
  EXPECT_EQ(quiet.until(7, now + 4s), now + 9s);
  EXPECT_EQ(quiet.until(8, now + 4s), now + 4s) << "places of what is over are free again";
}

TEST(QuietMethods, AreAskedAgainAfterAMinuteWhateverTheirServerSays) {
  detail::QuietMethods quiet;
  const TimePoint now{1h};
  quiet.tell(1, now + 24h, now);
  EXPECT_EQ(quiet.until(1, now), now + 1min);
}

/// Calls for which there is no server, by the part of a fleet that finds them.
class CallsThatWait : public FleetTest {
 protected:
  static constexpr int kServers = 100;
  static constexpr std::uint64_t kMethod = 7;

  CallsThatWait() {
    FleetOptions options;
    options.pool.idle_timeout = 0s;  // connections stay without calls
    options.pool.spare_idle_timeout = 1h;
    options.name = "static:";
    for (int i = 0; i < kServers; ++i) {
      serve(i);
      options.name += (i == 0 ? "" : ",") + url(i);
    }
    options.naming.logger = &logger_;
    options.pool.client.logger = &logger_;
    options.pool.client.limits.ping_interval = 0s;
    options.balancing = std::make_unique<RoundRobin>();
    core_ = std::make_shared<detail::FleetCore>(*loop_, std::move(options), transports_);
    loop_->post([this] { core_->begin(); });
    for (int i = 0; i < 3 * kServers && core_->stats().ready < kServers; ++i) {
      static_cast<void>(pick());
      testing::pass(*loop_, clock_, 10ms);
    }
    EXPECT_EQ(core_->stats().ready, std::size_t{kServers});
  }
  ~CallsThatWait() override {
    core_->close();
    core_.reset();
  }

  detail::FleetMember* pick(std::uint64_t method = kMethod) {
    bool dialing = false;
    return core_->pick(method, 0, {}, false, dialing, quiet_until_);
  }
  void tell_to_wait(detail::FleetMember& member, Duration wait) {
    Status refused{StatusCode::kResourceExhausted, Layer::kRpc, "busy"};
    refused.set_retry_after(wait);
    refused.mark_unprocessed();
    EXPECT_TRUE(core_->told(member, kMethod, refused));
  }
  /// The last of them may be called first.
  void tell_all_to_wait() {
    Duration wait = 10s;
    for (const auto& member : core_->list().members()) tell_to_wait(*member, wait -= 10ms);
  }

  std::shared_ptr<detail::FleetCore> core_;
  TimePoint quiet_until_;
};

TEST_F(CallsThatWait, LookAtAllServersOnceTogether) {
  tell_all_to_wait();
  const TimePoint first = clock_.now() + 9s;
  const std::uint64_t looks = core_->looks();
  for (int i = 0; i < 1000; ++i) {
    quiet_until_ = {};
    ASSERT_EQ(pick(), nullptr);
    EXPECT_EQ(quiet_until_, first);
  }
  EXPECT_EQ(core_->looks() - looks, std::uint64_t{kServers});
  testing::pass(*loop_, clock_, 5s);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(pick(), nullptr);
    EXPECT_EQ(quiet_until_, first) << "it holds for as long as all of them asked for";
  }
  EXPECT_EQ(core_->looks() - looks, std::uint64_t{kServers});
  EXPECT_NE(pick(kMethod + 1), nullptr) << "other methods may be called";
}

TEST_F(CallsThatWait, FindAServerAsSoonAsOneMayBeCalled) {
  tell_all_to_wait();
  ASSERT_EQ(pick(), nullptr);
  testing::pass(*loop_, clock_, 9s);
  EXPECT_EQ(pick(), core_->list().members().back().get());
  // And one that comes while all others wait.
  tell_to_wait(*core_->list().members().back(), 10s);
  testing::pass(*loop_, clock_, 2s);
  for (const auto& member : core_->list().members()) tell_to_wait(*member, 30s);
  ASSERT_EQ(pick(), nullptr);
  crash(3);
  testing::pass(*loop_, clock_, 1s);
  detail::FleetMember& fresh = *core_->list().members()[3];
  fresh.quiet = {};
  static_cast<void>(core_->connect(fresh));
  testing::pass(*loop_, clock_, 1s);
  serve(3);
  for (int i = 0; i < 100 && pick() == nullptr; ++i) testing::pass(*loop_, clock_, 100ms);
  EXPECT_EQ(pick(), &fresh);
}

}  // namespace
}  // namespace weft::fleet_tests
