// SPDX-License-Identifier: Apache-2.0
// Pieces of an attachment are long while nobody else would wait behind them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "calls/sending/piece_window.hpp"
#include "unit/calls/text_calls.hpp"
#include "weft/detail/calls/terms/transfer_progress.hpp"

namespace weft::calls_testing {
namespace {

class LonePieces : public PendingCalls {
 protected:
  static constexpr std::size_t kShort = 128 * 1024;
  static constexpr std::size_t kLong = 512 * 1024;
  static constexpr std::size_t kBytes = 2048 * 1024;
  static constexpr Duration kLongAfter = Company::kStays + 1ms;

  void SetUp() override {
    rig_.greet();
    rig_.carrier().set_lone_piece_bytes(kLong);
    rig_.pass(kLongAfter);          // the hello was company
    rig_.carrier().set_room(1000);  // so the others are cut later
  }
  Company& company() { return rig_.loop().turn_time().company(); }
  bool has_company() { return company().is_there(rig_.clock.now()); }
  std::vector<std::size_t> cut_now() {
    rig_.carrier().set_room(SIZE_MAX);
    std::vector<std::size_t> pieces;
    for (std::vector<SentFrame> sent = rig_.sent(); !sent.empty(); sent = rig_.sent()) {
      for (const SentFrame& frame : sent) {
        if (frame.header.type == wire::FrameType::kPiece) pieces.push_back(frame.attachment.size());
        if (frame.header.type != wire::FrameType::kPing) continue;
        rig_.peer_sends(testing::control_bytes(wire::FrameType::kPong, frame.header.id));
      }
    }
    return pieces;
  }

