// SPDX-License-Identifier: Apache-2.0
// Thousands of calls end because the peer says that it will not answer them, on a connection that stands: a
// part of them in each turn, each with what the peer said of it, whatever becomes of the connection
// meanwhile.
#include "calls/call/standing_end.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "support/pattern.hpp"
#include "unit/calls/text_calls.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::calls_testing {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kCalls = 5 * kCallsEndedAtOnce - 1;
/// Calls that the turn ends in which the peer's word comes: a part at once, and one that was put off.
constexpr std::size_t kEndedInFirstTurn = 2 * kCallsEndedAtOnce;

class StandingEnds : public PendingCalls {
 protected:
  void begin_calls() {
    for (std::size_t i = 0; i < kCalls; ++i) {
      calls_.push_back(std::make_unique<TextCall>(target_));
      ASSERT_TRUE(calls_.back()->begin());
    }
    rig_.sent();
  }
  /// Lets one turn see what the peer sent.
  void peer_sends_in_one_turn(std::string_view bytes) {
    rig_.carrier().arrive(bytes);
    rig_.loop().run_once(Duration::zero());
  }
  std::size_t ended() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(calls_, [](const auto& call) { return call->done(); }));
  }
  std::size_t unprocessed() {
    return static_cast<std::size_t>(std::ranges::count_if(
        calls_, [](const auto& call) { return call->done() && call->take_failure().unprocessed(); }));
  }
  std::string goaway() const { return goaway_bytes(rig_.hello_bytes); }

  std::vector<std::unique_ptr<TextCall>> calls_;
};

TEST_F(StandingEnds, AGoawayEndsAPartInEachTurn) {
  begin_calls();
  peer_sends_in_one_turn(goaway());
  EXPECT_EQ(ended(), kEndedInFirstTurn);
  rig_.loop().run_once(Duration::zero());
  EXPECT_EQ(ended(), kEndedInFirstTurn + kCallsEndedAtOnce);
  const int rooms = rig_.rooms;
  rig_.run_until_idle();
  EXPECT_GT(rig_.rooms, rooms) << "the owner was not told that they have ended";
  EXPECT_EQ(unprocessed(), kCalls);
  EXPECT_EQ(rig_.session().calls_out().table().size(), 0u);
  EXPECT_TRUE(rig_.closed.empty());
}

TEST_F(StandingEnds, AFloodOfGoawaysEndsNoMoreInATurn) {
  begin_calls();
  std::string flood;
  for (int i = 0; i < 100; ++i) flood += goaway();
  peer_sends_in_one_turn(flood);
  EXPECT_EQ(ended(), kEndedInFirstTurn);
  rig_.run_until_idle();
  EXPECT_EQ(unprocessed(), kCalls);
}

TEST_F(StandingEnds, TheLastGoawayCountsForThoseThatWereNotToldYet) {
  begin_calls();
  // Each call has the same length, and they begin behind the hello.
  const std::size_t all = rig_.session().connection().outbox().handed_over() - rig_.hello_bytes;
  const std::size_t taken = kCalls - 10;
  peer_sends_in_one_turn(goaway() + goaway_bytes(rig_.hello_bytes + all / kCalls * taken));
  rig_.run_until_idle();
  EXPECT_EQ(unprocessed(), kCallsEndedAtOnce + 10);
  EXPECT_EQ(rig_.session().calls_out().table().size(), kCalls - kCallsEndedAtOnce - 10);
}

