// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/busy_time.hpp"

#include <gtest/gtest.h>

namespace weft::detail::busy_time_tests {
namespace {

TimePoint at(int nanoseconds) {
  return TimePoint{Duration{nanoseconds}};
}

TEST(BusyTimes, GrowsWhileTheLoopIsAwake) {
  BusyTime busy;
  EXPECT_FALSE(busy.is_awake());
  EXPECT_EQ(busy.until(at(5)), Duration::zero());
  busy.wake(at(10));
  EXPECT_TRUE(busy.is_awake());
  EXPECT_EQ(busy.until(at(15)), Duration{5});
  busy.sleep(at(20));
  EXPECT_FALSE(busy.is_awake());
  EXPECT_EQ(busy.until(at(100)), Duration{10});
  busy.wake(at(100));
  EXPECT_EQ(busy.until(at(100)), Duration{10});
  EXPECT_EQ(busy.until(at(107)), Duration{17});
}

TEST(BusyTimes, KnowsTimesBeforeTheEpoch) {
  BusyTime busy;
  busy.wake(at(-30));
  EXPECT_EQ(busy.until(at(-10)), Duration{20});
  busy.sleep(at(10));
  EXPECT_EQ(busy.until(at(11)), Duration{40});
}

}  // namespace
}  // namespace weft::detail::busy_time_tests
