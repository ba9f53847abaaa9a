// SPDX-License-Identifier: Apache-2.0
// CR-13: calls of many servers behind a name, on a clock that stands still.
#include "unit/fleet/fleet_testing.hpp"
#include "weft/detail/balancing/consistent_hash.hpp"
#include "weft/detail/balancing/random_pick.hpp"
#include "weft/detail/balancing/round_robin.hpp"

namespace weft::fleet_tests {
namespace {

using Fleets = FleetTest;

TEST_F(Fleets, ShareCallsWithinThreePercentByRoundRobin) {
  for (int i = 0; i < 4; ++i) serve(i);
  FleetOptions options;
  options.balancing = std::make_unique<RoundRobin>();
  FleetClient& fleet = make(4, std::move(options));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  for (auto& [number, replica] : replicas_) replica.ran = 0;
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  for (auto& [number, replica] : replicas_) EXPECT_NEAR(replica.ran, 100, 3) << number;
}

TEST_F(Fleets, FailNoIdempotentCallWhileServersAreKilledAndComeBackInTurn) {
  for (int i = 0; i < 4; ++i) serve(i);
  FleetClient& fleet = make(4);
  for (int round = 0; round < 8; ++round) {
    crash(round % 4);
    for (int i = 0; i < 25; ++i) {
      const Result<int> answer = run(fleet.call<ask_again>());
      ASSERT_TRUE(answer.ok()) << answer.status().to_string();
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

TEST_F(Fleets, AServerThatTookManyCallsWithItWhenItWentIsNotLeftOutForThat) {
  for (int i = 0; i < 2; ++i) serve(i);
  FleetClient& fleet = make(2);
  // The budget of retries grows with calls.
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  for (int i = 0; i < 2; ++i) replicas_[i].work = 100ms;
  Many many;
  for (int i = 0; i < 100; ++i) begin<ask_again>(many, {});
  crash(0);
  finish(many);
  for (const Result<int>& result : many.results) EXPECT_TRUE(result.ok());
  EXPECT_EQ(fleet.stats().ejected, 0u);
  serve(0);
  const int before = replicas_[0].ran;
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  EXPECT_GE(replicas_[0].ran - before, 10);
}

TEST_F(Fleets, ACallSaysWhyNoServerCouldBeAskedInItsTime) {
  FleetClient& fleet = make(2);
  const FleetCallOptions options{.call = {.timeout = 3s}};
  const Result<int> answer = run(fleet.call<&Replica::ask>(options));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(answer.status().unprocessed());
}

TEST_F(Fleets, ABackupAnswersForAServerThatDoesNot) {
  serve(0);
  serve(1);
  FleetOptions given;
  given.balancing = std::make_unique<RoundRobin>();
  given.backup_after = 50ms;
  FleetClient& fleet = make(2, std::move(given));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(run(fleet.call<ask_again>()).ok());
  replicas_[0].work = 10s;
  const FleetCallOptions options{.call = {.timeout = 2s}};
  for (int i = 0; i < 4; ++i) {
    const Result<int> answer = run(fleet.call<ask_again>(options));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(*answer, 1);
  }
  EXPECT_GT(fleet.stats().backups_won, 0u);
}

TEST_F(Fleets, AQuorumIsTheFirstGoodAnswersAndTheRestIsCancelled) {
  for (int i = 0; i < 3; ++i) serve(i);
  FleetClient& fleet = make(3);
  replicas_[1].work = 10s;
  const FleetCallOptions options{.call = {.timeout = 5s}};
  const auto answers = run(fleet.call_quorum<&Replica::ask>(2, options));
  ASSERT_TRUE(answers.ok()) << answers.status().to_string();
  EXPECT_EQ(answers->size(), 2u);
  EXPECT_EQ(fleet.stats().calls_in_flight, 0u);
  crash(0);
  const auto fewer = run(fleet.call_quorum<&Replica::ask>(2, options));
  EXPECT_FALSE(fewer.ok());
}

TEST_F(Fleets, AskNoServerOfWeightZeroNotByAnyWay) {
  for (int i = 0; i < 3; ++i) serve(i);
  FleetOptions given;
  given.name = "static:" + url(0) + "," + url(1) + " weight=0," + url(2);
  FleetClient& fleet = make_named(std::move(given));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  EXPECT_EQ(run(fleet.call_all<&Replica::ask>(FleetCallOptions{})).value().size(), 2u);
  crash(0);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(run(fleet.call<ask_again>()).ok());
  EXPECT_EQ(replicas_[1].ran, 0);
  EXPECT_EQ(fleet.stats().calls, 41u);
}

TEST_F(Fleets, AskNoServerAnyMoreWhoseWeightBecomesZero) {
  for (int i = 0; i < 2; ++i) serve(i);
  make_listed(url(0) + "\n" + url(1) + "\n");
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(run(fleet_->call<&Replica::ask>()).ok());
  EXPECT_GT(replicas_[1].ran, 0);
  replicas_[1].ran = 0;
  list(url(0) + "\n" + url(1) + " weight=0\n");
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(run(fleet_->call<&Replica::ask>()).ok());
  crash(0);
  EXPECT_FALSE(run(fleet_->call<ask_again>(FleetCallOptions{.call = {.timeout = 3s}})).ok());
  EXPECT_EQ(replicas_[1].ran, 0);
}

TEST_F(Fleets, CallTheSubsetAndFailEarlyWhenItIsDown) {
  for (int i = 0; i < 8; ++i) serve(i);
  FleetOptions given;
  given.subset = SubsetOptions{.size = 3, .client = 1};
  given.waits_for_ready = false;
  FleetClient& fleet = make(8, std::move(given));
  const auto all = run(fleet.call_all<&Replica::ask>(FleetCallOptions{}));
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  EXPECT_EQ(all->size(), 3u);
  for (const FleetAnswer<int>& one : *all) {
    ASSERT_TRUE(one.outcome.ok());
    crash(*one.outcome);
  }
  const TimePoint before = clock_.now();
  const Result<int> answer = run(fleet.call<ask_again>(FleetCallOptions{.call = {.timeout = 50s}}));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable) << answer.status().to_string();
  EXPECT_LT(clock_.now() - before, 40s);
}

TEST_F(Fleets, PassByAServerThatBecomesSlow) {
  Duration longest[2] = {};
  int slow[2] = {};
  for (const bool is_random : {false, true}) {
    servers_.clear();
    replicas_.clear();
    for (int i = 0; i < 10; ++i) {
      serve(i);
      replicas_[i].work = i == 3 ? 100ms : 1ms;
    }
    FleetOptions given;
    if (is_random) given.balancing = std::make_unique<RandomPick>();
    make(10, std::move(given));
    const TimePoint before = clock_.now();
    for (int round = 0; round < 50; ++round) {
      Many many;
      for (int i = 0; i < 10; ++i) begin<&Replica::ask>(many, {});
      finish(many);
    }
    longest[is_random] = clock_.now() - before;
    slow[is_random] = replicas_[3].ran;
    fleet_.reset();
  }
  EXPECT_LT(slow[false] * 4, slow[true]);
  EXPECT_LT(longest[false] * 2, longest[true]);
}

TEST_F(Fleets, WaitForNothingThatCannotCome) {
  FleetOptions given;
  given.name = "static:carrier-pigeon://loft:1,carrier-pigeon://loft:2";
  FleetClient& fleet = make_named(std::move(given));
  const TimePoint before = clock_.now();
  const Result<int> answer = run(fleet.call<&Replica::ask>());
  ASSERT_FALSE(answer.ok());
  EXPECT_TRUE(answer.status().unprocessed());
  EXPECT_NE(answer.status().to_string().find("carrier-pigeon"), std::string::npos)
      << answer.status().to_string();
  EXPECT_LE(clock_.now() - before, 1s);
}

TEST_F(Fleets, WaitForNoNameThatCannotBeLookedUpIfTheyDoNotWait) {
  FleetOptions given;
  given.name = "file:/nowhere/list";
  given.waits_for_ready = false;
  FleetClient& fleet = make_named(std::move(given));
  const TimePoint before = clock_.now();
  const Result<int> answer = run(fleet.call<&Replica::ask>());
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable) << answer.status().to_string();
  EXPECT_NE(answer.status().to_string().find("/nowhere/list"), std::string::npos)
      << answer.status().to_string();
  EXPECT_FALSE(run(fleet.call_all<&Replica::ask>(FleetCallOptions{})).ok());
  EXPECT_LE(clock_.now() - before, 1s);
}

TEST_F(Fleets, AreCalledOutsideOfATurnOfTheirLoopToo) {
  serve(0);
  FleetClient& fleet = make(1);
  Many many;
  many.begun = 2;
  many.scope.spawn(&FleetTest::one<&Replica::ask>, &fleet, &many, FleetCallOptions{});
  many.scope.spawn(&FleetTest::one<ask_again>, &fleet, &many, FleetCallOptions{.backup_after = 1s});
  finish(many);
  for (const Result<int>& result : many.results) EXPECT_TRUE(result.ok()) << result.status().to_string();
}

TEST_F(Fleets, AskNobodyForMoreAnswersThanThereAreServers) {
  for (int i = 0; i < 3; ++i) serve(i);
  FleetClient& fleet = make(3);
  const auto answers = run(fleet.call_quorum<&Replica::ask>(4, FleetCallOptions{}));
  ASSERT_FALSE(answers.ok());
  EXPECT_EQ(answers.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(answers.status().message(), "4 good answers were wanted, and there are 3 servers to ask");
  EXPECT_TRUE(answers.status().unprocessed());
  EXPECT_EQ(fleet.stats().attempts, 0u);
}

TEST_F(Fleets, RefuseAQuorumOfNobody) {
  for (int i = 0; i < 3; ++i) serve(i);
  FleetClient& fleet = make(3);
  const auto answers = run(fleet.call_quorum<&Replica::ask>(0));
  EXPECT_EQ(answers.status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(answers.status().unprocessed());
  EXPECT_EQ(fleet.stats().attempts, 0u);
}

TEST_F(Fleets, RefuseOptionsForOneAnswerInACallOfSeveralServers) {
  for (int i = 0; i < 3; ++i) serve(i);
  FleetClient& fleet = make(3);
  std::vector<std::byte> memory(64);
  TransferProgress progress;
  const std::pair<const char*, CallOptions> given[] = {
      {"landing", {.landing = MutableBytes{memory}}},
      {"landing_rate", {.landing_rate = 1 << 20}},
      {"progress", {.progress = &progress}},
  };
  for (const auto& [option, call] : given) {
    const Status all = run(fleet.call_all<&Replica::ask>(FleetCallOptions{.call = call})).status();
    const Status two = run(fleet.call_quorum<&Replica::ask>(2, FleetCallOptions{.call = call})).status();
    for (const Status& refused : {all, two}) {
      EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << refused.to_string();
      EXPECT_TRUE(refused.message().starts_with("FleetCallOptions::call." + std::string{option} + " is set"))
          << refused.to_string();
      EXPECT_TRUE(refused.unprocessed());
    }
    EXPECT_TRUE(run(fleet.call<ask_again>(FleetCallOptions{.call = call})).ok()) << option;
  }
  EXPECT_EQ(fleet.stats().attempts, std::size(given)) << "only those of call()";
  EXPECT_EQ(run(fleet.call_all<&Replica::ask>(FleetCallOptions{})).value().size(), 3u);
}

TEST_F(Fleets, SayWhyAQuorumCannotComeAnyMore) {
  for (int i = 0; i < 3; ++i) {
    serve(i);
    replicas_[i].work = 1s;
  }
  replicas_[1].throws = true;
  FleetClient& fleet = make(3);
  const auto early = run(fleet.call_quorum<&Replica::ask>(3));
  EXPECT_EQ(early.status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(early.status().message().starts_with(
      "3 good answers cannot come any more: 1 of 3 servers failed, 0 had answered: memory://s101: "))
      << early.status().to_string();
  EXPECT_FALSE(early.status().unprocessed());
  for (int i = 0; i < 3; ++i) replicas_[i].throws = i != 1;
  const auto late = run(fleet.call_quorum<&Replica::ask>(1, FleetCallOptions{.call = {.timeout = 500ms}}));
  EXPECT_TRUE(late.status().message().starts_with("0 of 3 servers answered, 1 were wanted: memory://s100: "))
      << late.status().to_string();
}

TEST_F(Fleets, GiveEachServerOfACallOfAllItsOwnReason) {
  serve(0);
  FleetClient& fleet = make_named({.name = "static:" + url(0) + ",hole://h1:1," + url(2)});
  const FleetCallOptions options{.call = {.timeout = 1s}};
  const auto all = run(fleet.call_all<&Replica::ask>(options));
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  ASSERT_EQ(all->size(), 3u);
  for (const FleetAnswer<int>& one : *all) {
    if (one.url == url(0)) {
      EXPECT_TRUE(one.outcome.ok()) << one.outcome.status().to_string();
      continue;
    }
    const std::string text = one.outcome.status().to_string();
    EXPECT_NE(text.find(one.url), std::string::npos) << text;
    EXPECT_EQ(text.find(one.url == url(2) ? "hole://" : url(2)), std::string::npos) << text;
  }
}

TEST_F(Fleets, DoNotSpeakOfAServerThatCameUpAgainOrLeft) {
  FleetOptions options;
  options.waits_for_ready = true;
  FleetClient& fleet = make_listed(url(0) + "\n" + url(1) + "\n", std::move(options));
  const FleetCallOptions brief{.call = {.timeout = 1s}};
  EXPECT_NE(run(fleet.call<&Replica::ask>(brief)).status().message().find("memory://"),
            std::string_view::npos);
  list("hole://h1:1\n");
  const Status left = run(fleet.call<&Replica::ask>(brief)).status();
  EXPECT_EQ(left.message().find("memory://"), std::string_view::npos) << left.to_string();
  EXPECT_NE(left.message().find("no server is connected yet"), std::string_view::npos) << left.to_string();
}

TEST_F(Fleets, WhoseTimeEndsBetweenAttemptsGiveTheReasonOfTheLastAttempt) {
  serve(0);
  replicas_[0].fails_with = StatusCode::kUnavailable;
  FleetOptions options;
  options.retry.attempts_max = 1000;
  options.retry.backoff_min = 100ms;
  FleetClient& fleet = make(1, std::move(options));
  const Status failure = run(fleet.call<ask_again>(FleetCallOptions{.call = {.timeout = 1s}})).status();
  EXPECT_EQ(failure.code(), StatusCode::kDeadlineExceeded) << failure.to_string();
  EXPECT_NE(failure.message().find("not today"), std::string_view::npos) << failure.to_string();
}

TEST_F(Fleets, SayThatAQuorumIsUnprocessedOnlyIfNoServerMayHaveRunTheCall) {
  FleetClient& fleet = make(3);
  const FleetCallOptions options{.call = {.timeout = 2s}};
  const Status nobody = run(fleet.call_quorum<&Replica::ask>(2, options)).status();
  EXPECT_FALSE(nobody.ok());
  EXPECT_TRUE(nobody.unprocessed()) << nobody.to_string();
  const auto all = run(fleet.call_all<&Replica::ask>(options));
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  for (const FleetAnswer<int>& one : *all) EXPECT_TRUE(one.outcome.status().unprocessed()) << one.url;
  serve(0);
  testing::pass(*loop_, clock_, 5s);
  const Status one = run(fleet.call_quorum<&Replica::ask>(2, options)).status();
  EXPECT_EQ(replicas_[0].ran, 1);
  EXPECT_FALSE(one.ok());
  EXPECT_FALSE(one.unprocessed()) << one.to_string();
}

TEST_F(Fleets, GiveTheRepliesOfAllInTheOrderOfTheirUrls) {
  FleetOptions options;
  options.name = "static:" + url(2) + ',' + url(0) + ',' + url(1);
  for (int i = 0; i < 3; ++i) serve(i);
  const auto all = run(make_named(std::move(options)).call_all<&Replica::ask>());
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(all->at(i).url, url(static_cast<int>(i)));
}

TEST_F(Fleets, SpreadCallsWithoutAKeyOverAllServersOfAConsistentHash) {
  for (int i = 0; i < 4; ++i) serve(i);
  FleetOptions given;
  given.balancing = std::make_unique<ConsistentHash>();
  FleetClient& fleet = make(4, std::move(given));
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  for (auto& [number, replica] : replicas_) EXPECT_GT(replica.ran, 40) << number;
}

TEST_F(Fleets, CountACallOfAllAsOne) {
  for (int i = 0; i < 3; ++i) serve(i);
  FleetClient& fleet = make(3);
  EXPECT_EQ(run(fleet.call_all<&Replica::ask>(FleetCallOptions{})).value().size(), 3u);
  EXPECT_EQ(fleet.stats().calls, 1u);
  EXPECT_EQ(fleet.stats().attempts, 3u);
}

TEST_F(Fleets, AServerThatFailsFastDrawsNoCalls) {
  for (int i = 0; i < 3; ++i) {
    serve(i);
    replicas_[i].work = 10ms;
  }
  replicas_[0].work = Duration::zero();
  replicas_[0].throws = true;
  FleetOptions given;
  given.outliers = std::nullopt;
  FleetClient& fleet = make(3, std::move(given));
  for (int i = 0; i < 300; ++i) static_cast<void>(run(fleet.call<&Replica::ask>()));
  EXPECT_LT(replicas_[0].ran, 30);
  EXPECT_EQ(fleet.endpoint_stats()[0].failures, static_cast<std::uint64_t>(replicas_[0].ran));
}

TEST_F(Fleets, AServerWhoseCallsBackupsOvertakeGetsFewerOfThem) {
  for (int i = 0; i < 3; ++i) {
    serve(i);
    replicas_[i].work = 1ms;
  }
  replicas_[0].work = 10s;
  FleetOptions given;
  given.backup_after = 50ms;
  given.retry_budget.share_of_calls = 1;
  FleetClient& fleet = make(3, std::move(given));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(run(fleet.call<ask_again>()).ok());
  EXPECT_LT(replicas_[0].ran, 20);
}

TEST_F(Fleets, SayWhyThereIsNobodyToAskAtAll) {
  FleetOptions given;
  given.name = "nonsense://nobody";
  FleetClient& wrong = make_named(std::move(given));
  const auto all = run(wrong.call_all<&Replica::ask>(FleetCallOptions{}));
  EXPECT_EQ(all.status().code(), StatusCode::kInvalidArgument) << all.status().to_string();
  const auto most = run(wrong.call_quorum<&Replica::ask>(1, FleetCallOptions{}));
  EXPECT_EQ(most.status().code(), StatusCode::kInvalidArgument) << most.status().to_string();
}

TEST_F(Fleets, SayWhyTheNameGaveNobodyInTime) {
  FleetOptions given;
  given.name = "file:/nowhere/list";
  FleetClient& fleet = make_named(std::move(given));
  const FleetCallOptions options{.call = {.timeout = 3s}};
  const auto all = run(fleet.call_all<&Replica::ask>(options));
  EXPECT_EQ(all.status().code(), StatusCode::kDeadlineExceeded) << all.status().to_string();
  EXPECT_NE(all.status().to_string().find("/nowhere/list"), std::string::npos) << all.status().to_string();
}

TEST_F(Fleets, NameTheOptionThatMakesNoSense) {
  serve(0);
  const auto failure_of = [&](FleetOptions options) {
    return run(make(1, std::move(options)).call<&Replica::ask>()).status().to_string();
  };
  FleetOptions attempts;
  attempts.retry.attempts_max = 0;
  EXPECT_NE(failure_of(std::move(attempts)).find("FleetRetry::attempts_max"), std::string::npos);
  FleetOptions budget;
  budget.retry_budget.share_of_calls = -1;
  EXPECT_NE(failure_of(std::move(budget)).find("retry_budget.share_of_calls"), std::string::npos);
  FleetOptions outliers;
  outliers.outliers = OutlierOptions{.window = 0s};
  EXPECT_NE(failure_of(std::move(outliers)).find("OutlierOptions::window"), std::string::npos);
  FleetOptions subset;
  subset.subset = SubsetOptions{.size = 0};
  EXPECT_NE(failure_of(std::move(subset)).find("SubsetOptions::size"), std::string::npos);
  FleetOptions connect;
  connect.pool.client.connect = url(0);
  EXPECT_NE(failure_of(std::move(connect)).find("FleetOptions::pool.client.connect is set"),
            std::string::npos);
  FleetOptions pool;
  pool.pool.connections_max = 0;
  EXPECT_NE(failure_of(std::move(pool)).find("connections_max"), std::string::npos);
  const FleetRetry retry{.attempt_timeout = 0s};
  FleetClient& fleet = make(1);
  const Result<int> answer = run(fleet.call<&Replica::ask>(FleetCallOptions{.retry = &retry}));
  EXPECT_NE(answer.status().to_string().find("FleetRetry::attempt_timeout"), std::string::npos);
}

TEST_F(Fleets, ServeEachOfTheirServersAlsoThoseThatComeBack) {
  for (int i = 0; i < 3; ++i) serve(i);
  Listener listener;
  FleetOptions given;
  given.balancing = std::make_unique<RoundRobin>();
  FleetClient& fleet = make(3, std::move(given));
  fleet.register_handler<&Listener::twice>(&listener);
  fleet.register_handler("lambda", [](int job) { return job; });
  const auto ask_all = [&] {
    for (int job = 0; job < 30; ++job) {
      const Result<int> answer = run(fleet.call<&Replica::ask_back>(job));
      ASSERT_TRUE(answer.ok()) << answer.status().to_string();
      EXPECT_EQ(*answer, 2 * job);
    }
  };
  ask_all();
  for (auto& [number, replica] : replicas_) {
    EXPECT_GE(replica.ran, 5) << number;
    replica.ran = 0;
  }
  crash(1);
  static_cast<void>(run(fleet.call<ask_again>()));
  serve(1);
  testing::pass(*loop_, clock_, 20s);
  ask_all();
  EXPECT_GE(replicas_[1].ran, 5);
  EXPECT_EQ(listener.heard, 60);
  fleet_.reset();
}

TEST_F(Fleets, ServeTheServersThatComeIntoTheList) {
  for (int i = 0; i < 2; ++i) serve(i);
  Listener listener;
  FleetClient& fleet = make_listed(url(0) + "\n");
  fleet.register_handler<&Listener::twice>(&listener);
  EXPECT_EQ(run(fleet.call<&Replica::ask_back>(1)).value(), 2);
  list(url(1) + "\n");
  EXPECT_EQ(run(fleet.call<&Replica::ask_back>(2)).value(), 4);
  EXPECT_EQ(replicas_[1].ran, 1);
  fleet_.reset();
}

TEST_F(Fleets, SayWhatIsWrongWithWhatTheyServe) {
  serve(0);
  Listener listener;
  FleetClient& fleet = make(1);
  fleet.register_handler<&Listener::twice>(&listener, {.blocking = true});
  const FleetCallOptions options{.call = {.timeout = 3s}};
  const Status status = run(fleet.call<&Replica::ask>(options)).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.to_string();
  EXPECT_NE(status.message().find("a client has no worker threads"), std::string_view::npos)
      << status.to_string();
  fleet_.reset();
}

using FleetsDeathTest = FleetTest;

TEST_F(FleetsDeathTest, HandlersThatAreRegisteredBehindTheFirstCallAreTold) {
  serve(0);
  Listener listener;
  FleetClient& fleet = make(1);
  ASSERT_TRUE(run(fleet.call<&Replica::ask>()).ok());
  EXPECT_DEATH(fleet.register_handler<&Listener::twice>(&listener),
               "register the handlers of a fleet before its first call");
}

void destroy_the_loop_of_a_fleet_first() {
  auto loop = Loop::create().value();
  FleetOptions options{.name = "static:tcp://127.0.0.1:1"};
  const FleetClient fleet{*loop, std::move(options)};
  loop.reset();
}

TEST(FleetDeathTest, ALoopThatIsDestroyedBeforeItsFleetSaysSo) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(destroy_the_loop_of_a_fleet_first(), "destroyed before a client of it");
}

}  // namespace
}  // namespace weft::fleet_tests
