// SPDX-License-Identifier: Apache-2.0
// A loop that has not run itself judges its peers later.
#include "weft/detail/runtime/absence.hpp"

#include <gtest/gtest.h>

#include "unit/runtime/loops.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1h};

TEST(Absences, OfNobodyLetEverybodyBeJudgedAtOnce) {
  Absence absence;
  EXPECT_LT(absence.judge_from(10s), kStart);
  absence.fires(kStart - 5ms, kStart);
  EXPECT_LT(absence.judge_from(10s), kStart) << "timers are a little late every day";
}

TEST(Absences, LetPeersBeLookedAtForASecondOrForTheirWholeTimeout) {
  Absence absence;
  absence.fires(kStart - 60ms, kStart);
  EXPECT_EQ(absence.judge_from(10s), kStart + 1s);
  EXPECT_EQ(absence.judge_from(300ms), kStart + 300ms);
}

TEST(Absences, ThatAreShortCountOnceInAWhileAndLongOnesAlways) {
  Absence absence;
  absence.fires(kStart - 60ms, kStart);
  absence.fires(kStart + 2s - 60ms, kStart + 2s);
  EXPECT_EQ(absence.judge_from(10s), kStart + 1s) << "who is always a little late would judge nobody";
  absence.fires(kStart + 3s - 500ms, kStart + 3s);
  EXPECT_EQ(absence.judge_from(10s), kStart + 4s);
  absence.fires(kStart + 20s - 60ms, kStart + 20s);
  EXPECT_EQ(absence.judge_from(10s), kStart + 21s);
}

TEST(Absences, ThatComeAgainAndAgainDoNotKeepFromJudging) {
  Absence absence;
  int judged = 0;
  for (TimePoint now = kStart; now < kStart + 60s; now += 2s) {
    absence.fires(now - 1s, now);
    absence.fires(now - 900ms, now);
    if (absence.judge_from(10s) <= now) ++judged;
  }
  EXPECT_GE(judged, 10) << "a loop that is driven every two seconds would never give anybody up";
}

// The others were due before the loop was back: those that fire later in its turn, and in the turns behind.
TEST(Absences, AreOnceHoweverManyTimersTheyMadeLate) {
  Absence absence;
  absence.fires(kStart - 2s, kStart);
  for (int i = 0; i < 10; ++i) absence.fires(kStart - 1s, kStart + i * 1ms);
  EXPECT_EQ(absence.judge_from(10s), kStart + 1s);
  for (int i = 1; i <= Absence::kRepeats; ++i) {
    absence.fires(kStart + i * 2s - 1s, kStart + i * 2s);
    EXPECT_EQ(absence.judge_from(10s), kStart + i * 2s + 1s) << i;
  }
}

TEST(Absences, OfALoopAreSeenByTheTimersThatItIsLateFor) {
  auto loop = testing::make_loop();
  TimePoint judged{};
  testing::CallbackTimer timer{[&] { judged = loop->turn_time().absence().judge_from(10s); }};
  loop->arm(timer, loop->now() + 1ms);
  loop->run_once(10s);
  while (judged == TimePoint{}) loop->run_once(10s);
  EXPECT_LT(judged, loop->now()) << "it was there all the time";
  judged = {};
  loop->arm(timer, loop->now() - 2s);
  while (judged == TimePoint{}) loop->run_once(10s);
  EXPECT_GT(judged, loop->now());
}

}  // namespace
}  // namespace weft
