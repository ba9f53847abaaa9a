// SPDX-License-Identifier: Apache-2.0
// Rates that callers want for the attachments of their answers, on a clock that the test moves. Capabilities:
// CR-8.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unit/calls/text_calls.hpp"
#include "weft/detail/calls/serve/call_context.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::answer_rate_tests {

using namespace weft::calls_testing;

namespace {

using wire::FrameFlags;

constexpr std::uint64_t kPiece = 128 * 1024;
constexpr std::size_t kPieces = 8;
/// Rate at which a piece takes 125 ms.
constexpr std::uint64_t kRate = 8 * kPiece;

std::string rate_bytes(std::uint64_t rate, std::uint64_t id = 1) {
  return frame_bytes(wire::RateHead{.id = id, .bytes_per_second = rate}.header());
}

/// The handler answers with eight pieces, at once or when the test says so.
class AnswerRates : public ::testing::Test {
 protected:
  void SetUp() override {
    MethodEntry give{{12, 22, "give", &text_schema}, {}};
    give.kind = HandlerKind::kRecord;
    give.takes_attachment = true;
    give.serve_record = [](const MethodEntry&, ServedCall& call) {
      call.hold();
      served = &call;
      if (!later) answer();
    };
    methods_ = MethodTable::build({give}).value();
    served = nullptr;
    later = false;
    rig_.emplace(RpcLimits{}, &*methods_);
    rig_->greet();
  }
  void TearDown() override {
    if (served != nullptr) answer();
    rig_.reset();
  }
  /// `rate` is the handler's own.
  static void answer(std::uint64_t rate = 0) {
    ServedCall& call = *std::exchange(served, nullptr);
    call.context().set_attachment(Buffer::try_allocate(kPieces * kPiece).value());
    call.context().set_attachment_rate(rate);
    if (call.begin_answer(0) != nullptr) call.end_answer();
    call.let_go();
  }
  static std::string request() {
    return frame_bytes(wire::RequestHead{.id = 1, .method = 12, .schema = 22}.header());
  }
  /// Number of pieces that have left since the last question.
  std::size_t pieces() {
    const std::vector<SentFrame> sent = rig_->sent();
    return static_cast<std::size_t>(std::ranges::count_if(
        sent, [](const SentFrame& frame) { return frame.header.type == wire::FrameType::kPiece; }));
  }
  std::size_t pieces_after(Duration time) {
    rig_->pass(time);
    return pieces();
  }

