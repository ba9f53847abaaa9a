// SPDX-License-Identifier: Apache-2.0
// CR-13: a fleet whose servers crash, vanish and are exchanged under its calls, on a clock that stands still.
#include <new>

#include "unit/fleet/fleet_testing.hpp"
#include "weft/detail/balancing/round_robin.hpp"

namespace weft::fleet_tests {
namespace {

using FleetFaults = FleetTest;

TEST_F(FleetFaults, FailNoIdempotentCallThatIsInFlightWhenItsServerCrashes) {
  for (int i = 0; i < 4; ++i) {
    serve(i);
    replicas_[i].work = 50ms;
  }
  make(4);
  for (int round = 0; round < 12; ++round) {
    Many many;
    for (int i = 0; i < 40; ++i) begin<ask_again>(many, {});
    testing::pass(*loop_, clock_, 20ms);
    crash(round % 4);
    finish(many);
    for (const Result<int>& result : many.results) ASSERT_TRUE(result.ok()) << result.status().to_string();
    serve(round % 4);
    testing::pass(*loop_, clock_, 5s);
  }
  EXPECT_EQ(fleet_->stats().calls_in_flight, 0u);
}

TEST_F(FleetFaults, NeverRunACallTwiceThatIsNotIdempotent) {
  for (int i = 0; i < 4; ++i) {
    serve(i);
    replicas_[i].work = 50ms;
  }
  make(4);
  int job = 0;
  int failed = 0;
  for (int round = 0; round < 12; ++round) {
    Many many;
    for (int i = 0; i < 40; ++i) begin<&Replica::once>(many, {}, job++);
    testing::pass(*loop_, clock_, 20ms);
    crash(round % 4);
    finish(many);
    for (const Result<int>& result : many.results) {
      if (result.ok()) continue;
      ++failed;
      EXPECT_EQ(result.status().code(), StatusCode::kUnavailable) << result.status().to_string();
    }
    serve(round % 4);
    testing::pass(*loop_, clock_, 5s);
  }
  EXPECT_GT(failed, 0);
  for (int each = 0; each < job; ++each) {
    int ran = 0;
    for (auto& [number, replica] : replicas_) ran += replica.jobs[each];
    EXPECT_EQ(ran, 1) << each;
  }
}

TEST_F(FleetFaults, LoseNoIdempotentCallWhenTheListChanges) {
  for (int i = 0; i < 6; ++i) {
    serve(i);
    replicas_[i].work = 300ms;
  }
  const auto lines = [](int first) {
    return url(first) + "\n" + url((first + 1) % 6) + "\n" + url((first + 2) % 6) + "\n";
  };
  make_listed(lines(0));
  for (int round = 1; round < 8; ++round) {
    Many many;
    for (int i = 0; i < 30; ++i) begin<ask_again>(many, {});
    list(lines(round % 6));
    finish(many);
    for (const Result<int>& result : many.results) ASSERT_TRUE(result.ok()) << result.status().to_string();
  }
  EXPECT_EQ(fleet_->stats().retries, 0u) << "who leaves finishes its calls";
  EXPECT_EQ(fleet_->stats().leaving, 0u);
  EXPECT_EQ(fleet_->stats().endpoints, 3u);
}

TEST_F(FleetFaults, FailNoCallForServersThatAreBlackHoles) {
  std::string name = "static:";
  for (int i = 0; i < 5; ++i) {
    serve(i);
    name += url(i) + ",hole://h" + std::to_string(i) + (i == 4 ? "" : ",");
  }
  FleetOptions given;
  given.name = name;
  given.balancing = std::make_unique<RoundRobin>();
  FleetClient& fleet = make_named(std::move(given));
  const FleetCallOptions options{.call = {.timeout = 1s}};
  ASSERT_TRUE(run(fleet.call<&Replica::ask>(options)).ok());
  for (int i = 0; i < 200; ++i) {
    const TimePoint before = clock_.now();
    const Result<int> answer = run(fleet.call<&Replica::ask>(options));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_LE(clock_.now() - before, 20ms);
  }
}

TEST_F(FleetFaults, EndACallAtItsDeadlineWhenNobodyAnswers) {
  for (int i = 0; i < 2; ++i) {
    serve(i);
    replicas_[i].work = std::chrono::hours{1};
  }
  FleetClient& fleet = make(2);
  const TimePoint before = clock_.now();
  const Result<int> answer = run(fleet.call<ask_again>(FleetCallOptions{.call = {.timeout = 2s}}));
  EXPECT_EQ(answer.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_LE(clock_.now() - before, 2s + 20ms);
  const FleetRetry retry{.attempt_timeout = 100ms};
  replicas_[1].work = 1ms;
  for (int i = 0; i < 10; ++i) {
    const Result<int> other =
        run(fleet.call<ask_again>(FleetCallOptions{.call = {.timeout = 2s}, .retry = &retry}));
    ASSERT_TRUE(other.ok()) << other.status().to_string();
    EXPECT_EQ(*other, 1);
  }
}

TEST_F(FleetFaults, EndTheirCallsWithTheClient) {
  for (int i = 0; i < 3; ++i) {
    serve(i);
    replicas_[i].work = 10s;
  }
  FleetOptions given;
  given.backup_after = 10ms;
  make(3, std::move(given));
  Many many;
  for (int i = 0; i < 20; ++i) begin<ask_again>(many, {});
  begin<&Replica::once>(many, {}, 1);
  testing::pass(*loop_, clock_, 20ms);
  fleet_.reset();
  finish(many);
  for (const Result<int>& result : many.results) EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
}

TEST_F(FleetFaults, LetCallsBeDroppedAfterTheClientWasClosed) {
  for (int i = 0; i < 3; ++i) {
    serve(i);
    replicas_[i].work = 10s;
  }
  make(3);
  Many many;
  for (int i = 0; i < 10; ++i) begin<ask_again>(many, {});
  testing::pass(*loop_, clock_, 20ms);
  fleet_->close();
  many.scope.drop_all();
  fleet_.reset();
  loop_->run_until_idle();
  EXPECT_TRUE(many.results.empty());
}

TEST_F(FleetFaults, CallAllAndQuorumsEndWithTheClient) {
  for (int i = 0; i < 3; ++i) {
    serve(i);
    replicas_[i].work = 10s;
  }
  FleetClient& fleet = make(3);
  loop_->post([this] { loop_->post([this] { fleet_->close(); }); });
  const auto all = run(fleet.call_all<&Replica::ask>(FleetCallOptions{}));
  ASSERT_TRUE(all.ok());
  for (const FleetAnswer<int>& one : *all) EXPECT_EQ(one.outcome.status().code(), StatusCode::kCancelled);
  const auto none = run(fleet.call_quorum<&Replica::ask>(2, FleetCallOptions{}));
  EXPECT_FALSE(none.ok());
}

/// A policy that has no memory for a list now and then.
class Forgetful final : public BalancingPolicy {
 public:
  explicit Forgetful(int* failures) : failures_(failures) {}

  Status set_endpoints(std::span<const EndpointSpec> list) override {
    broken_ = *failures_ > 0;
    if (broken_) {
      --*failures_;
      throw std::bad_alloc{};
    }
    return within_.set_endpoints(list);
  }
  std::size_t size() const noexcept override { return within_.size(); }
  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept override {
    EXPECT_FALSE(broken_);
    return within_.pick(request);
  }
  void set_share(std::uint32_t index, double share) noexcept override {
    EXPECT_FALSE(broken_);
    within_.set_share(index, share);
  }
  void begun(std::uint32_t index, TimePoint now) noexcept override {
    EXPECT_FALSE(broken_);
    ++begun_;
    within_.begun(index, now);
  }
  void ended(std::uint32_t index, const CallReport& report) noexcept override {
    EXPECT_FALSE(broken_);
    --begun_;
    within_.ended(index, report);
  }
  int in_flight() const noexcept { return begun_; }

 private:
  RoundRobin within_;
  int* failures_;
  int begun_ = 0;
  bool broken_ = false;
};

TEST_F(FleetFaults, WaitForMemoryForAnotherListAndTellThePolicyNothingBefore) {
  for (int i = 0; i < 3; ++i) {
    serve(i);
    replicas_[i].work = 500ms;
  }
  int failures = 0;
  FleetOptions given;
  auto policy = std::make_unique<Forgetful>(&failures);
  Forgetful& forgetful = *policy;
  given.balancing = std::move(policy);
  given.outliers.reset();
  make_listed(url(0) + "\n" + url(1) + "\n", std::move(given));
  Many many;
  for (int i = 0; i < 10; ++i) begin<ask_again>(many, {});
  failures = 3;
  write(url(0) + "\n" + url(1) + "\n" + url(2) + "\n");
  for (int i = 0; i < 100 && failures == 3; ++i) testing::pass(*loop_, clock_, 10ms);
  ASSERT_LT(failures, 3);
  for (int i = 0; i < 10; ++i) begin<ask_again>(many, {});
  finish(many);
  for (const Result<int>& result : many.results) ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(fleet_->stats().endpoints, 3u);
  EXPECT_EQ(forgetful.in_flight(), 0);
}

/// A policy of a user's with a mistake: refuses lists, or picks whatever it was made with.
class Mistaken final : public BalancingPolicy {
 public:
  Mistaken(std::optional<std::uint32_t> picks, Status refusal)
      : picks_(picks), refusal_(std::move(refusal)) {}

  Status set_endpoints(std::span<const EndpointSpec> list) override {
    size_ = list.size();
    return list.empty() ? Status{} : refusal_;
  }
  std::size_t size() const noexcept override { return size_; }
  std::optional<std::uint32_t> pick(const PickRequest&) noexcept override { return picks_; }
  void set_share(std::uint32_t, double) noexcept override {}
  void begun(std::uint32_t, TimePoint) noexcept override {}
  void ended(std::uint32_t, const CallReport&) noexcept override {}

 private:
  std::optional<std::uint32_t> picks_;
  Status refusal_;
  std::size_t size_ = 0;
};

class MistakenPolicies : public FleetTest {
 protected:
  Result<int> ask(int servers, std::optional<std::uint32_t> picks, Status refusal = {},
                  FleetOptions options = {}) {
    for (int i = 0; i < servers; ++i) serve(i);
    options.balancing = std::make_unique<Mistaken>(picks, std::move(refusal));
    return run(
        make(servers, std::move(options)).call<&Replica::ask>(FleetCallOptions{.call = {.timeout = 5s}}));
  }
  static bool says(const Result<int>& outcome, std::string_view words) {
    return outcome.status().message().find(words) != std::string_view::npos;
  }
};

TEST_F(MistakenPolicies, ThatRefuseTheListGiveTheReason) {
  const Result<int> outcome = ask(2, 0, {StatusCode::kInvalidArgument, Layer::kUser, "no zone is named"});
  EXPECT_EQ(outcome.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(says(outcome, "the balancing policy refuses the list, of 2 servers: no zone is named"))
      << outcome.status().to_string();
  EXPECT_EQ(logger_.lines, 1);
  EXPECT_EQ(fleet_->stats().lists_refused, 1u);
}

TEST_F(MistakenPolicies, ThatPickNobodyAreSaidToDoSo) {
  const Result<int> outcome = ask(2, std::nullopt);
  EXPECT_TRUE(says(outcome, "the balancing policy picks none of 2 servers")) << outcome.status().to_string();
}

TEST_F(MistakenPolicies, AreNotSpokenOfWhileServersAreConnected) {
  const Result<int> outcome = run(make_named({.name = "static:hole://nobody:1"})
                                      .call<&Replica::ask>(FleetCallOptions{.call = {.timeout = 100ms}}));
  EXPECT_TRUE(says(outcome, "no server is connected yet")) << outcome.status().to_string();
}

class MistakenPoliciesDeathTest : public MistakenPolicies {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(MistakenPoliciesDeathTest, ThatPickBeyondTheListEndTheProcessWithWords) {
  EXPECT_DEATH(static_cast<void>(ask(1, 7)),
               "BalancingPolicy::pick\\(\\) returned 7, and the list has 1 server ");
  FleetOptions options;
  options.subset = SubsetOptions{.size = 2};
  EXPECT_DEATH(static_cast<void>(ask(3, 2, {}, std::move(options))),
               "returned 2, and the list has 2 servers");
}

}  // namespace
}  // namespace weft::fleet_tests
