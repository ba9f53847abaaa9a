// SPDX-License-Identifier: Apache-2.0
// CR-13: which failures a fleet tries again, by its options and by those of one call, and whom its policies
// choose.
#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "unit/fleet/fleet_testing.hpp"
#include "weft/detail/balancing/locality_first.hpp"
#include "weft/detail/balancing/round_robin.hpp"
#include "weft/detail/balancing/smooth_weighted_round_robin.hpp"

namespace weft::fleet_tests {
namespace {

class FleetRetries : public FleetTest {
 protected:
  FleetClient& make_even(int servers, FleetOptions options = {}) {
    options.balancing = std::make_unique<RoundRobin>();
    options.outliers.reset();
    return make(servers, std::move(options));
  }
  int ran() const {
    int sum = 0;
    for (const auto& [number, replica] : replicas_) sum += replica.ran;
    return sum;
  }
  void work(Duration time) {
    for (auto& [number, replica] : replicas_) replica.work = time;
  }
  /// Lets one call with these rules go, and crashes the server that runs it; the others answer at once.
  Result<int> call_and_crash(const FleetRetry& retry) {
    work(std::chrono::hours{1});
    const std::map<int, Replica> before = replicas_;
    Many many;
    begin<ask_again>(many, FleetCallOptions{.retry = &retry});
    int asked = -1;
    pass_until([&] {
      for (const auto& [number, replica] : replicas_) {
        if (replica.ran > before.at(number).ran) asked = number;
      }
      return asked >= 0;
    });
    work(0s);
    crash(asked);
    finish(many);
    Result<int> result = std::move(many.results.front());
    serve(asked);
    testing::pass(*loop_, clock_, 5s);
    return result;
  }
};

TEST_F(FleetRetries, OfLostConnectionsAreAsTheOptionSays) {
  for (int i = 0; i < 3; ++i) serve(i);
  make_even(3);
  const FleetRetry not_of_these{.on_unavailable = false};
  const Result<int> once = call_and_crash(not_of_these);
  EXPECT_EQ(once.status().code(), StatusCode::kUnavailable) << once.status().to_string();
  EXPECT_EQ(fleet_->stats().retries, 0u);
  const FleetRetry only_of_these{.on_overload = false, .on_timeout = false};
  const Result<int> again = call_and_crash(only_of_these);
  EXPECT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(fleet_->stats().retries, 1u);
}

TEST_F(FleetRetries, OfAttemptsThatTookTooLongAreAsTheOptionSays) {
  for (int i = 0; i < 3; ++i) serve(i);
  FleetClient& fleet = make_even(3);
  work(std::chrono::hours{1});
  const FleetRetry not_of_these{.attempt_timeout = 1s, .on_timeout = false};
  const FleetCallOptions once{.retry = &not_of_these};
  EXPECT_EQ(run(fleet.call<ask_again>(once)).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ran(), 1);
  const FleetRetry only_of_these{
      .attempts_max = 3, .attempt_timeout = 1s, .on_unavailable = false, .on_overload = false};
  const FleetCallOptions thrice{.retry = &only_of_these};
  const TimePoint before = clock_.now();
  EXPECT_EQ(run(fleet.call<ask_again>(thrice)).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ran(), 4) << "three more";
  EXPECT_LE(clock_.now() - before, 4s) << "each has its second, and the next server is asked at once";
  EXPECT_EQ(run(fleet.call<&Replica::ask>(thrice)).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ran(), 5) << "what is not idempotent is not run again";
}

TEST_F(FleetRetries, OfServersWithoutRoomAreAsTheOptionSays) {
  for (int i = 0; i < 2; ++i) serve(i, {.running_max = 1});
  FleetOptions given;
  given.waits_as_told = false;
  FleetClient& fleet = make_even(2, std::move(given));
  work(10s);
  Many many;
  for (int i = 0; i < 2; ++i) begin<&Replica::ask>(many, {});
  pass_until([&] { return ran() == 2; });
  const FleetRetry not_of_these{.on_overload = false};
  const Status refused = run(fleet.call<&Replica::ask>(FleetCallOptions{.retry = &not_of_these})).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused.to_string();
  EXPECT_TRUE(refused.unprocessed());
  EXPECT_EQ(fleet.stats().retries, 0u);
  work(0s);  // of those that come from now on
  const FleetRetry only_of_these{
      .attempts_max = 20, .backoff_min = 4s, .backoff_max = 4s, .on_unavailable = false, .on_timeout = false};
  const Result<int> waited = run(fleet.call<&Replica::ask>(FleetCallOptions{.retry = &only_of_these}));
  EXPECT_TRUE(waited.ok()) << waited.status().to_string();
  EXPECT_GT(fleet.stats().retries, 1u) << "also of a call that may run once only, for it has not run";
  finish(many);
}

TEST_F(FleetRetries, OfOneCallReplaceThoseOfTheFleet) {
  for (int i = 0; i < 4; ++i) serve(i);
  FleetOptions given;
  given.retry = {.attempts_max = 2, .attempt_timeout = 100ms};
  given.backup_after = 10s;
  FleetClient& fleet = make_even(4, std::move(given));
  work(std::chrono::hours{1});
  EXPECT_FALSE(run(fleet.call<ask_again>()).ok());
  EXPECT_EQ(ran(), 2);
  const FleetRetry often{.attempts_max = 4, .attempt_timeout = 100ms};
  EXPECT_FALSE(run(fleet.call<ask_again>(FleetCallOptions{.retry = &often})).ok());
  EXPECT_EQ(ran(), 6);
  EXPECT_EQ(fleet.stats().backups, 0u);
  const FleetRetry patient{.attempts_max = 1};
  const FleetCallOptions sooner{
      .call = {.timeout = 5s}, .retry = &patient, .backup_after = std::chrono::milliseconds{500}};
  EXPECT_FALSE(run(fleet.call<ask_again>(sooner)).ok());
  EXPECT_EQ(fleet.stats().backups, 1u);
  const FleetCallOptions never{.call = {.timeout = 20s}, .retry = &patient, .backup_after = Duration::zero()};
  EXPECT_FALSE(run(fleet.call<ask_again>(never)).ok());
  EXPECT_EQ(fleet.stats().backups, 1u);
}

TEST_F(FleetRetries, ThatFindNoServerDoNotHideThatTheCallMayHaveRun) {
  for (const bool waits : {false, true}) {
    serve(0);
    FleetOptions given;
    given.waits_for_ready = waits;
    FleetClient& fleet = make_even(1, std::move(given));
    work(std::chrono::hours{1});
    const int before = ran();
    const FleetCallOptions options{.call = {.timeout = 5s}};
    Many many;
    begin<ask_again>(many, options);
    pass_until([&] { return ran() > before; });
    crash(0);
    finish(many);
    const Status lost = many.results.front().status();
    EXPECT_EQ(lost.code(), waits ? StatusCode::kDeadlineExceeded : StatusCode::kUnavailable)
        << lost.to_string();
    EXPECT_NE(lost.message().find(waits ? "closed the connection" : "no server of"), std::string_view::npos)
        << lost.to_string();
    EXPECT_FALSE(lost.unprocessed()) << "the server had begun to run it";
    const Status unsent = run(fleet.call<ask_again>(options)).status();
    EXPECT_EQ(unsent.code(), lost.code());
    EXPECT_TRUE(unsent.unprocessed()) << "of another call nothing was sent";
    EXPECT_EQ(ran(), before + 1);
    fleet_.reset();
  }
}

TEST_F(FleetRetries, ThatAreRefusedDoNotHideThatTheCallMayHaveRun) {
  serve(0);
  serve(1, {.running_max = 1});
  FleetOptions given;
  given.waits_as_told = false;
  make_even(2, std::move(given));
  work(std::chrono::hours{1});
  Many busy;
  while (replicas_[1].ran == 0) {
    begin<&Replica::ask>(busy, {.call = {.timeout = std::chrono::minutes{30}}});
    testing::pass(*loop_, clock_, 100ms);
  }
  const int before = replicas_[0].ran;
  const FleetRetry thrice{.attempts_max = 3};
  Many many;
  begin<ask_again>(many, {.call = {.timeout = 20s}, .retry = &thrice});
  pass_until([&] { return replicas_[0].ran > before; });
  crash(0);
  finish(many);
  const Status refused = many.results.front().status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused.to_string();
  EXPECT_FALSE(refused.unprocessed()) << "the first server had begun to run it";
  crash(1);
  finish(busy);
}

TEST_F(FleetRetries, OfACallWhoseBackupMayHaveRunDoNotHideThatTheCallMayHaveRun) {
  serve(0, {.running_max = 1});
  FleetOptions given;
  given.waits_for_ready = false;
  given.waits_as_told = false;
  make_even(1, std::move(given));
  work(300ms);
  Many first;
  begin<&Replica::ask>(first, {});
  pass_until([&] { return ran() == 1; });
  work(std::chrono::hours{1});
  const FleetRetry slow{.backoff_min = 20s, .backoff_max = 20s};
  Many many;
  begin<ask_again>(many, {.call = {.timeout = 50s}, .retry = &slow, .backup_after = 1s});
  finish(first);
  pass_until([&] { return ran() == 2; });
  EXPECT_EQ(fleet_->stats().backups, 1u) << "the server refused the call, and takes the backup";
  crash(0);
  finish(many);
  const Status failure = many.results.front().status();
  EXPECT_EQ(failure.code(), StatusCode::kUnavailable) << failure.to_string();
  EXPECT_FALSE(failure.unprocessed()) << "the server had begun to run the backup";
}

TEST_F(FleetRetries, ThatEndWithTheClientDoNotHideThatTheCallMayHaveRun) {
  serve(0);
  FleetClient& fleet = make_even(1);
  work(std::chrono::hours{1});
  Many many;
  begin<ask_again>(many, {});
  pass_until([&] { return ran() == 1; });
  crash(0);
  testing::pass(*loop_, clock_, 1s);
  begin<ask_again>(many, {});
  testing::pass(*loop_, clock_, 1s);
  ASSERT_TRUE(many.results.empty()) << "both wait for the server";
  fleet.close();
  finish(many);
  const auto unprocessed = std::ranges::count_if(
      many.results, [](const Result<int>& result) { return result.status().unprocessed(); });
  EXPECT_EQ(unprocessed, 1) << "the second call was never sent, the first one may have run";
}

using FleetPolicies = FleetTest;

TEST_F(FleetPolicies, AskTheZoneOfTheClientWhileItIsThereAndTheOthersThen) {
  for (int i = 0; i < 4; ++i) serve(i);
  FleetOptions given;
  given.name = "static:" + url(0) + " zone=near," + url(1) + " zone=near," + url(2) + " zone=far," + url(3);
  given.balancing = std::make_unique<LocalityFirst>(
      LocalityFirstOptions{.zone = "near"}, std::make_unique<RoundRobin>(), std::make_unique<RoundRobin>());
  FleetClient& fleet = make_named(std::move(given));
  const auto call = [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      const Result<int> answer = run(fleet.call<ask_again>());
      ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    }
  };
  call(40);
  EXPECT_NEAR(replicas_[0].ran, 20, 1);
  EXPECT_NEAR(replicas_[1].ran, 20, 1);
  EXPECT_EQ(replicas_[2].ran + replicas_[3].ran, 0);
  crash(0);
  crash(1);
  testing::pass(*loop_, clock_, 1s);
  call(40);
  EXPECT_EQ(replicas_[0].ran + replicas_[1].ran, 40);
  EXPECT_NEAR(replicas_[2].ran, 20, 1);
  EXPECT_NEAR(replicas_[3].ran, 20, 1);
}

TEST_F(FleetPolicies, GiveServersTheirPartByTheWeightsOfTheList) {
  for (int i = 0; i < 2; ++i) serve(i);
  FleetOptions given;
  given.name = "static:" + url(0) + "," + url(1) + " weight=3";
  given.balancing = std::make_unique<SmoothWeightedRoundRobin>(7);
  FleetClient& fleet = make_named(std::move(given));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  ASSERT_EQ(fleet.stats().ready, 2u);
  for (auto& [number, replica] : replicas_) replica.ran = 0;
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  EXPECT_NEAR(replicas_[0].ran, 10, 1);
  EXPECT_NEAR(replicas_[1].ran, 30, 1);
}

}  // namespace
}  // namespace weft::fleet_tests
