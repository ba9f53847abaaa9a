// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "unit/balancing/fleet.hpp"
#include "weft/detail/balancing/outlier_ejection.hpp"
#include "weft/detail/balancing/round_robin.hpp"
#include "weft/detail/base/random_numbers.hpp"

namespace weft {
namespace {

using std::chrono::seconds;
using testing::kFleetStart;
using testing::ListOfServers;

class Ejections : public ::testing::Test {
 protected:
  static constexpr OutlierOptions kOptions{.failures_in_a_row = 3,
                                           .latency_factor = 4,
                                           .window = seconds{10},
                                           .window_calls_min = 10,
                                           .ejection_min = seconds{10},
                                           .ejection_max = seconds{60},
                                           .slow_start = seconds{9}};

  Ejections() { EXPECT_TRUE(policy_.set_endpoints(list_.specs).ok()); }

  /// All endpoints have answered a call.
  void serve() {
    for (std::uint32_t index = 0; index < 10; ++index) report(index, CallOutcome::kSuccess);
  }

  void report(std::uint32_t index, CallOutcome outcome, Duration latency = Duration{1000}) {
    policy_.begun(index, now_ - latency);
    policy_.ended(index, {now_, outcome, latency});
  }
  void fail(std::uint32_t index, int times = 3) {
    for (int time = 0; time < times; ++time) report(index, CallOutcome::kFailure);
  }
  void pass(Duration time) {
    now_ += time;
    (void)policy_.pick({.now = now_});
  }

  /// Mean number of ejected endpoints over `calls` calls to a policy with default options. A call begins
  /// every `interval`, and each endpoint fails the same `share` of its calls.
  double mean_of_ejected(double share, int calls, Duration interval) {
    detail::OutlierEjection policy{OutlierOptions{}, std::make_unique<RoundRobin>()};
    EXPECT_TRUE(policy.set_endpoints(list_.specs).ok());
    detail::RandomNumbers random{7};
    double sum = 0;
    for (int call = 0; call < calls; ++call) {
      now_ += interval;
      const std::optional<std::uint32_t> index = policy.pick({.now = now_});
      if (!index) {
        ADD_FAILURE() << "no endpoint for call " << call;
        return 0;
      }
      policy.begun(*index, now_);
      const bool fails = random.between(0, 1) < share;
      policy.ended(*index, {now_, fails ? CallOutcome::kFailure : CallOutcome::kSuccess, Duration::zero()});
      sum += static_cast<double>(policy.ejected());
    }
    return sum / calls;
  }

