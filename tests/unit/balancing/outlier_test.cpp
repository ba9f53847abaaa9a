// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "unit/balancing/fleet.hpp"
#include "weft/detail/balancing/outlier_ejection.hpp"
#include "weft/detail/balancing/round_robin.hpp"

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

  void report(std::uint32_t index, CallOutcome outcome, Duration latency = Duration{1000}) {
    policy_.begun(index, now_);
    policy_.ended(index, {now_, outcome, latency});
  }
  void fail(std::uint32_t index, int times = 3) {
    for (int time = 0; time < times; ++time) report(index, CallOutcome::kFailure);
  }
  void pass(Duration time) {
    now_ += time;
    (void)policy_.pick({.now = now_});
  }

  ListOfServers list_{10};
  detail::OutlierEjection policy_{kOptions, std::make_unique<RoundRobin>()};
  TimePoint now_ = kFleetStart;
};

TEST_F(Ejections, NeedFailuresInARow) {
  fail(2, 2);
  report(2, CallOutcome::kSuccess);
  fail(2, 2);
  report(2, CallOutcome::kIgnored);
  EXPECT_FALSE(policy_.is_ejected(2));
  fail(2, 1);
  EXPECT_TRUE(policy_.is_ejected(2));
  EXPECT_EQ(policy_.share(2), 0);
}

TEST_F(Ejections, EndInASlowStart) {
  fail(2);
  pass(seconds{10} - Duration{1});
  EXPECT_TRUE(policy_.is_ejected(2));
  pass(Duration{1});
  EXPECT_FALSE(policy_.is_ejected(2));
  for (int tenth = 1; tenth <= 10; ++tenth) {
    EXPECT_DOUBLE_EQ(policy_.share(2), tenth / 10.0);
    pass(seconds{1});
  }
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
  for (int second = 0; second < 20; ++second) pass(seconds{1});
  for (int minute = 0; minute < 2; ++minute) pass(seconds{60});
  fail(2);
  pass(seconds{10});
  EXPECT_FALSE(policy_.is_ejected(2));
}

TEST_F(Ejections, AreOfHalfAtMost) {
  for (std::uint32_t index = 0; index < 10; ++index) fail(index);
  EXPECT_EQ(policy_.ejected(), 5u);
  EXPECT_FALSE(policy_.panics());
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

TEST_F(Ejections, GiveWayToAPanicWhenTooFewAreLeft) {
  for (std::uint32_t index = 0; index < 5; ++index) fail(index);
  policy_.set_share(5, 0);
  policy_.set_share(6, 0);
  EXPECT_FALSE(policy_.panics());
  policy_.set_share(7, 0);
  EXPECT_TRUE(policy_.panics());
  std::vector<int> picks(10);
  for (int pick = 0; pick < 70; ++pick) ++picks[policy_.pick({.now = now_}).value()];
  EXPECT_EQ(picks, (std::vector<int>{10, 10, 10, 10, 10, 0, 0, 0, 10, 10})) << "5 to 7 have no connection";
  policy_.set_share(7, 1);
  EXPECT_TRUE(policy_.panics()) << "it would begin and end with each change";
  policy_.set_share(6, 1);
  EXPECT_FALSE(policy_.panics());
  EXPECT_EQ(policy_.share(5), 0);
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
