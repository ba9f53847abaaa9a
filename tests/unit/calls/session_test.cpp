// SPDX-License-Identifier: Apache-2.0
// One session whose peer is the test: hello, liveness, goaway, and the ends.
#include "calls/session/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calls/call/standing_end.hpp"
#include "unit/calls/session_rig.hpp"
#include "weft/detail/calls/gate/call_envelope.hpp"
#include "weft/detail/calls/serve/inline_call.hpp"
#include "weft/detail/calls/serve/served_call.hpp"

namespace weft::calls_testing {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;
using testing::control_bytes;
using testing::frame_bytes;
using ::testing::HasSubstr;
using testing::hello_bytes;

std::string echo_schema(const MethodKey&) {
  return "text to text";
}

MethodEntry echo_entry() {
  MethodEntry entry{{11, 22, "echo", &echo_schema}, {}};
  entry.serve_inline = [](const MethodEntry&, InlineCall& call) {
    if (std::byte* to = call.begin_answer(call.body().size())) {
      std::copy(call.body().begin(), call.body().end(), to);
      call.end_answer();
    }
  };
  return entry;
}

std::string request_bytes(std::uint64_t id, std::string_view body) {
  return frame_bytes(wire::RequestHead{.id = id, .method = 11, .schema = 22}.header(), body);
}

class Sessions : public ::testing::Test {
 protected:
  void start(const RpcLimits& limits = {}) {
    methods_ = MethodTable::build({echo_entry()}).value();
    rig_ = std::make_unique<SessionRig>(limits, &methods_);
  }

  MethodTable methods_;
  std::unique_ptr<SessionRig> rig_;
};

TEST_F(Sessions, IsReadyWithThePeersHelloAndServes) {
  start();
  EXPECT_FALSE(rig_->session().ready());
  rig_->greet();
  EXPECT_TRUE(rig_->session().ready());
  EXPECT_EQ(rig_->ready, 1);
  rig_->peer_sends(request_bytes(5, "hi"));
  const SentFrame answer = rig_->sent_frame();
  EXPECT_EQ(answer.header.type, wire::FrameType::kAnswer);
  EXPECT_EQ(answer.header.id, 5u);
  EXPECT_TRUE(wire::AnswerView{answer.header}.succeeded());
  EXPECT_EQ(answer.body, "hi");
}

TEST_F(Sessions, EndsWithoutAHelloInTime) {
  start();
  rig_->pass(1001ms);
  ASSERT_EQ(rig_->closed.size(), 1u);
  EXPECT_THAT(rig_->closed.front().message(), HasSubstr("no hello"));
}

TEST_F(Sessions, IsNotWaitedForLongAfterAGoawayThatItCannotBeTold) {
  start();
  rig_->session().send_goaway("the server stops");
  EXPECT_TRUE(rig_->closed.empty());
  rig_->pass(101ms);
  ASSERT_EQ(rig_->closed.size(), 1u);
  EXPECT_THAT(rig_->closed.front().message(), HasSubstr("no hello"));
}

TEST_F(Sessions, AHelloThatWasOnItsWayIsTakenAfterAGoaway) {
  start();
  rig_->session().send_goaway("the server stops");
  rig_->pass(50ms);
  rig_->greet();
  EXPECT_EQ(rig_->ready, 1);
  rig_->pass(200ms);
  EXPECT_TRUE(rig_->closed.empty());
}

TEST_F(Sessions, AnUnknownMethodFailsTheCallAndNothingElse) {
  start();
  rig_->greet();
  rig_->peer_sends(frame_bytes(wire::RequestHead{.id = 5, .method = 12, .schema = 22}.header(), "hi"));
  const SentFrame answer = rig_->sent_frame();
  EXPECT_EQ(wire::AnswerView{answer.header}.code(), static_cast<unsigned>(StatusCode::kUnimplemented));
  EXPECT_EQ(rig_->host.refusals.get(RefusalReason::kUnknownMethod), 1u);
  EXPECT_TRUE(rig_->closed.empty());
}

TEST_F(Sessions, PingsASilentPeerAndGivesItUp) {
  RpcLimits limits;
  limits.ping_interval = 10s;
  start(limits);
  rig_->greet();
  rig_->pass(10s);
  EXPECT_EQ(rig_->sent_frame().header.type, wire::FrameType::kPing);
  rig_->peer_sends(control_bytes(wire::FrameType::kPong, 7));
  rig_->pass(20s - 1ms);
  EXPECT_TRUE(rig_->closed.empty()) << "a peer that answers lives";
  rig_->pass(1ms);
  ASSERT_EQ(rig_->closed.size(), 1u);
  EXPECT_THAT(rig_->closed.front().message(), HasSubstr("silent"));
}

// The loop did not run for a while, and the peer's word may lie in the socket: first it looks, then it
// judges.
TEST_F(Sessions, DoesNotBlameItsPeerForAnAbsenceOfItsOwn) {
  RpcLimits limits;
  limits.ping_interval = 10s;
  start(limits);
  Absence& absence = rig_->loop().turn_time().absence();
  const auto was_away = [&] { absence.fires(rig_->loop().now() - 600ms, rig_->loop().now()); };
  rig_->pass(990ms);
  was_away();
  rig_->pass(500ms);
  EXPECT_TRUE(rig_->closed.empty()) << "a hello is waited for a second more";
  rig_->greet();
  rig_->pass(19s);
  was_away();
  rig_->pass(1200ms);
  EXPECT_FALSE(rig_->closed.empty()) << "a peer that says nothing is given up all the same";
}

TEST_F(Sessions, OfPingsThatComeWhileNothingCanBeSentTheLastIsAnswered) {
  RpcLimits limits;
  limits.outbox_high_water = 4096;
  start(limits);
  rig_->greet();
  rig_->carrier().set_room(0);
  const std::string large(8000, 'x');
  rig_->peer_sends(request_bytes(5, large));
  for (std::uint64_t id = 1; id <= 100; ++id) rig_->peer_sends(control_bytes(wire::FrameType::kPing, id));
  rig_->carrier().set_room(SIZE_MAX);
  std::vector<SentFrame> frames = rig_->sent();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].header.type, wire::FrameType::kPong);
  EXPECT_EQ(frames[1].header.id, 100u);
}

