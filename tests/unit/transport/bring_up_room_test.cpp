// SPDX-License-Identifier: Apache-2.0
// A few peers are brought up at a time, and none of them keeps the others out.
#include "transport/ucx/bring_up_room.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "support/manual_time.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;
using ucx_carrier::BringUpRoom;

struct Guest final : BringUpRoom::Guest {
  void on_place(bool given) noexcept override {
    inside = given;
    sent_away = !given;
  }
  bool inside = false;
  bool sent_away = false;
};

class BringUpRooms : public ::testing::Test {
 protected:
  void enter(std::size_t index) { guests_[index].inside = room_.enter(guests_[index]); }
  void pass(Duration time) { testing::pass(*loop_, clock_, time); }

  ManualClock clock_;
  std::unique_ptr<Loop> loop_ = Loop::create({.clock = &clock_}).value();
  std::array<Guest, 8> guests_;
  BringUpRoom room_{*loop_, 2, 100ms};
};

TEST_F(BringUpRooms, LetInAsManyAsTheyHavePlacesAndTheNextOneWhenOneLeaves) {
  for (std::size_t i = 0; i < 3; ++i) enter(i);
  EXPECT_TRUE(guests_[0].inside && guests_[1].inside && !guests_[2].inside);
  room_.leave(guests_[1]);
  loop_->run_until_idle();
  EXPECT_TRUE(guests_[2].inside);
  for (Guest& each : guests_) room_.leave(each);
  EXPECT_EQ(loop_->timers_armed(), 0u);
}

TEST_F(BringUpRooms, KeepGuestsForAsLongAsNobodyWaits) {
  enter(0);
  enter(1);
  pass(1h);
  EXPECT_TRUE(guests_[0].inside && guests_[1].inside);
  EXPECT_EQ(loop_->timers_armed(), 0u);
  enter(2);
  pass(1ms);
  EXPECT_TRUE(guests_[0].sent_away) << "it has had its time";
  EXPECT_TRUE(guests_[2].inside);
  EXPECT_TRUE(guests_[1].inside) << "nobody waits any more";
}

TEST_F(BringUpRooms, GiveEachItsTimeFromWhenItCameInWhileOthersWait) {
  enter(0);
  pass(60ms);
  enter(1);
  enter(2);
  enter(3);
  pass(39ms);
  EXPECT_TRUE(guests_[0].inside && guests_[1].inside);
  pass(2ms);
  EXPECT_TRUE(guests_[0].sent_away && guests_[1].inside && guests_[2].inside);
  pass(60ms);
  EXPECT_TRUE(guests_[1].sent_away && guests_[2].inside && guests_[3].inside);
  pass(1h);
  EXPECT_TRUE(guests_[2].inside && guests_[3].inside) << "nobody waits any more";
}

TEST_F(BringUpRooms, ThatAreFullOfSilentPeersLetTheHonestOneInSoon) {
  for (std::size_t i = 0; i < 6; ++i) enter(i);
  enter(7);
  pass(301ms);
  EXPECT_TRUE(guests_[7].inside) << "three times two are before it";
}

}  // namespace
}  // namespace weft
