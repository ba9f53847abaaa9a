// SPDX-License-Identifier: Apache-2.0
// One call from begin() to its end, over a session whose peer is the test.
#include "weft/detail/calls/call/pending_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "unit/calls/text_calls.hpp"

namespace weft::calls_testing {

namespace {

using ::testing::HasSubstr;

TEST_F(PendingCalls, ItsRequestCarriesTheMethodAndItsAnswerEndsIt) {
  TextCall call{target_};
  ASSERT_TRUE(call.begin());
  const SentFrame request = rig_.sent_frame();
  EXPECT_EQ(request.header.type, wire::FrameType::kRequest);
  EXPECT_EQ(wire::RequestView{request.header}.method(), kMethod.id);
  EXPECT_EQ(wire::RequestView{request.header}.schema(), kMethod.schema);
  EXPECT_EQ(request.body, "hello");
  EXPECT_FALSE(call.done());
  rig_.peer_sends(answer_bytes(request.header.id, "and back"));
  EXPECT_TRUE(call.done());
  EXPECT_EQ(call.woken(), 1);
  EXPECT_EQ(call.answer(), "and back");
  EXPECT_TRUE(call.take_failure().ok());
  EXPECT_EQ(rig_.session().calls_out().table().size(), 0u);
}

TEST_F(PendingCalls, ALargeRequestIsChargedWhileItWaitsToBeSent) {
  const std::size_t all = rig_.host.memory->free();
  rig_.carrier().set_room(0);
  TextCall call{target_, std::string(500'000, 'x')};
  ASSERT_TRUE(call.begin());
  EXPECT_LE(rig_.host.memory->free(), all - 500'000);
  rig_.carrier().set_room(SIZE_MAX);
  EXPECT_EQ(rig_.sent_frame().body.size(), 500'000u);
  EXPECT_EQ(rig_.host.memory->free(), all);
}

TEST_F(PendingCalls, ALargeRequestForWhichThereIsNoMemoryIsRefusedAndASmallOneIsNot) {
  const std::size_t all = rig_.host.memory->free();
  ASSERT_TRUE(rig_.host.memory->try_reserve(all - 100'000));
  TextCall large{target_, std::string(200'000, 'x')};
  EXPECT_FALSE(large.begin());
  const Status failure = large.take_failure();
  EXPECT_EQ(failure.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(failure.message(), HasSubstr("process_memory_max"));
  EXPECT_TRUE(failure.unprocessed());
  TextCall small{target_};
  EXPECT_TRUE(small.begin());
  EXPECT_EQ(rig_.sent_frame().body, "hello");
  rig_.host.memory->release(all - 100'000);
}

TEST_F(PendingCalls, ASecondAnswerToItIsDroppedAndCounted) {
  TextCall call{target_};
  call.begin();
  const std::uint64_t id = rig_.sent_frame().header.id;
  rig_.peer_sends(answer_bytes(id, "one") + answer_bytes(id, "two"));
  EXPECT_EQ(call.answer(), "one");
  EXPECT_EQ(rig_.session().calls_out().late_answers(), 1u);
  EXPECT_TRUE(rig_.closed.empty());
}

TEST_F(PendingCalls, AFailureOfThePeerIsItsOutcome) {
  TextCall call{target_};
  call.begin();
  const std::uint64_t id = rig_.sent_frame().header.id;
  const wire::AnswerHead head{.code = StatusCode::kNotFound, .native = 42, .id = id};
  rig_.peer_sends(frame_bytes(head.header(), "no such key"));
  const Status failure = call.take_failure();
  EXPECT_EQ(failure.code(), StatusCode::kNotFound);
  EXPECT_EQ(failure.native(), 42);
  EXPECT_EQ(failure.message(), "the server says: no such key");
  EXPECT_FALSE(failure.unprocessed());
}

TEST_F(PendingCalls, ACancelLeavesTheTableAndTellsThePeer) {
  TextCall call{target_};
  call.begin();
  const std::uint64_t id = rig_.sent_frame().header.id;
  call.on_cancel(CancelReason::kRequested);
  EXPECT_TRUE(call.done());
  EXPECT_EQ(call.take_failure().code(), StatusCode::kCancelled);
  const SentFrame cancel = rig_.sent_frame();
  EXPECT_EQ(cancel.header.type, wire::FrameType::kCancel);
  EXPECT_EQ(cancel.header.id, id);
  EXPECT_EQ(rig_.session().calls_out().table().size(), 0u);
}

TEST_F(PendingCalls, DroppingItIsACancelThatNobodyHearsOf) {
  {
    TextCall call{target_};
    call.begin();
    EXPECT_EQ(rig_.sent_frame().header.type, wire::FrameType::kRequest);
  }
  EXPECT_EQ(rig_.sent_frame().header.type, wire::FrameType::kCancel);
}

TEST_F(PendingCalls, ItsDeadlineGoesAlongAndEndsIt) {
  CallDetails details{CallOptions{.timeout = 20ms}, false};
  TextCall call{target_, "hello", &details};
  call.begin();
  EXPECT_EQ(rig_.sent_frame().header.timeout, 20'000u);
  rig_.pass(19ms);
  EXPECT_FALSE(call.done());
  rig_.pass(2ms);
  EXPECT_EQ(call.take_failure().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(rig_.sent_frame().header.type, wire::FrameType::kCancel);
}

TEST_F(PendingCalls, TheTargetsTimeoutGoesAlongAndEndsThoseThatTakeLonger) {
  Target target{rig_, 30s};
  std::vector<std::unique_ptr<TextCall>> calls;
  for (int i = 0; i < 5; ++i) {
    calls.push_back(std::make_unique<TextCall>(target));
    calls.back()->begin();
    rig_.pass(1s);
  }
  const std::vector<SentFrame> requests = rig_.sent();
  ASSERT_EQ(requests.size(), 5u);
  EXPECT_EQ(requests[4].header.timeout, 30'000'000u);
  EXPECT_LE(rig_.loop().timers_armed(), 3u) << "one timer for all, the session's and the connection's";
  rig_.peer_sends(answer_bytes(requests[1].header.id, "in time"));
  calls[2].reset();
  for (int i = 0; i < 5; ++i) {
    rig_.pass(5s);
    rig_.peer_sends(testing::control_bytes(wire::FrameType::kPing, 1));  // the peer is there
  }
  rig_.pass(1ms);  // 30 s after the first
  EXPECT_EQ(calls[0]->take_failure().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(calls[1]->take_failure().ok());
  EXPECT_FALSE(calls[3]->done());
  rig_.pass(3s);
  EXPECT_EQ(calls[3]->take_failure().code(), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(calls[4]->done());
  rig_.pass(1s);
  EXPECT_EQ(calls[4]->take_failure().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(PendingCalls, ACallThatWaitedHasSoMuchLessTimeWhenItIsSent) {
  Target target{rig_, 30s};
  target.close();
  TextCall call{target};
  call.begin();
  rig_.pass(10s);
  target.admit();
  EXPECT_EQ(rig_.sent_frame().header.timeout, 20'000'000u);
  rig_.pass(20s);
  EXPECT_EQ(call.take_failure().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(PendingCalls, AScopeWithAnEarlierDeadlineCountsInPlaceOfTheTargets) {
  Target target{rig_, 30s};
  CancelScope scope;
  scope.set_deadline(Deadline::after(rig_.clock.now(), 10s));
  TextCall call{target};
  call.begin(&scope);
  EXPECT_EQ(rig_.sent_frame().header.timeout, 10'000'000u);
  rig_.pass(10s);
  EXPECT_EQ(call.take_failure().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(PendingCalls, ALimitThatIsEarlierThanTheTargetsTimeoutCounts) {
  Target target{rig_, 30s};
  TextCall call{target};
  call.begin();
  call.limit(Deadline::after(rig_.clock.now(), 5ms));
  rig_.pass(6ms);
  EXPECT_EQ(call.take_failure().code(), StatusCode::kDeadlineExceeded);
  rig_.pass(30s);
  EXPECT_EQ(call.woken(), 1);
}

TEST_F(PendingCalls, ADeadlineThatComesLaterThanBegunIsKept) {
  TextCall call{target_};
  call.begin();
  call.limit(Deadline::after(rig_.clock.now(), 5ms));
  rig_.pass(6ms);
  EXPECT_EQ(call.take_failure().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(PendingCalls, AScopeThatIsCancelledEndsItAndOneThatWasRefusesIt) {
  CancelScope scope;
  TextCall call{target_};
  ASSERT_TRUE(call.begin(&scope));
  scope.cancel(CancelReason::kRequested);
  EXPECT_TRUE(call.done());
  rig_.sent();
  TextCall late{target_};
  EXPECT_FALSE(late.begin(&scope));
  EXPECT_TRUE(late.done());
  EXPECT_TRUE(rig_.sent().empty()) << "nothing is sent for a call whose scope had ended";
}

TEST_F(PendingCalls, OneThatWaitsIsSentWhenItsTargetSaysSo) {
  target_.close();
  TextCall call{target_};
  ASSERT_TRUE(call.begin());
  ASSERT_EQ(target_.waiting, &call);
  EXPECT_TRUE(rig_.sent().empty());
  target_.admit();
  const SentFrame request = rig_.sent_frame();
  EXPECT_EQ(request.body, "hello");
  rig_.peer_sends(answer_bytes(request.header.id, "late"));
  EXPECT_EQ(call.answer(), "late");
}

TEST_F(PendingCalls, OneThatWaitsIsWithdrawnWhenItEnds) {
  target_.close();
  {
    TextCall dropped{target_};
    dropped.begin();
  }
  EXPECT_EQ(target_.waiting, nullptr);
  TextCall call{target_};
  call.begin();
  call.on_cancel(CancelReason::kRequested);
  EXPECT_EQ(target_.waiting, nullptr);
  const Status failure = call.take_failure();
  EXPECT_THAT(failure.to_string(), HasSubstr("not sent"));
  EXPECT_TRUE(failure.unprocessed());
  EXPECT_TRUE(rig_.sent().empty());
}

TEST_F(PendingCalls, ARefusalOfItsTargetIsItsOutcomeAndIsNotScheduled) {
  target_.close();
  target_.refuses = true;
  TextCall call{target_};
  EXPECT_FALSE(call.begin());
  EXPECT_TRUE(call.done());
  rig_.run_until_idle();
  EXPECT_EQ(call.woken(), 0) << "whoever begins it sees its end at once";
  const Status failure = call.take_failure();
  EXPECT_EQ(failure.message(), "no session");
  EXPECT_TRUE(failure.unprocessed());
}

TEST_F(PendingCalls, ALostConnectionEndsIt) {
  TextCall call{target_};
  call.begin();
  rig_.carrier().end();
  rig_.run_until_idle();
  const Status failure = call.take_failure();
  EXPECT_EQ(failure.code(), StatusCode::kUnavailable);
  EXPECT_FALSE(failure.unprocessed()) << "all of it was sent";
  EXPECT_EQ(call.woken(), 1);
  ASSERT_EQ(rig_.closed.size(), 1u);
}

TEST_F(PendingCalls, OfALostConnectionThoseOfWhichNoByteLeftAreUnprocessed) {
  constexpr std::size_t kCalls = 100;
  constexpr std::size_t kRequestBytes = wire::kHeaderBytes + 8;  // of "hello"
  rig_.carrier().set_room(10 * kRequestBytes + 1);
  std::vector<std::unique_ptr<TextCall>> calls;
  for (std::size_t i = 0; i < kCalls; ++i) {
    calls.push_back(std::make_unique<TextCall>(target_));
    ASSERT_TRUE(calls.back()->begin());
    rig_.run_until_idle();
  }
  rig_.carrier().fail({StatusCode::kUnavailable, Layer::kTransport, "the cable is cut", 104});
  rig_.run_until_idle();
  for (std::size_t i = 0; i < kCalls; ++i) {
    const Status failure = calls[i]->take_failure();
    EXPECT_EQ(failure.code(), StatusCode::kUnavailable);
    EXPECT_EQ(failure.native(), 104);
    EXPECT_EQ(failure.unprocessed(), i > 10) << "call " << i << ", and of the eleventh one byte was sent";
    EXPECT_THAT(failure.to_string(), HasSubstr(i > 10 ? "was not sent" : "may or may not have run"));
  }
}

TEST_F(PendingCalls, OneWhoseAttachmentHasPartlyLeftMayHaveRunAndThoseBehindItHaveNot) {
  const std::string attachment(100'000, 'a');
  CallDetails details{CallOptions{.attachment = AttachmentView{as_bytes(attachment)}}, false};
  CallDetails more{CallOptions{.attachment = AttachmentView{as_bytes(attachment)}}, false};
  TextCall with{target_, "hello", &details};
  TextCall behind{target_};
  TextCall second{target_, "hello", &more};
  rig_.carrier().set_room(50'000);
  ASSERT_TRUE(with.begin() && behind.begin() && second.begin());
  rig_.run_until_idle();
  rig_.carrier().fail({StatusCode::kUnavailable, Layer::kTransport, "the cable is cut"});
  rig_.run_until_idle();
  EXPECT_FALSE(with.take_failure().unprocessed());
  EXPECT_TRUE(behind.take_failure().unprocessed());
  EXPECT_TRUE(second.take_failure().unprocessed());
}

TEST_F(PendingCalls, AGoawayThatSaysWhatWasTakenEndsThoseThatWereNot) {
  TextCall taken{target_};
  TextCall first{target_, std::string(100, 'x')};
  TextCall second{target_};
  ASSERT_TRUE(taken.begin() && first.begin() && second.begin());
  const std::vector<SentFrame> frames = rig_.sent();
  ASSERT_EQ(frames.size(), 3u);
  const std::size_t end_of_taken = rig_.hello_bytes + wire::head_bytes(frames[0].header.body_bytes, false);
  rig_.peer_sends(goaway_bytes(0));
  EXPECT_EQ(rig_.goaways, 1);
  EXPECT_FALSE(first.done()) << "without a number everything may still be taken";
  rig_.peer_sends(goaway_bytes(end_of_taken));
  EXPECT_EQ(rig_.goaways, 2);
  EXPECT_FALSE(taken.done());
  for (TextCall* call : {&first, &second}) {
    EXPECT_EQ(call->woken(), 1);
    const Status failure = call->take_failure();
    EXPECT_EQ(failure.code(), StatusCode::kUnavailable);
    EXPECT_TRUE(failure.unprocessed());
    EXPECT_THAT(failure.to_string(), HasSubstr("it is late"));
  }
  rig_.peer_sends(answer_bytes(frames[0].header.id, "the last one") +
                  answer_bytes(frames[1].header.id, "nobody waits for this"));
  EXPECT_EQ(taken.answer(), "the last one");
  EXPECT_EQ(rig_.session().calls_out().late_answers(), 1u);
  EXPECT_TRUE(rig_.sent().empty()) << "no cancel is sent for what was not taken";
}

TEST_F(PendingCalls, TheReasonOfAGoawayIsCleanedAndCut) {
  TextCall call{target_};
  ASSERT_TRUE(call.begin());
  rig_.peer_sends(goaway_bytes(rig_.hello_bytes, "\x1b[2J" + std::string(100'000, 'x')));
  const std::string text{call.take_failure().message()};
  EXPECT_THAT(text, HasSubstr("says: ?[2Jxxx"));
  EXPECT_LT(text.size(), 400u);
}

TEST_F(PendingCalls, TheMemoryOfAnAttachmentThatIsNotTakenIsReadNoMore) {
  std::string attachment(100'000, 'a');
  CallDetails details{CallOptions{.attachment = AttachmentView{as_bytes(attachment)}}, false};
  std::string first;
  {
    TextCall call{target_, "hello", &details};
    rig_.carrier().set_room(1000);
    call.begin();
    rig_.run_until_idle();
    first = rig_.carrier().take_sent();
    rig_.peer_sends(goaway_bytes(rig_.hello_bytes));
    EXPECT_TRUE(call.take_failure().unprocessed());
  }
  std::fill(attachment.begin(), attachment.end(), 'b');
  rig_.carrier().set_room(SIZE_MAX);
  rig_.run_until_idle();
  const std::string rest = rig_.carrier().take_sent();
  EXPECT_EQ(rest.find('b'), std::string::npos) << "memory was read that belongs to its caller again";
  EXPECT_EQ(std::count(first.begin(), first.end(), 'a') + std::count(rest.begin(), rest.end(), 'a'), 100'000);
}

TEST_F(PendingCalls, ACallThatIsCancelledWhileItsRequestIsQueuedMayStillRun) {
  rig_.carrier().set_room(0);
  TextCall call{target_};
  call.begin();
  rig_.run_until_idle();
  call.on_cancel(CancelReason::kRequested);
  EXPECT_FALSE(call.take_failure().unprocessed());
  rig_.carrier().set_room(SIZE_MAX);
  const std::vector<SentFrame> frames = rig_.sent();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].header.type, wire::FrameType::kRequest) << "it left all the same";
}

TEST_F(PendingCalls, WhenTheSessionIsDestroyedThoseThatDidNotLeaveAreUnprocessed) {
  TextCall sent{target_};
  sent.begin();
  rig_.run_until_idle();
  rig_.carrier().set_room(0);
  TextCall queued{target_};
  queued.begin();
  rig_.run_until_idle();
  rig_.destroy_session();
  const Status of_sent = sent.take_failure();
  EXPECT_EQ(of_sent.code(), StatusCode::kCancelled);
  EXPECT_FALSE(of_sent.unprocessed());
  const Status of_queued = queued.take_failure();
  EXPECT_EQ(of_queued.code(), StatusCode::kCancelled);
  EXPECT_TRUE(of_queued.unprocessed());
}

TEST_F(PendingCalls, ItsAttachmentIsReadFromTheCallersMemoryUntilItIsDropped) {
  std::string attachment(100'000, 'a');
  CallDetails details{CallOptions{.attachment = AttachmentView{as_bytes(attachment)}}, false};
  std::string first;
  {
    TextCall call{target_, "hello", &details};
    rig_.carrier().set_room(1000);
    call.begin();
    rig_.run_until_idle();
    first = rig_.carrier().take_sent();
    EXPECT_EQ(first.size(), 1000u);
  }
  std::fill(attachment.begin(), attachment.end(), 'b');
  rig_.carrier().set_room(SIZE_MAX);
  rig_.run_until_idle();
  const std::string rest = rig_.carrier().take_sent();
  EXPECT_EQ(rest.find('b'), std::string::npos) << "memory was read that belongs to its caller again";
  EXPECT_EQ(std::count(first.begin(), first.end(), 'a') + std::count(rest.begin(), rest.end(), 'a'), 100'000);
}

TEST_F(PendingCalls, AnAttachmentOfTheAnswerLandsWhereItsCallerSaid) {
  std::vector<std::byte> landing(64);
  CallDetails details{CallOptions{.landing = landing}, false};
  TextCall call{target_, "hello", &details};
  call.begin();
  const SentFrame request = rig_.sent_frame();
  EXPECT_NE(request.header.flags & wire::FrameFlags::kLandingNamed, 0);
  rig_.peer_sends(answer_bytes(request.header.id, "body", "the attachment"));
  EXPECT_TRUE(call.done());
  EXPECT_EQ(call.answer(), "body");
  EXPECT_EQ(details.answer_attachment_bytes, 14u);
  EXPECT_EQ(as_text(Bytes{landing}.first(14)), "the attachment");
}

TEST_F(PendingCalls, AnAttachmentThatDoesNotFitFailsItAndLeavesTheConnection) {
  std::vector<std::byte> landing(4);
  CallDetails details{CallOptions{.landing = landing}, false};
  TextCall call{target_, "hello", &details};
  call.begin();
  rig_.peer_sends(answer_bytes(rig_.sent_frame().header.id, "body", "the attachment"));
  EXPECT_EQ(call.take_failure().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(rig_.closed.empty());
}

TEST_F(PendingCalls, WhenItEndsWhileItsAttachmentArrivesTheRestIsSkipped) {
  std::vector<std::byte> landing(64);
  const std::string attachment(64, 'x');
  std::string bytes;
  {
    CallDetails details{CallOptions{.landing = landing}, false};
    TextCall call{target_, "hello", &details};
    call.begin();
    bytes = answer_bytes(rig_.sent_frame().header.id, "body", attachment);
    rig_.peer_sends(std::string_view{bytes}.substr(0, bytes.size() - 32));
  }
  std::fill(landing.begin(), landing.end(), std::byte{0});
  rig_.peer_sends(std::string_view{bytes}.substr(bytes.size() - 32));
  EXPECT_EQ(std::count(landing.begin(), landing.end(), std::byte{'x'}), 0);
  TextCall next{target_};
  next.begin();
  const std::vector<SentFrame> frames = rig_.sent();
  ASSERT_FALSE(frames.empty());
  rig_.peer_sends(answer_bytes(frames.back().header.id, "fine"));
  EXPECT_EQ(next.answer(), "fine");
}

}  // namespace
}  // namespace weft::calls_testing