// A peer answers a call that it said it would not answer, while that has not been told yet.
TEST_F(StandingEnds, ACallThatEndsSoHasItsMemoryAlthoughAnAnswerLandsThere) {
  begin_calls();
  std::vector<std::byte> landing(20'000);  // longer than what comes whole
  CallDetails details{CallOptions{.landing = landing}, false};
  TextCall call{target_, "hello", &details};
  ASSERT_TRUE(call.begin());
  const std::string answer =
      answer_bytes(rig_.sent_frame().header.id, "late", std::string(landing.size(), 'a'));
  peer_sends_in_one_turn(goaway() + answer.substr(0, answer.size() - 32));
  ASSERT_FALSE(call.done());
  rig_.run_until_idle();
  EXPECT_TRUE(call.done());
  EXPECT_EQ(landing.front(), std::byte{'a'});
  std::ranges::fill(landing, std::byte{0xEE});
  rig_.peer_sends(answer.substr(answer.size() - 32));
  EXPECT_TRUE(testing::all_are(landing, std::byte{0xEE}));
  EXPECT_TRUE(rig_.closed.empty());
}

// The last piece is whole when the call is in no table any more, and waits for the memory that it fills.
TEST_F(StandingEnds, ACallThatEndsSoWaitsForThePieceThatLandsInItsMemory) {
  begin_calls();
  std::vector<std::byte> landing(64);
  CallDetails details{CallOptions{.landing = landing}, false};
  TextCall call{target_, "hello", &details};
  ASSERT_TRUE(call.begin());
  const std::uint64_t id = rig_.sent_frame().header.id;
  wire::FrameHeader answer = wire::AnswerHead{.id = id}.header();
  answer.flags |= wire::FrameFlags::kAttachment | wire::FrameFlags::kInPieces;
  answer.attachment_bytes = landing.size();
  answer.body_bytes = 8;
  const wire::PieceHead piece{
      .id = id, .offset = 0, .bytes = landing.size(), .of_answer = true, .last = true};
  peer_sends_in_one_turn(goaway() + testing::header_bytes(answer) + "answered" +
                         testing::header_bytes(piece.header()) + std::string(32, 'a'));
  rig_.carrier().set_holding(true);
  rig_.run_until_idle();
  EXPECT_EQ(ended(), kCalls);
  EXPECT_EQ(landing.front(), std::byte{'a'});
  ASSERT_FALSE(call.done()) << "its memory is being written to";
  rig_.peer_sends(std::string(32, 'a'));
  EXPECT_TRUE(rig_.closed.empty());
  rig_.carrier().set_holding(false);
  rig_.pass(2ms);
  ASSERT_TRUE(call.done());
  const Status failure = call.take_failure();
  EXPECT_TRUE(failure.unprocessed());
  EXPECT_THAT(failure.to_string(), HasSubstr("it is late"));
}

TEST_F(StandingEnds, TheEndOfTheConnectionLeavesTheRestUnprocessed) {
  begin_calls();
  peer_sends_in_one_turn(goaway());
  rig_.session().close({StatusCode::kUnavailable, Layer::kTransport, "the wire broke"});
  rig_.run_until_idle();
  ASSERT_EQ(rig_.closed.size(), 1u);
  EXPECT_EQ(ended(), kCalls);
  const Status last = calls_.back()->take_failure();
  EXPECT_TRUE(last.unprocessed());
}

TEST_F(StandingEnds, ASessionThatIsDestroyedMeanwhileTellsTheRestWhatThePeerSaid) {
  begin_calls();
  peer_sends_in_one_turn(goaway());
  EXPECT_LT(ended(), kCalls);
  target_.close();
  rig_.destroy_session();
  EXPECT_EQ(ended(), kCalls);
  const Status last = calls_.back()->take_failure();
  EXPECT_TRUE(last.unprocessed());
  EXPECT_THAT(last.to_string(), HasSubstr("it is late"));
}

// A server that stops while the client has calls of its to answer says what it took, and ends its side.
class StandingEndsOfAServedPeer : public ::testing::Test {
 protected:
  StandingEndsOfAServedPeer() {
    MethodEntry holds{{12, 22, "hold", &text_schema}, {}};
    holds.kind = HandlerKind::kRecord;
    holds.serve_record = [](const MethodEntry&, ServedCall& call) {
      held = &call;
      call.hold();
    };
    methods_ = MethodTable::build({holds}).value();
    rig_.emplace(RpcLimits{.ping_interval = Duration::zero()}, &methods_);
    target_.emplace(*rig_);
    rig_->greet();
    rig_->peer_sends(frame_bytes(wire::RequestHead{.id = 5, .method = 12, .schema = 22}.header(), "hi"));
    for (std::size_t i = 0; i < kCalls; ++i) {
      calls_.push_back(std::make_unique<TextCall>(*target_));
      EXPECT_TRUE(calls_.back()->begin());
    }
    rig_->run_until_idle();
  }
  ~StandingEndsOfAServedPeer() override {
    held->fail({StatusCode::kCancelled, Layer::kUser, "the test is over"});
    held->let_go();
  }

  inline static ServedCall* held = nullptr;
  MethodTable methods_;
  std::optional<SessionRig> rig_;
  std::optional<Target> target_;
  std::vector<std::unique_ptr<TextCall>> calls_;
};

TEST_F(StandingEndsOfAServedPeer, CallsThatAGoawayDidNotTakeDidNotRunAlthoughThePeerEndsItsSideToo) {
  const std::size_t all = rig_->session().connection().outbox().handed_over() - rig_->hello_bytes;
  const std::size_t taken = 3;
  rig_->carrier().arrive(goaway_bytes(rig_->hello_bytes + all / kCalls * taken));
  rig_->carrier().end();
  rig_->run_until_idle();
  EXPECT_TRUE(rig_->closed.empty()) << "the peer's call is still to be answered";
  for (std::size_t i = 0; i < kCalls; ++i) {
    ASSERT_TRUE(calls_[i]->done()) << i;
    ASSERT_EQ(calls_[i]->take_failure().unprocessed(), i >= taken) << i;
  }
}

TEST_F(StandingEnds, CallsThatAreDroppedMeanwhileAreNotTold) {
  begin_calls();
  peer_sends_in_one_turn(goaway());
  calls_.resize(kEndedInFirstTurn + 5);
  rig_.run_until_idle();
  EXPECT_EQ(unprocessed(), calls_.size());
  EXPECT_EQ(rig_.session().calls_out().table().size(), 0u);
}

}  // namespace
}  // namespace weft::calls_testing
