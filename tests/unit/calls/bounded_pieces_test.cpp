// SPDX-License-Identifier: Apache-2.0
// Few bytes of pieces are on their way to the peer while somebody would wait behind them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "calls/sending/piece_window.hpp"
#include "unit/calls/text_calls.hpp"

namespace weft::calls_testing {
namespace {

class BoundedPieces : public PendingCalls {
 protected:
  static constexpr std::size_t kBytes = 2048 * 1024;

  void SetUp() override {
    rig_.greet();
    rig_.carrier().set_lone_piece_bytes(512 * 1024);
    rig_.pass(Company::kStays + 1ms);  // the hello was company
  }
  Company& company() { return rig_.loop().turn_time().company(); }
  void have_company() { company().came(rig_.clock.now()); }
  /// Bytes of pieces that were sent since the last question. Keeps the marks among what was sent.
  std::size_t bytes_sent() {
    std::size_t bytes = 0;
    for (const SentFrame& frame : rig_.sent()) {
      if (frame.header.type == wire::FrameType::kPiece) bytes += frame.attachment.size();
      if (frame.header.type == wire::FrameType::kPing) marks_.push_back(frame.header.id);
    }
    return bytes;
  }
  void answer_marks() {
    for (const std::uint64_t id : std::exchange(marks_, {})) {
      rig_.peer_sends(testing::control_bytes(wire::FrameType::kPong, id));
    }
  }

  const std::string attachment_ = std::string(kBytes, 'a');
  CallDetails details_{CallOptions{.attachment = AttachmentView{as_bytes(attachment_)}}, false};
  TextCall call_{target_, "hello", &details_};
  std::vector<std::uint64_t> marks_;
};

TEST_F(BoundedPieces, AreSentNoFurtherThanAWindowAheadOfThePongs) {
  have_company();
  ASSERT_TRUE(call_.begin());
  EXPECT_EQ(bytes_sent(), PieceWindow::kBytesMin);
  EXPECT_EQ(bytes_sent(), 0u) << "nothing goes on by itself";
  std::size_t whole = PieceWindow::kBytesMin;
  while (whole < kBytes) {
    ASSERT_FALSE(marks_.empty());
    answer_marks();
    have_company();
    const std::size_t more = bytes_sent();
    ASSERT_GT(more, 0u);
    whole += more;
  }
  EXPECT_EQ(whole, kBytes);
}

TEST_F(BoundedPieces, AreSentWithoutAMarkWhenNobodyIsThere) {
  ASSERT_TRUE(call_.begin());
  EXPECT_EQ(bytes_sent(), kBytes);
  EXPECT_TRUE(marks_.empty());
}

TEST_F(BoundedPieces, WaitUntilThoseHaveArrivedThatWereSentWhileNobodyWasThere) {
  rig_.carrier().set_room(600 * 1024);
  ASSERT_TRUE(call_.begin());
  rig_.run_until_idle();
  have_company();
  rig_.carrier().set_room(SIZE_MAX);
  bytes_sent();
  ASSERT_EQ(marks_.size(), 1u);
  EXPECT_EQ(bytes_sent(), 0u);
  answer_marks();
  const std::size_t sent = bytes_sent();
  EXPECT_GE(sent, PieceWindow::kBytesMin);
  EXPECT_LT(sent, kBytes / 2) << "of 1.5 MiB";
}

TEST_F(BoundedPieces, AreNoCompanyWithTheirMarksNorAreTheMarksOfThePeer) {
  have_company();
  ASSERT_TRUE(call_.begin());
  bytes_sent();
  ASSERT_FALSE(marks_.empty());
  rig_.pass(Company::kStays + 1ms);
  EXPECT_FALSE(company().is_there(rig_.clock.now()));
  answer_marks();
  rig_.peer_sends(testing::control_bytes(wire::FrameType::kPing, 99));
  bytes_sent();
  EXPECT_FALSE(company().is_there(rig_.clock.now())) << "a pong is no call's";
}

TEST_F(BoundedPieces, GoOnWhenThePeerHasEndedItsSideForItSendsNoPong) {
  have_company();
  ASSERT_TRUE(call_.begin());
  EXPECT_EQ(bytes_sent(), PieceWindow::kBytesMin);
  rig_.carrier().end();
  rig_.run_until_idle();
  EXPECT_EQ(bytes_sent(), kBytes - PieceWindow::kBytesMin);
}

TEST_F(BoundedPieces, GoOnWhenNobodyIsThereAnyMore) {
  have_company();
  ASSERT_TRUE(call_.begin());
  EXPECT_EQ(bytes_sent(), PieceWindow::kBytesMin);
  rig_.pass(Company::kStays + 1ms);
  EXPECT_EQ(bytes_sent(), kBytes - PieceWindow::kBytesMin);
}

TEST_F(BoundedPieces, GoOnWhenThePeerLeavesTheirMarksUnanswered) {
  have_company();
  ASSERT_TRUE(call_.begin());
  std::size_t sent = bytes_sent();
  for (Duration passed{}; passed < PieceWindow::kPatience; passed += 5ms) {
    have_company();
    rig_.pass(5ms);
    EXPECT_EQ(sent, PieceWindow::kBytesMin) << passed;
    sent += bytes_sent();
  }
  for (int i = 0; i < 4; ++i) {
    have_company();
    rig_.pass(5ms);
    sent += bytes_sent();
  }
  EXPECT_EQ(sent, kBytes);
}

// Reading goes on only when parts of them have left.
TEST_F(BoundedPieces, GoOnWhileThisSideDoesNotRead) {
  have_company();
  ASSERT_TRUE(call_.begin());
  EXPECT_EQ(bytes_sent(), PieceWindow::kBytesMin);
  rig_.session().connection().pause_receiving();
  EXPECT_EQ(bytes_sent(), kBytes - PieceWindow::kBytesMin);
}

TEST_F(BoundedPieces, ThatAreCancelledLeaveNothingWaitingForAPong) {
  have_company();
  {
    TextCall dropped{target_, "hello", &details_};
    ASSERT_TRUE(dropped.begin());
    bytes_sent();
  }
  EXPECT_EQ(bytes_sent(), 0u);
  answer_marks();
  EXPECT_EQ(bytes_sent(), 0u);
}

}  // namespace
}  // namespace weft::calls_testing
