// SPDX-License-Identifier: Apache-2.0
// Pieces of an attachment are long while nobody else would wait behind them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/calls/text_calls.hpp"
#include "weft/detail/calls/transfer_progress.hpp"

namespace weft::calls_testing {
namespace {

class LonePieces : public PendingCalls {
 protected:
  static constexpr std::size_t kShort = 128 * 1024;
  static constexpr std::size_t kLong = 512 * 1024;
  static constexpr std::size_t kBytes = 2048 * 1024;

  void SetUp() override {
    rig_.greet();
    rig_.carrier().set_lone_piece_bytes(kLong);
    rig_.carrier().set_room(1000);  // so the others are cut later
  }
  std::vector<std::size_t> cut_now() {
    rig_.carrier().set_room(SIZE_MAX);
    std::vector<std::size_t> pieces;
    for (const SentFrame& frame : rig_.sent()) {
      if (frame.header.type == wire::FrameType::kPiece) pieces.push_back(frame.attachment.size());
    }
    return pieces;
  }

  const std::string attachment_ = std::string(kBytes, 'a');
  CallDetails details_{CallOptions{.attachment = AttachmentView{as_bytes(attachment_)}}, false};
  TextCall call_{target_, "hello", &details_};
};

TEST_F(LonePieces, AreLongWhenNobodyElseHasDoneAnythingForAWhile) {
  ASSERT_TRUE(call_.begin());
  rig_.pass(2ms);
  EXPECT_EQ(cut_now(), std::vector<std::size_t>(kBytes / kLong, kLong));
}

TEST_F(LonePieces, AreShortWhenAnotherCallIsThere) {
  ASSERT_TRUE(call_.begin());
  rig_.pass(2ms);
  TextCall other{target_};
  ASSERT_TRUE(other.begin());
  std::vector<std::size_t> expected((kBytes - kLong) / kShort, kShort);
  expected.insert(expected.begin(), kLong);  // cut before the other one came
  EXPECT_EQ(cut_now(), expected);
}

TEST_F(LonePieces, AreLongAgainWhenTheOtherCallIsOver) {
  ASSERT_TRUE(call_.begin());
  TextCall other{target_};
  ASSERT_TRUE(other.begin());
  rig_.carrier().set_room(kLong + kShort);
  rig_.run_until_idle();
  rig_.pass(2ms);
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
  rig_.pass(2ms);
  EXPECT_EQ(cut_now(), std::vector<std::size_t>(kBytes / kShort, kShort));
  EXPECT_EQ(progress.sent(), kBytes);
}

}  // namespace
}  // namespace weft::calls_testing