TEST_F(Sessions, WhatWaitsToBeSentIsChargedAndBoundedByTheProcesssMemory) {
  RpcLimits limits;
  limits.process_memory_max = 200'000;
  start(limits);
  rig_->greet();
  rig_->carrier().set_room(0);
  std::string requests;
  for (std::uint64_t id = 1; id <= 500; ++id) requests += request_bytes(id, std::string(1000, 'a'));
  rig_->peer_sends(requests);
  const std::size_t waiting = rig_->session().connection().outbox().queued_bytes();
  EXPECT_GT(waiting, 100'000u);
  EXPECT_LT(waiting, 200'000u);
  // The last answer was written when there still was room for a part of it.
  EXPECT_LE(rig_->host.memory->free(), 200'000 - (waiting - FrameOutput::kSmallBytes - 1100));
  EXPECT_GT(rig_->host.memory->free(), 0u) << "others have a share";
  rig_->carrier().set_room(SIZE_MAX);
  rig_->run_until_idle();
  EXPECT_EQ(rig_->sent().size(), 500u) << "nothing is lost";
  EXPECT_EQ(rig_->host.memory->free(), 200'000u);
}

TEST_F(Sessions, TheChunksInWhichAnswersWaitAreChargedHoweverLittleIsInThem) {
  RpcLimits limits;
  limits.process_memory_max = 1'000'000;
  start(limits);
  rig_->greet();
  rig_->carrier().set_room(0);
  // Of these one fits into a chunk.
  for (std::uint64_t id = 1; id <= 5; ++id) rig_->peer_sends(request_bytes(id, std::string(40'000, 'a')));
  EXPECT_GE(rig_->session().connection().outbox().held_bytes(), 5u * 64 * 1024);
  EXPECT_LE(rig_->host.memory->free(), 1'000'000u - 5 * 64 * 1024);
  rig_->carrier().set_room(SIZE_MAX);
  rig_->run_until_idle();
  EXPECT_EQ(rig_->sent().size(), 5u);
  EXPECT_EQ(rig_->host.memory->free(), 1'000'000u);
}

TEST_F(Sessions, ABodyOverAChunksSizeStaysChargedWhileItsRequestIsPutOff) {
  RpcLimits limits;
  limits.process_memory_max = 4'000'000;
  limits.outbox_high_water = 4096;
  start(limits);
  rig_->greet();
  rig_->carrier().set_room(0);
  rig_->peer_sends(request_bytes(1, std::string(8000, 'a')));
  rig_->peer_sends(request_bytes(2, std::string(500'000, 'b')));
  EXPECT_LE(rig_->host.memory->free(), 4'000'000u - 500'000);
  rig_->carrier().set_room(SIZE_MAX);
  rig_->run_until_idle();
  EXPECT_EQ(rig_->sent().size(), 2u);
  EXPECT_EQ(rig_->host.memory->free(), 4'000'000u);
  // Nor is it kept for one that ends meanwhile.
  rig_->carrier().set_room(0);
  rig_->peer_sends(request_bytes(3, std::string(8000, 'a')));
  rig_->peer_sends(request_bytes(4, std::string(500'000, 'b')));
  rig_->carrier().fail({StatusCode::kUnavailable, Layer::kTransport, "the cable is cut"});
  rig_->run_until_idle();
  rig_->destroy_session();
  EXPECT_EQ(rig_->host.memory->free(), 4'000'000u);
}

TEST_F(Sessions, ARequestThatCannotBePutOffForWantOfMemoryIsRefusedAndTheConnectionGoesOn) {
  RpcLimits limits;
  limits.process_memory_max = 4'000'000;
  limits.outbox_high_water = 4096;
  start(limits);
  rig_->greet();
  rig_->carrier().set_room(0);
  rig_->peer_sends(request_bytes(1, std::string(8000, 'a')));
  const std::string large = request_bytes(2, std::string(500'000, 'b'));
  const std::size_t last = 8;
  rig_->peer_sends(std::string_view{large}.substr(0, large.size() - last));
  const std::size_t others = rig_->host.memory->free();
  ASSERT_TRUE(rig_->host.memory->try_reserve(others));
  rig_->peer_sends(large.substr(large.size() - last) + control_bytes(wire::FrameType::kPing, 9));
  EXPECT_TRUE(rig_->closed.empty());
  rig_->carrier().set_room(SIZE_MAX);
  const std::vector<SentFrame> frames = rig_->sent();
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[1].header.id, 2u);
  EXPECT_EQ(wire::AnswerView{frames[1].header}.code(), static_cast<unsigned>(StatusCode::kResourceExhausted));
  EXPECT_EQ(frames[2].header.type, wire::FrameType::kPong);
  EXPECT_EQ(rig_->host.refusals.get(RefusalReason::kOverProcessMemory), 1u);
  rig_->host.memory->release(others);
  rig_->peer_sends(request_bytes(3, "hi"));
  EXPECT_EQ(rig_->sent_frame().body, "hi");
  EXPECT_EQ(rig_->host.memory->free(), 4'000'000u);
}

// The attachment that came is the library's memory, and one that a handler made is the handler's: what bounds
// that is that no more requests are taken.
TEST_F(Sessions, AnAnswersAttachmentThatCameFromThePeerStaysChargedUntilItHasLeft) {
  RpcLimits limits;
  limits.process_memory_max = 4'000'000;
  limits.outbox_high_water = 1'000'000;
  MethodEntry back{{12, 22, "back", &echo_schema}, {}};
  back.kind = HandlerKind::kRecord;
  back.takes_attachment = true;
  back.serve_record = [](const MethodEntry&, ServedCall& call) {
    CallEnvelope& envelope = call.envelope();
    envelope.answer_attachment = envelope.attachment.empty() ? Buffer::try_allocate(2'000'000).value()
                                                             : std::move(envelope.attachment);
    if (call.begin_answer(0) != nullptr) call.end_answer();
  };
  methods_ = MethodTable::build({back}).value();
  rig_ = std::make_unique<SessionRig>(limits, &methods_);
  rig_->greet(wire::Features::kChecksum);  // no pieces
  rig_->carrier().set_room(0);
  const auto request = [](std::uint64_t id, std::string_view attachment) {
    return frame_bytes(wire::RequestHead{.id = id, .method = 12, .schema = 22}.header(), "", attachment);
  };
  rig_->peer_sends(request(1, std::string(2'000'000, 'a')));
  EXPECT_LE(rig_->host.memory->free(), 2'000'000u);
  rig_->peer_sends(request(2, ""));
  EXPECT_EQ(rig_->host.calls.taken(), 1u) << "no more is taken before that has left";
  rig_->carrier().set_room(SIZE_MAX);
  EXPECT_EQ(rig_->sent().size(), 2u);
  EXPECT_EQ(rig_->host.memory->free(), 4'000'000u);
  rig_->carrier().set_room(0);
  rig_->peer_sends(request(3, ""));
  EXPECT_GE(rig_->host.memory->free(), 3'900'000u) << "it is the handler's";
  rig_->peer_sends(request(4, ""));
  EXPECT_EQ(rig_->host.calls.taken(), 3u);
  rig_->carrier().set_room(SIZE_MAX);
  rig_->run_until_idle();
  EXPECT_EQ(rig_->host.memory->free(), 4'000'000u);
}

TEST_F(Sessions, AnAnswerForWhichThereIsNoMemoryIsRefusedAndTheNextOneIsNot) {
  RpcLimits limits;
  limits.process_memory_max = 200'000;
  start(limits);
  rig_->greet();
  rig_->carrier().set_room(0);
  rig_->peer_sends(request_bytes(1, std::string(150'000, 'a')));
  rig_->peer_sends(request_bytes(2, std::string(30, 'b')));
  rig_->carrier().set_room(SIZE_MAX);
  std::vector<SentFrame> frames = rig_->sent();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_TRUE(wire::AnswerView{frames[0].header}.succeeded());
  EXPECT_TRUE(wire::AnswerView{frames[1].header}.succeeded());
  rig_->peer_sends(request_bytes(3, std::string(195'000, 'a')));
  frames = rig_->sent();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(wire::AnswerView{frames[0].header}.code(), static_cast<unsigned>(StatusCode::kResourceExhausted));
  EXPECT_EQ(rig_->host.memory->free(), 200'000u);
}

TEST_F(Sessions, RequestsWaitWhileItsOutputIsFullAndNoneIsLost) {
  RpcLimits limits;
  limits.outbox_high_water = 4096;
  start(limits);
  rig_->greet();
  rig_->carrier().set_room(0);
  std::string requests;
  for (std::uint64_t id = 1; id <= 50; ++id) requests += request_bytes(id, std::string(1000, 'a'));
  rig_->peer_sends(requests);
  EXPECT_LT(rig_->host.calls.taken(), 10u);
  rig_->carrier().set_room(SIZE_MAX);
  rig_->run_until_idle();
  EXPECT_EQ(rig_->host.calls.taken(), 50u);
  EXPECT_EQ(rig_->sent().size(), 50u);
}

TEST_F(Sessions, APeersGoawayIsToldAndWhatItStillAsksIsServed) {
  start();
  rig_->greet();
  rig_->peer_sends(control_bytes(wire::FrameType::kGoaway));
  EXPECT_EQ(rig_->goaways, 1);
  EXPECT_FALSE(rig_->session().has_room()) << "no new calls go there";
  rig_->peer_sends(request_bytes(5, "hi"));
  EXPECT_EQ(rig_->sent_frame().body, "hi");
}

TEST_F(Sessions, ItsLastGoawaySaysHowMuchOfThePeersOutputItTook) {
  start();
  rig_->greet();
  const std::string requests = request_bytes(5, "hi") + request_bytes(6, "hello, hello");
  rig_->peer_sends(requests + request_bytes(7, "half of this is missing").substr(0, 50));
  rig_->session().send_goaway("soon");
  const std::vector<SentFrame> frames = rig_->sent();
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[2].header.type, wire::FrameType::kGoaway);
  EXPECT_EQ(wire::GoawayView{frames[2].header}.taken_up_to(), 0u) << "it takes what still comes";
  rig_->session().close_with_goaway({StatusCode::kCancelled, Layer::kRpc, "now"});
  const SentFrame last = rig_->sent_frame();
  EXPECT_EQ(last.header.type, wire::FrameType::kGoaway);
  EXPECT_EQ(last.body, "now");
  EXPECT_EQ(wire::GoawayView{last.header}.taken_up_to(), hello_bytes().size() + requests.size());
  EXPECT_EQ(rig_->closed.size(), 1u);
}

TEST_F(Sessions, ALastGoawayThatCannotBeSentDoesNotKeepItFromClosing) {
  start();
  rig_->greet();
  rig_->carrier().set_room(0);
  rig_->session().close_with_goaway({StatusCode::kCancelled, Layer::kRpc, "now"});
  rig_->run_until_idle();
  EXPECT_EQ(rig_->closed.size(), 1u);
  EXPECT_TRUE(rig_->carrier().is_shut());
}

TEST_F(Sessions, BeforeAHelloItClosesWithoutAWord) {
  start();
  rig_->session().close_with_goaway({StatusCode::kCancelled, Layer::kRpc, "now"});
  EXPECT_TRUE(rig_->sent().empty());
  EXPECT_EQ(rig_->closed.size(), 1u);
}

TEST_F(Sessions, FramesOfALaterBuildAreSkippedAndUnknownOnesEndIt) {
  start();
  rig_->greet();
  rig_->peer_sends(frame_bytes({.type = static_cast<wire::FrameType>(0x90)}, "from the future"));
  EXPECT_EQ(rig_->host.frames_skipped.get(), 1u);
  EXPECT_TRUE(rig_->closed.empty());
  rig_->peer_sends(control_bytes(static_cast<wire::FrameType>(99)));
  ASSERT_EQ(rig_->closed.size(), 1u);
  EXPECT_EQ(rig_->host.refusals.get(RefusalReason::kUnknownType), 1u);
}

TEST_F(Sessions, CountsCallsForTheirMethodAndWhatWentOverTheConnection) {
  start();
  const std::string hello = hello_bytes();
  rig_->greet();
  const std::string requests = request_bytes(5, "hi") + request_bytes(6, "hello");
  const std::string unknown =
      frame_bytes(wire::RequestHead{.id = 7, .method = 12, .schema = 22}.header(), "hi");
  const std::string attached = frame_bytes(wire::RequestHead{.id = 8, .method = 11, .schema = 22}.header(),
                                           "hi", "this method takes none");
  const std::string bytes = requests + unknown + attached;
  rig_->peer_sends(bytes);
  const ConnectionStats stats = rig_->session().connection().stats();
  EXPECT_EQ(stats.bytes_received, hello.size() + bytes.size());
  EXPECT_EQ(stats.frames_received, 5u);
  EXPECT_EQ(stats.receives, 2u);
  EXPECT_EQ(stats.frames_sent, 5u);
  EXPECT_LE(stats.sends, 3u);
  std::size_t sent = rig_->hello_bytes;
  for (const SentFrame& frame : rig_->sent()) sent += wire::head_bytes(frame.header.body_bytes, false);
  EXPECT_EQ(stats.bytes_sent, sent);
  EXPECT_EQ(rig_->host.calls.taken(), 4u);
  MethodStats echo;
  rig_->host.calls.add_to(echo, methods_.entries().front());
  EXPECT_EQ(echo.calls, 3u);
  EXPECT_EQ(echo.answered, 2u);
  EXPECT_EQ(echo.refused, 1u);
  EXPECT_EQ(echo.failures(), 0u);
  EXPECT_EQ(rig_->host.traffic.sum(), stats);
  rig_->destroy_session();
  EXPECT_EQ(rig_->host.traffic.sum().bytes_received, stats.bytes_received) << "what has ended counts";
}

TEST_F(Sessions, CountsForTheRightMethodAlsoWhenAnIdIsSaidTwice) {
  static ServedCall* held = nullptr;
  MethodEntry holds{{12, 22, "hold", &echo_schema}, {}};
  holds.kind = HandlerKind::kRecord;
  holds.serve_record = [](const MethodEntry&, ServedCall& call) {
    held = &call;
    call.hold();
  };
  MethodEntry fails{{13, 22, "fail", &echo_schema}, {}};
  fails.serve_inline = [](const MethodEntry&, InlineCall& call) {
    call.fail({StatusCode::kNotFound, Layer::kUser, "no such key"});
  };
  methods_ = MethodTable::build({holds, fails}).value();
  rig_ = std::make_unique<SessionRig>(RpcLimits{}, &methods_);
  rig_->greet();
  const auto request = [](std::uint64_t method, std::string_view attachment = {}) {
    return frame_bytes(wire::RequestHead{.id = 5, .method = method, .schema = 22}.header(), "hi", attachment);
  };
  rig_->peer_sends(request(12) + request(13) + request(13, "it takes none"));
  const auto counted = [&](std::size_t index) {
    MethodStats stats;
    rig_->host.calls.add_to(stats, methods_.entries()[index]);
    return stats;
  };
  EXPECT_EQ(counted(0).failures() + counted(0).refused, 0u) << "its call still runs";
  EXPECT_EQ(counted(1).failures(), 1u);
  EXPECT_EQ(counted(1).refused, 1u);
  held->fail({StatusCode::kNotFound, Layer::kUser, "not there either"});
  held->let_go();
  EXPECT_EQ(counted(0).failures(), 1u);
  EXPECT_EQ(counted(1).failures(), 1u);
}

TEST_F(Sessions, AFinishSendsWhatIsQueuedAndWaitsForThePeer) {
  start();
  rig_->greet();
  rig_->session().finish();
  rig_->run_until_idle();
  EXPECT_TRUE(rig_->carrier().ended());
  EXPECT_TRUE(rig_->closed.empty());
  rig_->carrier().end();
  rig_->run_until_idle();
  EXPECT_EQ(rig_->closed.size(), 1u);
}

TEST_F(Sessions, APeerThatEndsItsSideAndIsOwedNothingIsNotAskedWhetherItHears) {
  start();
  rig_->greet();
  rig_->peer_sends(request_bytes(5, "hi"));
  EXPECT_EQ(rig_->sent_frame().body, "hi");
  rig_->carrier().end();
  rig_->run_until_idle();
  EXPECT_TRUE(rig_->sent().empty());
  EXPECT_EQ(rig_->closed.size(), 1u);
  EXPECT_EQ(rig_->goaways, 0);
}

TEST_F(Sessions, AnAbandonedOneIsNotReadyAndTakesNothingMore) {
  start();
  rig_->greet();
  rig_->session().abandon();
  EXPECT_FALSE(rig_->session().ready());
  EXPECT_FALSE(rig_->session().has_room());
  rig_->session().finish();
  rig_->run_until_idle();
  EXPECT_FALSE(rig_->carrier().ended());
  EXPECT_TRUE(rig_->closed.empty()) << "its owner has left it";
}

TEST_F(Sessions, APeerThatDoesNotEndItsSideIsLeft) {
  start();
  rig_->greet();
  rig_->session().finish();
  rig_->pass(31s);
  ASSERT_EQ(rig_->closed.size(), 1u);
  EXPECT_THAT(rig_->closed.front().message(), HasSubstr("did not end"));
}

TEST_F(Sessions, AttachmentsThatCannotComeAnyMoreEndAPartInEachTurn) {
  MethodEntry take{{11, 22, "take", &echo_schema}, {}};
  take.kind = HandlerKind::kRecord;
  take.takes_attachment = true;
  take.serve_record = [](const MethodEntry&, ServedCall&) { ADD_FAILURE() << "none is whole"; };
  methods_ = MethodTable::build({take}).value();
  rig_ = std::make_unique<SessionRig>(RpcLimits{}, &methods_);
  rig_->greet();
  constexpr std::size_t kMany = 3000;
  std::string all;
  for (std::uint64_t id = 1; id <= kMany; ++id) {
    wire::RequestHead head{.flags = wire::FrameFlags::kAttachment | wire::FrameFlags::kInPieces, .id = id};
    head.method = 11;
    head.schema = 22;
    head.attachment_bytes = 8;
    all += testing::header_bytes(head.header());
  }
  rig_->peer_sends(all);
  rig_->carrier().end();
  std::size_t answered = 0;
  std::size_t most = 0;
  while (rig_->loop().run_once(0ms)) {
    const auto frames = frames_of(rig_->carrier().take_sent());
    const auto now = static_cast<std::size_t>(std::ranges::count_if(
        frames, [](const SentFrame& frame) { return frame.header.type == wire::FrameType::kAnswer; }));
    most = std::max(most, now);
    answered += now;
  }
  EXPECT_EQ(answered, kMany);
  EXPECT_LE(most, 2 * kCallsEndedAtOnce) << "a part when the end is seen, another when that has left";
  EXPECT_EQ(rig_->closed.size(), 1u);
}

TEST_F(Sessions, ItMayBeDestroyedAtAnyTime) {
  start();
  rig_->greet();
  rig_->peer_sends(request_bytes(5, "hi"));
  rig_->destroy_session();
  rig_->run_until_idle();
  EXPECT_TRUE(rig_->closed.empty()) << "who destroys it is not told";
}

}  // namespace
}  // namespace weft::calls_testing