  ListOfServers list_{10};
  detail::OutlierEjection policy_{kOptions, std::make_unique<RoundRobin>()};
  TimePoint now_ = kFleetStart;
};

TEST_F(Ejections, NeedFailuresInARow) {
  report(2, CallOutcome::kSuccess);
  fail(2, 2);
  report(2, CallOutcome::kSuccess);
  fail(2, 2);
  report(2, CallOutcome::kIgnored);
  EXPECT_FALSE(policy_.is_ejected(2));
  fail(2, 1);
  EXPECT_TRUE(policy_.is_ejected(2));
  EXPECT_EQ(policy_.share(2), 0);
}

TEST_F(Ejections, NeedFewerFailuresBeforeAFirstSuccess) {
  fail(2, 1);
  EXPECT_FALSE(policy_.is_ejected(2));
  report(2, CallOutcome::kIgnored);
  fail(2, 1);
  EXPECT_TRUE(policy_.is_ejected(2));
}

TEST_F(Ejections, EndInASlowStart) {
  fail(2);
  pass(seconds{10} - Duration{1});
  EXPECT_TRUE(policy_.is_ejected(2));
  pass(Duration{1});
  EXPECT_FALSE(policy_.is_ejected(2));
  pass(seconds{60});
  EXPECT_DOUBLE_EQ(policy_.share(2), 0.1) << "it has not answered yet";
  report(2, CallOutcome::kSuccess);
  for (int tenth = 1; tenth <= 10; ++tenth) {
    EXPECT_DOUBLE_EQ(policy_.share(2), tenth / 10.0);
    pass(seconds{1});
  }
}

TEST(EjectionTimes, MayBeWithoutEnd) {
  ListOfServers list{3};
  detail::OutlierEjection policy{{.failures_in_a_row = 1,
                                  .ejection_min = Duration::max(),
                                  .ejection_max = Duration::max(),
                                  .slow_start = Duration::max()},
                                 std::make_unique<RoundRobin>()};
  ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
  policy.begun(1, kFleetStart);
  policy.ended(1, {kFleetStart, CallOutcome::kFailure, Duration{1000}});
  EXPECT_TRUE(policy.is_ejected(1));
  (void)policy.pick({.now = kFleetStart + std::chrono::hours{1000}});
  EXPECT_TRUE(policy.is_ejected(1));
}

TEST_F(Ejections, TakeTwiceAsLongEachTimeUpToTheLongest) {
  for (const int time : {10, 20, 40, 60, 60}) {
    fail(2);
    pass(seconds{time} - Duration{1});
    EXPECT_TRUE(policy_.is_ejected(2)) << time;
    pass(Duration{1});
    EXPECT_FALSE(policy_.is_ejected(2)) << time;
  }
}

TEST_F(Ejections, AreForgivenByLongService) {
  fail(2);
  pass(seconds{10});
  report(2, CallOutcome::kSuccess);
  for (int second = 0; second < 20; ++second) pass(seconds{1});
  for (int minute = 0; minute < 2; ++minute) pass(seconds{60});
  fail(2);
  pass(seconds{10});
  EXPECT_FALSE(policy_.is_ejected(2));
}

TEST_F(Ejections, LeaveOneInUse) {
  serve();
  for (std::uint32_t index = 0; index < 9; ++index) fail(index);
  EXPECT_EQ(policy_.ejected(), 9u) << "the last one looks well";
  fail(9, 2);
  EXPECT_FALSE(policy_.is_ejected(9));
  EXPECT_EQ(policy_.pick({.now = now_}).value(), 9u);
}

TEST_F(Ejections, AreAsManyAsTheOptionAllows) {
  OutlierOptions options = kOptions;
  options.ejected_share_max = 0.5;
  detail::OutlierEjection policy{options, std::make_unique<RoundRobin>()};
  ASSERT_TRUE(policy.set_endpoints(list_.specs).ok());
  for (std::uint32_t index = 0; index < 9; ++index) {
    for (int call = 0; call < 3; ++call) policy.ended(index, {now_, CallOutcome::kFailure, Duration{1000}});
  }
  EXPECT_EQ(policy.ejected(), 5u);
}

TEST_F(Ejections, DoNotHappenWhileAllFailTogether) {
  serve();
  for (int call = 0; call < 5; ++call) {
    for (std::uint32_t index = 0; index < 10; ++index) fail(index, 1);
  }
  EXPECT_EQ(policy_.ejected(), 0u) << "none is worse than the others";
  report(4, CallOutcome::kSuccess);
  for (std::uint32_t index = 0; index < 10; ++index) {
    if (index != 4) fail(index, 1);
  }
  EXPECT_EQ(policy_.ejected(), 0u) << "one lucky call makes no good example";
  for (int call = 0; call < 60; ++call) report(4, CallOutcome::kSuccess);
  for (std::uint32_t index = 0; index < 10; ++index) {
    if (index != 4) fail(index, 1);
  }
  EXPECT_EQ(policy_.ejected(), 9u);
}

// An overload causes such failures, and so does a failing server behind all endpoints.
TEST_F(Ejections, LeaveMostInUseWhileAllFailOftenAlike) {
  for (const double share : {0.2, 0.4, 0.55, 0.7, 0.9})
    EXPECT_LT(mean_of_ejected(share, 120'000, std::chrono::milliseconds{1}), 2.5)
        << share << " of calls fail";
}

// With a share of 0.1, five calls in succession fail once in 110,000 calls. A busy fleet makes that many in
// seconds.
TEST_F(Ejections, LeaveNearlyAllInUseWhileManyCallsFailNowAndThen) {
  for (const double share : {0.05, 0.1, 0.15})
    EXPECT_LT(mean_of_ejected(share, 3'000'000, std::chrono::microseconds{100}), 0.5)
        << share << " of calls fail";
}

TEST_F(Ejections, EndByNoCallThatBeganBeforeThem) {
  serve();
  const TimePoint began = now_;
  policy_.begun(2, began);
  now_ += seconds{1};
  fail(2);
  ASSERT_TRUE(policy_.is_ejected(2));
  pass(seconds{10});
  policy_.ended(2, {now_, CallOutcome::kFailure, now_ - began});
  EXPECT_FALSE(policy_.is_ejected(2)) << "no probe was sent yet";
  policy_.begun(2, now_);
  policy_.ended(2, {now_, CallOutcome::kSuccess, Duration::zero()});
  EXPECT_GT(policy_.share(2), 0);
}

TEST_F(Ejections, EndTogetherWhenTheFewThatAreLeftFailToo) {
  serve();
  for (std::uint32_t index = 0; index < 8; ++index) fail(index);
  fail(8, 1);
  fail(9, 2);
  EXPECT_EQ(policy_.ejected(), 8u);
  fail(8, 2);
  EXPECT_EQ(policy_.ejected(), 0u);
  for (std::uint32_t index = 0; index < 8; ++index) EXPECT_EQ(policy_.share(index), 1);
  serve();
  for (std::uint32_t index = 0; index < 8; ++index) fail(index);
  fail(8, 1);
  fail(9, 2);
  fail(8, 2);
  EXPECT_EQ(policy_.ejected(), 8u) << "not twice within ejection_min";
  now_ += seconds{10};
  fail(8, 1);
  EXPECT_EQ(policy_.ejected(), 0u);
}

TEST_F(Ejections, StayWhileTheFewThatAreLeftDoWell) {
  for (std::uint32_t index = 0; index < 9; ++index) fail(index);
  for (int call = 0; call < 100; ++call) report(9, CallOutcome::kSuccess);
  EXPECT_EQ(policy_.ejected(), 9u);
  policy_.set_share(3, 0);
  policy_.set_share(3, 1);
  EXPECT_EQ(policy_.share(3), 0) << "a connection that comes back ends no ejection";
}

TEST_F(Ejections, EndByOneCallAtATimeUntilOneSucceeds) {
  fail(2);
  pass(seconds{10});
  EXPECT_GT(policy_.share(2), 0);
  policy_.begun(2, now_);
  EXPECT_EQ(policy_.share(2), 0) << "one call finds out";
  policy_.ended(2, {now_, CallOutcome::kIgnored, Duration::zero()});
  EXPECT_GT(policy_.share(2), 0) << "that call said nothing";
  policy_.begun(2, now_);
  pass(seconds{9});
  EXPECT_EQ(policy_.share(2), 0);
  pass(seconds{1});
  EXPECT_GT(policy_.share(2), 0) << "a call that takes that long keeps no other away";
  report(2, CallOutcome::kFailure);
  EXPECT_TRUE(policy_.is_ejected(2)) << "a first call that fails is enough";
}

TEST_F(Ejections, AreCutShortWhenNoOtherCanBeReached) {
  for (std::uint32_t index = 0; index < 3; ++index) fail(index);
  for (std::uint32_t index = 3; index < 10; ++index) policy_.set_share(index, 0);
  EXPECT_EQ(policy_.pick({.now = now_}).value(), 0u);
  policy_.begun(0, now_);
  EXPECT_EQ(policy_.pick({.now = now_}).value(), 1u)
      << "the next one, while a call finds out about the first";
  policy_.ended(0, {now_, CallOutcome::kSuccess, Duration::zero()});
  EXPECT_GT(policy_.share(0), 0);
  EXPECT_EQ(policy_.share(2), 0);
}

TEST_F(Ejections, FollowASilenceThatManyCallsWaitIn) {
  serve();
  for (int call = 0; call < 4; ++call) policy_.begun(6, now_);
  for (int call = 0; call < 4; ++call) policy_.begun(7, now_);
  now_ += seconds{1};
  const CallReport late{
      .now = now_, .outcome = CallOutcome::kFailure, .latency = seconds{1}, .timed_out = true};
  policy_.ended(6, late);
  EXPECT_TRUE(policy_.is_ejected(6)) << "its other calls have no answer either";
  policy_.ended(7, {now_, CallOutcome::kSuccess, seconds{1}});
  policy_.ended(7, late);
  EXPECT_FALSE(policy_.is_ejected(7)) << "it answers others";
}

TEST_F(Ejections, FollowAFailureShareOfAWindow) {
  for (int call = 0; call < 20; ++call) {
    report(4, call % 2 == 0 ? CallOutcome::kFailure : CallOutcome::kSuccess);
    report(5, call % 3 == 0 ? CallOutcome::kFailure : CallOutcome::kSuccess);
  }
  EXPECT_EQ(policy_.ejected(), 0u);
  now_ += seconds{10};
  report(4, CallOutcome::kFailure);
  report(5, CallOutcome::kFailure);
  EXPECT_TRUE(policy_.is_ejected(4));
  EXPECT_FALSE(policy_.is_ejected(5));
}

TEST_F(Ejections, FollowALatencyThatIsFarBeyondTheOthers) {
  for (int window = 0; window < 3; ++window) {
    for (std::uint32_t index = 0; index < 10; ++index) {
      for (int call = 0; call < 10; ++call) {
        const int times = index == 7 ? 5 : index == 6 ? 3 : 1;
        report(index, CallOutcome::kSuccess, Duration{1000} * times);
      }
    }
    now_ += seconds{10};
  }
  EXPECT_TRUE(policy_.is_ejected(7));
  EXPECT_EQ(policy_.ejected(), 1u);
}

TEST_F(Ejections, GoWithWhoStays) {
  fail(9);
  ASSERT_TRUE(policy_.set_endpoints(list_.without(0)).ok());
  EXPECT_TRUE(policy_.is_ejected(8));
  EXPECT_EQ(policy_.ejected(), 1u);
  for (int pick = 0; pick < 100; ++pick) EXPECT_NE(policy_.pick({.now = now_}).value(), 8u);
  pass(seconds{10});
  EXPECT_FALSE(policy_.is_ejected(8));
}

TEST_F(Ejections, NeverTakeTheOnlyServer) {
  ASSERT_TRUE(policy_.set_endpoints(std::span{list_.specs}.first(1)).ok());
  fail(0, 100);
  EXPECT_FALSE(policy_.is_ejected(0));
}

}  // namespace
}  // namespace weft
