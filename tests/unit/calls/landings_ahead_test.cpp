// SPDX-License-Identifier: Apache-2.0
// A device may fill the memory of an answer before its turn: until then, or until it was taken back, the call
// does not end, and nobody else is given the memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "support/pattern.hpp"
#include "unit/calls/text_calls.hpp"

namespace weft::calls_testing {
namespace {

/// Longer than what comes whole.
const std::string kAttachment(20'000, 'a');

class LandingsAheadOfCalls : public PendingCalls {
 protected:
  void SetUp() override {
    PendingCalls::SetUp();
    id_ = begin(*call_);
  }
  std::uint64_t begin(TextCall& call) {
    EXPECT_TRUE(call.begin());
    return rig_.sent_frame().header.id;
  }
  static wire::FrameHeader answer_to(std::uint64_t id) {
    wire::FrameHeader header = wire::AnswerHead{.id = id}.header();
    header.flags |= wire::FrameFlags::kAttachment;
    header.attachment_bytes = kAttachment.size();
    return header;
  }
  Landing ask(const wire::FrameHeader& header) {
    return rig_.session().calls_out().on_attachment_ahead(header);
  }
  bool knows(const wire::FrameHeader& header) { return ask(header).kind == Landing::Kind::kInto; }
  void fill_ahead() {
    ASSERT_EQ(ask(answer_to(id_)).place.rest().data(), landing_.data());
    rig_.carrier().set_holding(true);
  }
  void answer(std::uint64_t id) { rig_.peer_sends(answer_bytes(id, "there", kAttachment)); }
  /// Nothing is written there, whatever comes for the call that has ended.
  void expect_memory_is_free() {
    std::ranges::fill(landing_, std::byte{0xEE});
    answer(id_);
    EXPECT_TRUE(testing::all_are(landing_, std::byte{0xEE}));
    EXPECT_TRUE(rig_.closed.empty());
  }
  int taken_back() { return rig_.carrier().reclaimed_ahead(); }

  std::vector<std::byte> landing_ = std::vector<std::byte>(kAttachment.size());
  CallDetails details_{CallOptions{.landing = landing_}, false};
  std::optional<TextCall> call_{std::in_place, target_, "hello", &details_};
  std::uint64_t id_ = 0;
};

TEST_F(LandingsAheadOfCalls, AreWhereTheAnswerLandsInItsTurn) {
  EXPECT_EQ(ask(answer_to(id_)).place.rest().data(), landing_.data());
  answer(id_);
  EXPECT_TRUE(call_->done());
  EXPECT_EQ(as_text(Bytes{landing_}), kAttachment);
  EXPECT_EQ(taken_back(), 0) << "the device was done with it";
}

TEST_F(LandingsAheadOfCalls, AreTheServersMemoryWhereNoneIsNamed) {
  CallDetails details{CallOptions{}, true};
  TextCall call{target_, "hello", &details};
  const std::uint64_t id = begin(call);
  const std::byte* const place = ask(answer_to(id)).place.rest().data();
  answer(id);
  EXPECT_TRUE(call.done());
  EXPECT_EQ(details.answer_attachment.data(), place);
  EXPECT_EQ(as_text(details.answer_attachment.bytes()), kAttachment);
}

TEST_F(LandingsAheadOfCalls, AreGivenOnce) {
  EXPECT_TRUE(knows(answer_to(id_)));
  EXPECT_FALSE(knows(answer_to(id_))) << "a second answer would go to the same memory";
  CallDetails details{CallOptions{.landing = landing_}, false};
  TextCall other{target_, "hello", &details};
  const std::uint64_t id = begin(other);
  rig_.peer_sends(answer_bytes(id, "there", kAttachment).substr(0, 80));
  EXPECT_FALSE(knows(answer_to(id))) << "its attachment lands";
}

TEST_F(LandingsAheadOfCalls, AreNotKnownOfOtherFrames) {
  EXPECT_FALSE(knows(answer_to(id_ + 1)));
  wire::FrameHeader request = answer_to(id_);
  request.type = wire::FrameType::kRequest;
  EXPECT_FALSE(knows(request));
  wire::FrameHeader large = answer_to(id_);
  large.attachment_bytes = landing_.size() + 8;
  EXPECT_FALSE(knows(large));
  TextCall plain{target_};
  EXPECT_FALSE(knows(answer_to(begin(plain))));
  EXPECT_TRUE(knows(answer_to(id_)));
}

TEST_F(PendingCalls, WithChecksumsHaveNoLandingsAhead) {
  SessionRig rig{RpcLimits{.ping_interval = Duration::zero()}};
  rig.peer_sends(testing::hello_bytes(wire::Features::kChecksum, wire::Features::kAll));
  Target target{rig};
  std::vector<std::byte> landing(64);
  CallDetails details{CallOptions{.landing = landing}, false};
  TextCall call{target, "hello", &details};
  ASSERT_TRUE(call.begin());
  rig.run_until_idle();
  const std::string sent = rig.carrier().take_sent();
  const std::uint64_t id = wire::load_header(as_bytes(sent).data()).id;
  wire::FrameHeader header = wire::AnswerHead{.id = id}.header();
  header.flags |= wire::FrameFlags::kAttachment;
  header.attachment_bytes = 64;
  EXPECT_EQ(rig.session().calls_out().on_attachment_ahead(header).kind, Landing::Kind::kSkip);
}

// What comes whole goes by way of a chunk, so a device that read it to the call's memory would leave the
// chunk, from which it is taken, without it.
TEST_F(PendingCalls, HaveNoLandingsAheadForWhatComesWhole) {
  constexpr std::size_t kLarge = Capabilities{}.lease_bytes_min;
  for (const std::size_t bytes : {std::size_t{1000}, kLarge - 8, kLarge}) {
    SCOPED_TRACE(bytes);
    std::vector<std::byte> landing_before(kLarge);
    std::vector<std::byte> landing(bytes);
    CallDetails details_before{CallOptions{.landing = landing_before}, false};
    CallDetails details{CallOptions{.landing = landing}, false};
    TextCall before{target_, "hello", &details_before};
    ASSERT_TRUE(before.begin());
    const std::string sent_before(kLarge, 'a');
    const std::string first = answer_bytes(rig_.sent_frame().header.id, "there", sent_before);
    TextCall call{target_, "hello", &details};
    ASSERT_TRUE(call.begin());
    const std::string sent(bytes, 'b');
    const std::string second = answer_bytes(rig_.sent_frame().header.id, "there", sent);
    rig_.carrier().read_behind_landing(std::string_view{second}.substr(0, second.size() - bytes));
    const std::size_t begun = first.size() - kLarge + 8;
    rig_.peer_sends(first.substr(0, begun));
    rig_.peer_sends(first.substr(begun));
    EXPECT_EQ(rig_.carrier().place_ahead(), bytes < kLarge ? Landing::Kind::kSkip : Landing::Kind::kInto);
    rig_.carrier().read_behind_landing({});
    rig_.peer_sends(second);
    EXPECT_TRUE(before.done() && call.done());
    EXPECT_EQ(as_text(Bytes{landing_before}), sent_before);
    EXPECT_EQ(as_text(Bytes{landing}), sent);
  }
}

TEST_F(LandingsAheadOfCalls, OfACallThatIsCancelledAreWaitedForBesideTheLoop) {
  fill_ahead();
  call_->on_cancel(CancelReason::kRequested);
  rig_.pass(20ms);
  EXPECT_FALSE(call_->done());
  EXPECT_EQ(taken_back(), 0) << "that may block";
  rig_.carrier().set_holding(false);
  rig_.pass(1ms);
  EXPECT_TRUE(call_->done());
  expect_memory_is_free();
}

// Its turn comes while it leaves, and the device is not done: it is skipped, and the call waits on.
TEST_F(LandingsAheadOfCalls, OfACallThatLeavesAreWaitedForUntilItsAnswerIsThere) {
  fill_ahead();
  call_->on_cancel(CancelReason::kRequested);
  rig_.peer_sends(answer_bytes(id_, "there", kAttachment).substr(0, 80));
  rig_.pass(20ms);
  EXPECT_FALSE(call_->done());
  rig_.peer_sends(answer_bytes(id_, "there", kAttachment).substr(80));
  EXPECT_TRUE(call_->done()) << "nothing is passed over before the device is done";
  EXPECT_EQ(landing_.front(), std::byte{0});
}

TEST_F(LandingsAheadOfCalls, OfACallThatIsDroppedAreTakenBackAtOnce) {
  fill_ahead();
  call_.reset();
  EXPECT_EQ(taken_back(), 1);
  expect_memory_is_free();
}

TEST_F(LandingsAheadOfCalls, AreTakenByForceAfterAQuarterOfASecond) {
  fill_ahead();
  call_->on_cancel(CancelReason::kRequested);
  rig_.pass(248ms);
  EXPECT_FALSE(call_->done());
  rig_.pass(4ms);
  EXPECT_TRUE(call_->done());
  EXPECT_EQ(taken_back(), 1);
  expect_memory_is_free();
}

TEST_F(LandingsAheadOfCalls, OfACallThatAGoawayEndsAreWaitedFor) {
  for (const bool gives_back : {true, false}) {
    SCOPED_TRACE(gives_back);
    SessionRig rig{RpcLimits{.ping_interval = Duration::zero()}};
    rig.greet();
    Target target{rig};
    CallDetails details{CallOptions{.landing = landing_}, false};
    TextCall call{target, "hello", &details};
    ASSERT_TRUE(call.begin());
    const std::uint64_t id = rig.sent_frame().header.id;
    ASSERT_EQ(rig.session().calls_out().on_attachment_ahead(answer_to(id)).kind, Landing::Kind::kInto);
    rig.carrier().set_holding(true);
    rig.peer_sends(goaway_bytes(rig.hello_bytes));
    EXPECT_FALSE(call.done());
    rig.carrier().set_holding(!gives_back);
    rig.pass(gives_back ? 2ms : 252ms);
    EXPECT_TRUE(call.done());
    EXPECT_EQ(rig.carrier().reclaimed_ahead(), 1);
    EXPECT_TRUE(call.take_failure().unprocessed());
  }
}

}  // namespace
}  // namespace weft::calls_testing
