// SPDX-License-Identifier: Apache-2.0
#include "calls/sending/piece_window.hpp"

#include <gtest/gtest.h>

namespace weft::calls_testing {
namespace {

using namespace weft::detail;
using namespace std::chrono_literals;

constexpr std::uint64_t kPieceBytes = 128 * 1024;
/// Time of a mark behind bytes that wait on a way of a millisecond: more than a quarter of that longer.
constexpr Duration kLate = 1400us;

class AWindowOfPieces : public ::testing::Test {
 protected:
  bool has_room() const { return window_.has_room(now_); }
  /// Queues pieces until there is no room, each with its mark. Returns how many.
  int fill() {
    int pieces = 0;
    for (; has_room(); ++pieces) {
      window_.sent(kPieceBytes);
      if (window_.wants_mark()) last_ = window_.mark(now_);
    }
    window_.note_full();
    return pieces;
  }
  /// Fills it, and has the last mark answered after `took`.
  void go_round(Duration took) {
    fill();
    now_ += took;
    EXPECT_TRUE(window_.on_pong(last_, now_, now_));
  }

  TimePoint now_ = TimePoint{} + 1h;
  PieceWindow window_{now_};
  std::uint64_t last_ = 0;
};

TEST_F(AWindowOfPieces, HasRoomForHalfAMebibyteBeforeAnythingIsKnown) {
  EXPECT_EQ(fill(), 4);
  EXPECT_FALSE(window_.wants_mark()) << "a mark is on its way behind all of it";
}

TEST_F(AWindowOfPieces, HasRoomAgainWhenTheMarkBehindItsPiecesIsAnswered) {
  fill();
  now_ += 100us;
  EXPECT_TRUE(window_.on_pong(last_, now_, now_));
  EXPECT_TRUE(has_room());
}

TEST_F(AWindowOfPieces, TakesThePongOfALaterMarkForThoseOfAllBefore) {
  window_.sent(kPieceBytes);
  const std::uint64_t first = window_.mark(now_);
  window_.sent(kPieceBytes);
  const std::uint64_t second = window_.mark(now_);
  EXPECT_TRUE(window_.on_pong(second, now_, now_));
  EXPECT_EQ(fill(), 4);
  EXPECT_FALSE(window_.on_pong(first, now_, now_)) << "it is known already";
}

TEST_F(AWindowOfPieces, MindsNoPongOfAnotherPing) {
  fill();
  for (const std::uint64_t id :
       {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{7}, last_ + 1, last_ + 8}) {
    EXPECT_FALSE(window_.on_pong(id, now_, now_)) << id;
  }
  EXPECT_FALSE(has_room());
}

TEST_F(AWindowOfPieces, ThatWereSentUnmarkedIsFullUntilAMarkBehindThemIsAnswered) {
  window_.sent(64 * kPieceBytes);
  EXPECT_FALSE(has_room());
  ASSERT_TRUE(window_.wants_mark());
  const std::uint64_t id = window_.mark(now_);
  EXPECT_FALSE(window_.wants_mark());
  EXPECT_TRUE(window_.on_pong(id, now_, now_));
  EXPECT_EQ(fill(), 4);
}

TEST_F(AWindowOfPieces, GrowsWhileItIsFullAndItsMarksAreAsQuickAsEver) {
  for (int i = 0; i < 100; ++i) go_round(1ms);
  EXPECT_EQ(window_.bytes(), PieceWindow::kBytesMax);
  fill();
  EXPECT_FALSE(has_room());
}

TEST_F(AWindowOfPieces, StaysAsItIsWhileItIsNeverFull) {
  for (int i = 0; i < 100; ++i) {
    window_.sent(kPieceBytes);
    const std::uint64_t id = window_.mark(now_);
    now_ += 1ms;
    EXPECT_TRUE(window_.on_pong(id, now_, now_));
  }
  EXPECT_EQ(window_.bytes(), PieceWindow::kBytesMin);
}

TEST_F(AWindowOfPieces, ShrinksWhenItsBytesWaitOnTheWay) {
  for (int i = 0; i < 20; ++i) go_round(1ms);
  const std::uint64_t grown = window_.bytes();
  go_round(kLate);
  EXPECT_LT(window_.bytes(), grown);
  for (int i = 0; i < 100; ++i) go_round(kLate);
  EXPECT_EQ(window_.bytes(), PieceWindow::kBytesMin) << "and no further";
}

TEST_F(AWindowOfPieces, ThatGoesALongWayMindsNoLittleDelay) {
  for (int i = 0; i < 100; ++i) go_round(50ms + i % 3 * 1ms);
  EXPECT_EQ(window_.bytes(), PieceWindow::kBytesMax);
}

TEST_F(AWindowOfPieces, DoesNotShrinkForWhatAPongWaitedOnThisSide) {
  for (int i = 0; i < 20; ++i) go_round(1ms);
  const std::uint64_t grown = window_.bytes();
  fill();
  const TimePoint arrived = now_ + 1ms;
  now_ += 30ms;
  EXPECT_TRUE(window_.on_pong(last_, now_, arrived));
  EXPECT_GE(window_.bytes(), grown);
}

TEST_F(AWindowOfPieces, MeasuresTheWayAnewAfterAWhile) {
  for (int i = 0; i < 20; ++i) go_round(1ms);
  now_ += PieceWindow::kForget;
  go_round(5ms);  // the way has become longer
  EXPECT_EQ(window_.bytes(), PieceWindow::kBytesMin);
  for (int i = 0; i < 20; ++i) go_round(5ms);
  EXPECT_GT(window_.bytes(), PieceWindow::kBytesMin);
}

TEST_F(AWindowOfPieces, DoesNotMeasureTheWayByMarksThatHadALargerWindowBeforeThem) {
  for (int i = 0; i < 20; ++i) go_round(1ms);
  window_.sent(kPieceBytes);
  while (!window_.wants_mark()) window_.sent(kPieceBytes);
  const std::uint64_t first = window_.mark(now_);
  while (!window_.wants_mark()) window_.sent(kPieceBytes);
  const std::uint64_t second = window_.mark(now_);
  now_ += PieceWindow::kForget;
  EXPECT_TRUE(window_.on_pong(first, now_, now_));
  EXPECT_TRUE(window_.on_pong(second, now_, now_)) << "it was on its way with the first one";
  for (int i = 0; i < 20; ++i) go_round(1ms);
  const std::uint64_t grown = window_.bytes();
  go_round(kLate);
  EXPECT_LT(window_.bytes(), grown) << "the quickest is one of 1 ms";
}

TEST_F(AWindowOfPieces, HasMorePatienceWithAPeerThatAnswersLate) {
  go_round(3s);
  fill();
  now_ += 5s;
  EXPECT_FALSE(has_room());
  now_ += 2s;
  EXPECT_TRUE(has_room());
}

TEST_F(AWindowOfPieces, WaitsForNoPeerThatAnswersNoMark) {
  fill();
  now_ += PieceWindow::kPatience;
  EXPECT_FALSE(has_room());
  now_ += 1ms;
  EXPECT_TRUE(has_room());
}

}  // namespace
}  // namespace weft::calls_testing
