// SPDX-License-Identifier: Apache-2.0
// Attachments in pieces on a clock that the test moves: deadlines, transfers that stand still, ids, and
// memory that is out.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "calls/sending/answer_transfer.hpp"
#include "support/heap_count.hpp"
#include "unit/calls/session_rig.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::calls_testing {
namespace {

using namespace std::chrono_literals;
using wire::FrameFlags;

constexpr std::uint64_t kPiece = 100 * 1024;
constexpr std::uint64_t kWhole = 10 * kPiece;
constexpr auto kOk = static_cast<unsigned>(StatusCode::kOk);
constexpr auto kUnavailable = static_cast<unsigned>(StatusCode::kUnavailable);

std::string no_schema(const MethodKey&) {
  return {};
}

std::string announcement(std::uint64_t id, std::uint32_t timeout_us = 0) {
  wire::RequestHead head{.flags = FrameFlags::kAttachment | FrameFlags::kInPieces, .id = id, .method = 12};
  head.schema = 22;
  head.timeout = timeout_us;
  head.attachment_bytes = kWhole;
  return testing::header_bytes(head.header());
}

std::string piece(std::uint64_t id, std::uint64_t number) {
  const wire::PieceHead head{
      .id = id, .offset = number * kPiece, .bytes = kPiece, .last = (number + 1) * kPiece == kWhole};
  return testing::header_bytes(head.header()) + std::string(kPiece, 'p');
}

class Transfers : public ::testing::Test {
 protected:
  void SetUp() override {
    MethodEntry take{{12, 22, "take", &no_schema}, {}};
    take.kind = HandlerKind::kRecord;
    take.takes_attachment = true;
    take.serve_record = [](const MethodEntry&, ServedCall& call) {
      deadlines.push_back(call.scope().deadline());
      if (call.begin_answer(0) != nullptr) call.end_answer();
    };
    methods_ = MethodTable::build({take}).value();
    deadlines.clear();
    rig_.emplace(RpcLimits{}, &*methods_);
    rig_->greet();
  }
  /// The answers that were sent, without the pings between them.
  std::vector<unsigned> answers() {
    std::vector<unsigned> codes;
    for (const SentFrame& frame : rig_->sent()) {
      if (frame.header.type == wire::FrameType::kAnswer)
        codes.push_back(wire::AnswerView{frame.header}.code());
    }
    return codes;
  }

  /// Deadlines as the handlers found them.
  inline static std::vector<Deadline> deadlines;
  std::optional<MethodTable> methods_;
  std::optional<SessionRig> rig_;
};

TEST_F(Transfers, TakeTheirTimeFromTheCallsDeadline) {
  rig_->peer_sends(announcement(1, 5'000'000));
  const TimePoint began = rig_->loop().now();
  for (std::uint64_t i = 0; i < 10; ++i) {
    rig_->pass(300ms);
    rig_->peer_sends(piece(1, i));
  }
  EXPECT_EQ(answers(), std::vector{kOk});
  ASSERT_EQ(deadlines.size(), 1u);
  EXPECT_EQ(deadlines[0].at(), began + 5s);
}

TEST_F(Transfers, ThatStandStillEndTheirCallAndOthersGoOn) {
  rig_->peer_sends(announcement(1) + announcement(2) + piece(2, 0));
  rig_->pass(rig_->limits.frame_timeout);
  rig_->peer_sends(testing::control_bytes(wire::FrameType::kPong, 7));
  rig_->pass(rig_->limits.frame_timeout);
  EXPECT_EQ(answers(), (std::vector{kUnavailable, kUnavailable}));
  EXPECT_TRUE(rig_->closed.empty());
}

TEST_F(Transfers, MayWaitForTheirTurnOnASlowConnection) {
  rig_->peer_sends(announcement(1) + announcement(2) + piece(1, 0));
  for (std::uint64_t i = 0; i < 10; ++i) {
    rig_->pass(rig_->limits.frame_timeout - 1ms);
    rig_->peer_sends(piece(2, i));
  }
  for (std::uint64_t i = 1; i < 10; ++i) rig_->peer_sends(piece(1, i));
  EXPECT_EQ(answers(), (std::vector{kOk, kOk}));
}

TEST_F(Transfers, DoNotWaitForEverWhateverElseTheConnectionBrings) {
  rig_->peer_sends(announcement(1));
  const std::string other = piece(99, 0);  // of nobody
  std::vector<unsigned> codes;
  int waits = 0;
  for (; codes.empty() && waits < 1100; ++waits) {
    rig_->peer_sends(other);
    rig_->pass(rig_->limits.frame_timeout);
    codes = answers();
  }
  EXPECT_EQ(codes, std::vector{kUnavailable});
  EXPECT_GE(waits, 1000);
}

TEST_F(Transfers, HaveTheIdOfNoOtherCall) {
  rig_->peer_sends(announcement(1));
  const wire::RequestHead same{.id = 1, .method = 12, .schema = 22};
  rig_->peer_sends(testing::frame_bytes(same.header()));
  ASSERT_EQ(rig_->closed.size(), 1u);
  EXPECT_EQ(rig_->closed[0].code(), StatusCode::kInvalidArgument);
}

TEST(AnswerTransfers, ForWhichThereIsNoMemoryTellThatTheyWereNotSent) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  const std::unique_ptr<Loop> loop = Loop::create().value();
  ChunkPool chunks;
  Outbox outbox{chunks};
  std::optional<bool> sent;
  const std::size_t blocks = testing::heap_blocks();
  auto wishes = std::make_unique<AnswerWishes>();
  wishes->on_sent = [&sent](bool left) { sent = left; };
  Buffer attachment = Buffer::try_allocate(100'000).value();
  auto* const transfer = new AnswerTransfer(*loop, outbox, std::move(attachment), std::move(wishes));
  testing::fail_allocations(1, testing::kForEver);
  const bool queued = transfer->queue_whole();
  testing::fail_allocations(0);
  EXPECT_FALSE(queued);
  EXPECT_EQ(sent, false);
  EXPECT_EQ(testing::heap_blocks(), blocks);
}

}  // namespace
}  // namespace weft::calls_testing
