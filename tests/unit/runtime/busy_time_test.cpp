// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/busy_time.hpp"

#include <gtest/gtest.h>

namespace weft::detail::busy_time_tests {
namespace {

TimePoint at(int nanoseconds) {
  return TimePoint{Duration{nanoseconds}};
}

Duration until(const BusyTime& busy, int nanoseconds) {
  ManualClock clock{at(nanoseconds)};
  return busy.until(clock);
}

TEST(BusyTimes, GrowsWhileTheLoopIsAwake) {
  BusyTime busy;
  EXPECT_FALSE(busy.is_awake());
  EXPECT_EQ(until(busy, 5), Duration::zero());
  busy.wake(at(10));
  EXPECT_TRUE(busy.is_awake());
  EXPECT_EQ(until(busy, 15), Duration{5});
  busy.sleep(at(20));
  EXPECT_FALSE(busy.is_awake());
  EXPECT_EQ(until(busy, 100), Duration{10});
  busy.wake(at(100));
  EXPECT_EQ(until(busy, 100), Duration{10});
  EXPECT_EQ(until(busy, 107), Duration{17});
}

TEST(BusyTimes, KnowsTimesBeforeTheEpoch) {
  BusyTime busy;
  busy.wake(at(-30));
  EXPECT_EQ(until(busy, -10), Duration{20});
  busy.sleep(at(10));
  EXPECT_EQ(until(busy, 11), Duration{40});
}

/// Changes the state once while it is read, as a loop on another thread may do.
class ChangesWhenRead final : public Clock {
 public:
  ChangesWhenRead(BusyTime& busy, bool wakes_again) : busy_(busy), wakes_again_(wakes_again) {}
  TimePoint now() override {
    if (busy_.is_awake() && !changed_) {
      changed_ = true;
      busy_.sleep(at(20));
      if (wakes_again_) busy_.wake(at(1000));
    }
    return at(1001);
  }
  bool advances_by_itself() const override { return false; }

 private:
  BusyTime& busy_;
  const bool wakes_again_;
  bool changed_ = false;
};

TEST(BusyTimes, CountsNoTimeAsleepForAReaderThatIsOvertaken) {
  for (const bool wakes_again : {false, true}) {
    BusyTime busy;
    busy.wake(at(10));
    ChangesWhenRead clock{busy, wakes_again};
    EXPECT_EQ(busy.until(clock), Duration{wakes_again ? 11 : 10});
  }
}

}  // namespace
}  // namespace weft::detail::busy_time_tests