  inline static ServedCall* served = nullptr;
  inline static bool later = false;
  std::optional<MethodTable> methods_;
  std::optional<SessionRig> rig_;
};

TEST_F(AnswerRates, HoldForAnAnswerThatWasGivenBeforeTheyWereRead) {
  rig_->peer_sends(request() + rate_bytes(kRate));
  EXPECT_EQ(pieces(), 1u);
  EXPECT_EQ(pieces_after(124ms), 0u);
  EXPECT_EQ(pieces_after(1ms), 1u);
  EXPECT_EQ(pieces_after(250ms), 2u);
  EXPECT_EQ(pieces_after(1s), kPieces - 4);
}

TEST_F(AnswerRates, AreKeptForAnAnswerThatIsGivenLater) {
  later = true;
  rig_->peer_sends(request() + rate_bytes(kRate));
  answer();
  EXPECT_EQ(pieces(), 1u);
  EXPECT_EQ(pieces_after(124ms), 0u);
  EXPECT_EQ(pieces_after(1ms), 1u);
}

TEST_F(AnswerRates, AreKeptWhileTheAttachmentOfTheRequestArrives) {
  wire::RequestHead head{.flags = FrameFlags::kAttachment | FrameFlags::kInPieces, .id = 1};
  head.method = 12;
  head.schema = 22;
  head.attachment_bytes = 8;
  const wire::PieceHead last{.id = 1, .bytes = 8, .last = true};
  rig_->peer_sends(testing::header_bytes(head.header()) + rate_bytes(kRate));
  rig_->peer_sends(frame_bytes(last.header(), {}, "12345678"));
  EXPECT_EQ(pieces(), 1u);
  EXPECT_EQ(pieces_after(124ms), 0u);
  EXPECT_EQ(pieces_after(1ms), 1u);
}

TEST_F(AnswerRates, GiveWayToALowerOneOfTheHandler) {
  later = true;
  rig_->peer_sends(request() + rate_bytes(kRate));
  answer(kRate / 2);
  EXPECT_EQ(pieces(), 1u);
  EXPECT_EQ(pieces_after(249ms), 0u);
  EXPECT_EQ(pieces_after(1ms), 1u);
}

TEST_F(AnswerRates, TakeTheWayOfAHigherOneOfTheHandler) {
  later = true;
  rig_->peer_sends(request() + rate_bytes(kRate));
  answer(2 * kRate);
  EXPECT_EQ(pieces(), 1u);
  EXPECT_EQ(pieces_after(124ms), 0u);
  EXPECT_EQ(pieces_after(1ms), 1u);
}

TEST_F(AnswerRates, MayBeLoweredOnTheWayAndNotRaised) {
  rig_->peer_sends(request() + rate_bytes(kRate));
  EXPECT_EQ(pieces(), 1u);
  rig_->peer_sends(rate_bytes(10 * kRate));
  EXPECT_EQ(pieces_after(124ms), 0u);
  EXPECT_EQ(pieces_after(1ms), 1u);
  rig_->peer_sends(rate_bytes(kRate / 2));
  EXPECT_EQ(pieces_after(125ms), 1u) << "it was due";
  EXPECT_EQ(pieces_after(249ms), 0u);
  EXPECT_EQ(pieces_after(1ms), 1u);
}

TEST_F(AnswerRates, OfManyThatComeForACallTheLeastHolds) {
  later = true;
  rig_->peer_sends(request() + rate_bytes(4 * kRate) + rate_bytes(kRate) + rate_bytes(8 * kRate) +
                   rate_bytes(~std::uint64_t{0}) + rate_bytes(0));
  answer();
  EXPECT_EQ(pieces(), 1u);
  EXPECT_EQ(pieces_after(124ms), 0u);
  EXPECT_EQ(pieces_after(1ms), 1u);
}

TEST_F(AnswerRates, ThatFallAgainAndAgainMakeNoPieceComeEarlier) {
  rig_->peer_sends(request() + rate_bytes(kRate));
  EXPECT_EQ(pieces(), 1u);
  for (std::uint64_t less = 1; less <= 100; ++less) rig_->peer_sends(rate_bytes(kRate - less));
  EXPECT_EQ(pieces_after(124ms), 0u);
  EXPECT_EQ(pieces_after(1ms), 1u);
}

TEST_F(AnswerRates, DoNotMakeAPeerThatHasEndedItsSideSeemDead) {
  rig_->peer_sends(request() + rate_bytes(kPiece / 20));
  EXPECT_EQ(pieces(), 1u);
  rig_->carrier().end();
  std::size_t left = kPieces - 1;
  for (int i = 0; i < 100 && left > 0; ++i) left -= pieces_after(5s);
  EXPECT_EQ(left, 0u);
  ASSERT_EQ(rig_->closed.size(), 1u);
  EXPECT_EQ(rig_->closed.front().message(), "the peer closed the connection");
}

TEST_F(AnswerRates, AreRaisedToWhatIsNotTakenForStandingStill) {
  rig_->peer_sends(request() + rate_bytes(1));
  EXPECT_EQ(pieces(), 1u);
  EXPECT_EQ(pieces_after(6s), 0u);
  EXPECT_EQ(pieces_after(1s), 1u) << "64 KiB and a piece in a frame_timeout";
}

TEST_F(AnswerRates, OfZeroOrOfNoCallSayNothing) {
  rig_->peer_sends(rate_bytes(kRate, 77) + request() + rate_bytes(0) + rate_bytes(~std::uint64_t{0}) +
                   rate_bytes(kRate, 2));
  EXPECT_EQ(pieces(), kPieces);
  rig_->peer_sends(rate_bytes(kRate));
  EXPECT_EQ(rig_->host.frames_skipped.get(), 0u);
  EXPECT_TRUE(rig_->closed.empty());
}

class WantedRates : public PendingCalls {
 protected:
  std::vector<SentFrame> frames_of_call(const CallOptions& options, bool wants_attachment = true) {
    CallDetails details{options, wants_attachment};
    TextCall call{target_, "hello", &details};
    EXPECT_TRUE(call.begin());
    std::vector<SentFrame> sent = rig_.sent();
    EXPECT_FALSE(sent.empty());
    if (!sent.empty()) rig_.peer_sends(answer_bytes(sent.front().header.id, "hello"));
    return sent;
  }
};

TEST_F(WantedRates, FollowTheirRequest) {
  const std::string attachment(100, 'a');
  for (const bool attached : {false, true}) {
    CallOptions options{.landing_rate = kRate};
    if (attached) options.attachment = AttachmentView{as_bytes(attachment)};
    const std::vector<SentFrame> sent = frames_of_call(options);
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent[0].header.type, wire::FrameType::kRequest);
    EXPECT_EQ(sent[0].attachment.size(), attached ? attachment.size() : 0u);
    EXPECT_EQ(sent[1].header.type, wire::FrameType::kRate);
    EXPECT_EQ(sent[1].header.id, sent[0].header.id);
    EXPECT_EQ(wire::RateView{sent[1].header}.bytes_per_second(), kRate);
  }
}

TEST_F(WantedRates, AreNotSentWhenNoneIsWanted) {
  EXPECT_EQ(frames_of_call({}).size(), 1u);
  EXPECT_EQ(frames_of_call({.landing_rate = kRate}, false).size(), 1u) << "no attachment is to come";
}

}  // namespace
}  // namespace weft::answer_rate_tests