  const std::string attachment_ = std::string(kBytes, 'a');
  CallDetails details_{CallOptions{.attachment = AttachmentView{as_bytes(attachment_)}}, false};
  TextCall call_{target_, "hello", &details_};
};

TEST_F(LonePieces, AreLongWhenNobodyElseHasDoneAnythingForAWhile) {
  ASSERT_TRUE(call_.begin());
  rig_.pass(kLongAfter);
  EXPECT_EQ(cut_now(), std::vector<std::size_t>(kBytes / kLong, kLong));
}

TEST_F(LonePieces, AreShortWhenAnotherCallIsThere) {
  ASSERT_TRUE(call_.begin());
  rig_.pass(kLongAfter);
  TextCall other{target_};
  ASSERT_TRUE(other.begin());
  std::vector<std::size_t> expected((kBytes - kLong) / kShort, kShort);
  expected.insert(expected.begin(), kLong);  // cut before the other one came
  EXPECT_EQ(cut_now(), expected);
}

TEST_F(LonePieces, AreShortFromTheFirstCallOnThatAnotherConnectionOfTheLoopSends) {
  ASSERT_TRUE(call_.begin());
  rig_.pass(kLongAfter);
  company().came(rig_.clock.now());
  std::vector<std::size_t> expected((kBytes - kLong) / kShort, kShort);
  expected.insert(expected.begin(), kLong);  // cut before it came
  EXPECT_EQ(cut_now(), expected);
}

TEST_F(LonePieces, AreShortInATurnThatHasLastedForLong) {
  ASSERT_TRUE(call_.begin());
  rig_.pass(kLongAfter);
  rig_.loop().post([this] {
    rig_.clock.advance(2 * TurnTime::kOld);
    rig_.carrier().set_room(SIZE_MAX);
  });
  rig_.run_until_idle();
  const std::vector<std::size_t> pieces = cut_now();
  ASSERT_GE(pieces.size(), 3u);
  EXPECT_EQ(pieces[0], kLong) << "cut in an earlier turn";
  EXPECT_EQ(pieces[1], kShort);
  EXPECT_GE(std::ranges::count(pieces, kLong), 2) << "in later ones they are long again";
}

TEST_F(LonePieces, AreLongInATurnThatIsNotMuchOlderThanItMayBe) {
  ASSERT_TRUE(call_.begin());
  rig_.pass(kLongAfter);
  rig_.loop().post([this] {
    rig_.clock.advance(TurnTime::kOld);
    rig_.carrier().set_room(SIZE_MAX);
  });
  EXPECT_EQ(cut_now(), std::vector<std::size_t>(kBytes / kLong, kLong));
}

TEST_F(LonePieces, AreNoCompanyAndNeitherIsTheFrameThatAnnouncesThem) {
  rig_.carrier().set_room(SIZE_MAX);
  ASSERT_TRUE(call_.begin());
  rig_.run_until_idle();
  EXPECT_EQ(rig_.sent().size(), 1 + kBytes / kLong);
  EXPECT_FALSE(has_company());
}

TEST_F(LonePieces, AreStillNoCompanyAfterThePeerHasAskedForThem) {
  rig_.carrier().set_room(SIZE_MAX);
  TextCall call{target_, "hello", &details_, kChoosing};
  ASSERT_TRUE(call.begin());
  const std::vector<SentFrame> announced = rig_.sent();
  ASSERT_EQ(announced.size(), 1u);
  EXPECT_TRUE(has_company()) << "nothing that it announces is on its way yet";
  rig_.pass(kLongAfter);
  rig_.peer_sends(testing::control_bytes(wire::FrameType::kContinue, announced[0].header.id));
  EXPECT_EQ(rig_.sent().size(), kBytes / kLong);
  EXPECT_FALSE(has_company());
  TextCall other{target_};
  ASSERT_TRUE(other.begin());
  rig_.run_until_idle();
  EXPECT_TRUE(has_company());
}

TEST_F(LonePieces, HaveCompanyInEachOtherFrameThatLeaves) {
  rig_.carrier().set_room(SIZE_MAX);
  TextCall other{target_};
  ASSERT_TRUE(other.begin());
  rig_.run_until_idle();
  EXPECT_TRUE(has_company());
  rig_.pass(kLongAfter);
  EXPECT_FALSE(has_company()) << "it stays for a while only";
  ASSERT_TRUE(call_.begin());
  rig_.run_until_idle();
  EXPECT_FALSE(has_company());
  TextCall another{target_};
  ASSERT_TRUE(another.begin());
  rig_.run_until_idle();
  EXPECT_TRUE(has_company()) << "also where pieces leave before it";
}

TEST_F(LonePieces, HaveCompanyInItemsThatAreReceived) {
  rig_.peer_sends(frame_bytes(wire::ItemHead{.id = 77}.header(), "an item"));
  EXPECT_TRUE(has_company()) << "nothing that is sent may answer it";
  rig_.pass(kLongAfter);
  rig_.peer_sends(frame_bytes(wire::ItemHead{.id = 77, .attachment_bytes = kBytes}.header(), "an item"));
  EXPECT_FALSE(has_company()) << "its pieces take turns with others";
}

TEST_F(LonePieces, AreLongAgainWhenTheOtherCallIsOver) {
  ASSERT_TRUE(call_.begin());
  TextCall other{target_};
  ASSERT_TRUE(other.begin());
  rig_.carrier().set_room(kLong + kShort);
  rig_.run_until_idle();
  rig_.peer_sends(testing::control_bytes(wire::FrameType::kPong, PieceWindow::kIds));  // has the first one
  rig_.pass(kLongAfter);
  const std::vector<std::size_t> pieces = cut_now();
  ASSERT_GE(pieces.size(), 3u);
  EXPECT_EQ(pieces[1], kShort);
  EXPECT_GE(std::ranges::count(pieces, kLong), 2) << "one before the other call, and one after it at least";
}

TEST_F(LonePieces, AreShortWhenTheyAreCounted) {
  TransferProgress progress;
  CallDetails counted{CallOptions{.attachment = AttachmentView{as_bytes(attachment_)}, .progress = &progress},
                      false};
  TextCall call{target_, "hello", &counted};
  ASSERT_TRUE(call.begin());
  rig_.pass(kLongAfter);
  EXPECT_EQ(cut_now(), std::vector<std::size_t>(kBytes / kShort, kShort));
  EXPECT_EQ(progress.sent(), kBytes);
}

}  // namespace
}  // namespace weft::calls_testing
