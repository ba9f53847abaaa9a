// SPDX-License-Identifier: Apache-2.0
// The attachment of a call that does not go straight away: it waits to be asked for, or its memory is waited
// for when the call is as good as over.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "unit/calls/text_calls.hpp"

namespace weft::calls_testing {
namespace {

/// Calls whose attachments, of so many bytes, wait to be asked for.
class CallsThatAreAsked : public PendingCalls {
 protected:
  static constexpr std::size_t kBytes = 300'000;

  std::size_t pieces_sent() {
    std::size_t pieces = 0;
    for (const SentFrame& frame : rig_.sent()) pieces += frame.header.type == wire::FrameType::kPiece ? 1 : 0;
    return pieces;
  }
  void ask(std::uint64_t id) { rig_.peer_sends(testing::control_bytes(wire::FrameType::kContinue, id)); }
  std::uint64_t begin(TextCall& call) {
    EXPECT_TRUE(call.begin());
    const SentFrame request = rig_.sent_frame();
    EXPECT_TRUE(wire::RequestView{request.header}.expects_continue());
    EXPECT_EQ(pieces_sent(), 0u);
    return request.header.id;
  }

  const std::string attachment_ = std::string(kBytes, 'a');
  CallDetails details_{CallOptions{.attachment = AttachmentView{as_bytes(attachment_)}}, false};
};

TEST_F(CallsThatAreAsked, SendTheirAttachmentOnceHoweverOftenTheyAreAsked) {
  TextCall call{target_, "hello", &details_, kChoosing};
  const std::uint64_t id = begin(call);
  ask(id + 1);
  EXPECT_EQ(pieces_sent(), 0u) << "that was somebody else";
  ask(id);
  EXPECT_EQ(pieces_sent(), 3u);
  ask(id);
  EXPECT_EQ(pieces_sent(), 0u);
  rig_.peer_sends(answer_bytes(id, "there"));
  EXPECT_EQ(call.answer(), "there");
  ask(id);
  EXPECT_EQ(pieces_sent(), 0u);
  EXPECT_TRUE(rig_.closed.empty());
}

TEST_F(CallsThatAreAsked, ThatAreAnsweredOrCancelledBeforeSendNothing) {
  TextCall answered{target_, "hello", &details_, kChoosing};
  const std::uint64_t first = begin(answered);
  rig_.peer_sends(answer_bytes(first, "no, thanks"));
  EXPECT_EQ(answered.answer(), "no, thanks");
  ask(first);
  CallDetails more{CallOptions{.attachment = AttachmentView{as_bytes(attachment_)}}, false};
  TextCall cancelled{target_, "hello", &more, kChoosing};
  const std::uint64_t second = begin(cancelled);
  cancelled.on_cancel(CancelReason::kRequested);
  EXPECT_TRUE(cancelled.done()) << "nothing of its memory was lent";
  ask(second);
  EXPECT_EQ(pieces_sent(), 0u);
  EXPECT_TRUE(rig_.closed.empty());
}

TEST_F(CallsThatAreAsked, MayHaveRunWhenTheirConnectionIsLost) {
  TextCall call{target_, "hello", &details_, kChoosing};
  begin(call);
  rig_.carrier().fail({StatusCode::kUnavailable, Layer::kTransport, "the cable is cut"});
  rig_.run_until_idle();
  EXPECT_FALSE(call.take_failure().unprocessed());
}

TEST_F(PendingCalls, DoNotWaitToBeAskedByAPeerThatDoesNotAsk) {
  SessionRig rig;
  rig.greet(wire::Features::kPieces);
  Target target{rig};
  const std::string attachment(300'000, 'a');
  CallDetails details{CallOptions{.attachment = AttachmentView{as_bytes(attachment)}}, false};
  TextCall call{target, "hello", &details, kChoosing};
  ASSERT_TRUE(call.begin());
  const std::vector<SentFrame> frames = rig.sent();
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_FALSE(wire::RequestView{frames[0].header}.expects_continue());
}

// So much is not copied at once: the call waits for what its connection has, and is as good as over. The peer
// takes attachments in one piece only.
class CallsThatLeave : public PendingCalls {
 protected:
  void SetUp() override { rig_.greet(wire::Features::kChecksum); }
  void leave() {
    rig_.carrier().set_room(1000);
    ASSERT_TRUE(call_.begin());
    rig_.run_until_idle();
    alignas(8) std::array<std::byte, wire::kHeaderBytes> head{};
    const std::string sent = rig_.carrier().take_sent();
    ASSERT_EQ(sent.size(), 1000u);
    std::memcpy(head.data(), sent.data(), head.size());
    id_ = wire::load_header(head.data()).id;
    call_.on_cancel(CancelReason::kDeadline);
    ASSERT_FALSE(call_.done());
  }

  const std::string attachment_ = std::string(2'000'000, 'a');
  std::vector<std::byte> landing_ = std::vector<std::byte>(64);
  CallDetails details_{CallOptions{.attachment = AttachmentView{as_bytes(attachment_)}, .landing = landing_},
                       false};
  TextCall call_{target_, "hello", &details_};
  std::uint64_t id_ = 0;
};

TEST_F(CallsThatLeave, KeepTheReasonForWhichTheyDoWhateverTheAnswerSays) {
  leave();
  rig_.peer_sends(answer_bytes(id_, "late", "an attachment"));
  rig_.pass(1ms);
  EXPECT_TRUE(call_.done());
  EXPECT_EQ(call_.take_failure().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(call_.answer(), "");
  EXPECT_EQ(landing_.front(), std::byte{0}) << "nothing more goes into memory that is waited for";
}

TEST_F(CallsThatLeave, KeepItWhenTheAnswerIsAFailure) {
  leave();
  rig_.peer_sends(frame_bytes(wire::AnswerHead{.code = StatusCode::kNotFound, .id = id_}.header(), "none"));
  rig_.pass(1ms);
  EXPECT_TRUE(call_.done());
  EXPECT_EQ(call_.take_failure().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(CallsThatLeave, KeepItWhenTheirConnectionIsLost) {
  leave();
  rig_.carrier().fail({StatusCode::kUnavailable, Layer::kTransport, "the cable is cut"});
  rig_.run_until_idle();
  EXPECT_TRUE(call_.done());
  EXPECT_EQ(call_.take_failure().code(), StatusCode::kDeadlineExceeded);
}

// The server need not read what it refuses, and a device may still have the caller's memory when its answer
// is here: the outcome is decided, and the call ends with the memory. The loop does not wait for it.
class CallsAnsweredEarly : public PendingCalls {
 protected:
  void SetUp() override {
    rig_.greet(wire::Features::kChecksum);
    rig_.carrier().set_room(1000);
    ASSERT_TRUE(call_->begin());
    rig_.run_until_idle();
    alignas(8) std::array<std::byte, wire::kHeaderBytes> head{};
    const std::string sent = rig_.carrier().take_sent();
    ASSERT_EQ(sent.size(), 1000u);
    std::memcpy(head.data(), sent.data(), head.size());
    id_ = wire::load_header(head.data()).id;
    rig_.carrier().set_holding(true);
  }
  void answer_early() {
    rig_.peer_sends(answer_bytes(id_, "early"));
    ASSERT_FALSE(call_->done());
    EXPECT_EQ(rig_.session().calls_out().table().size(), 0u);
    EXPECT_EQ(rig_.carrier().reclaimed(), 0) << "that may block";
  }
  /// Nothing more of the caller's memory is sent, though the frame is completed.
  void expect_memory_is_free() {
    std::fill(attachment_.begin(), attachment_.end(), 'b');
    rig_.carrier().set_room(SIZE_MAX);
    rig_.run_until_idle();
    EXPECT_EQ(rig_.carrier().take_sent().find('b'), std::string::npos);
  }

  std::string attachment_ = std::string(100'000, 'a');
  CallDetails details_{CallOptions{.attachment = AttachmentView{as_bytes(attachment_)}}, false};
  std::optional<TextCall> call_{std::in_place, target_, "hello", &details_};
  std::uint64_t id_ = 0;
};

TEST_F(CallsAnsweredEarly, EndWhenTheirMemoryIsBack) {
  answer_early();
  rig_.pass(20ms);
  EXPECT_FALSE(call_->done());
  call_->on_cancel(CancelReason::kRequested);
  EXPECT_FALSE(call_->done()) << "it has its answer";
  rig_.carrier().set_holding(false);
  rig_.pass(1ms);
  EXPECT_EQ(call_->woken(), 1);
  EXPECT_EQ(call_->answer(), "early");
  EXPECT_TRUE(call_->take_failure().ok());
  expect_memory_is_free();
}

TEST_F(CallsAnsweredEarly, TakeItBackByForceAfterAQuarterOfASecond) {
  answer_early();
  rig_.pass(248ms);
  EXPECT_FALSE(call_->done());
  EXPECT_EQ(rig_.carrier().reclaimed(), 0);
  rig_.pass(4ms);
  EXPECT_EQ(call_->woken(), 1);
  EXPECT_EQ(call_->answer(), "early");
  expect_memory_is_free();
}

TEST_F(CallsAnsweredEarly, KeepTheirAnswerWhenTheConnectionIsLostMeanwhile) {
  answer_early();
  rig_.carrier().fail({StatusCode::kUnavailable, Layer::kTransport, "the cable is cut"});
  rig_.run_until_idle();
  EXPECT_EQ(call_->woken(), 1);
  EXPECT_EQ(call_->answer(), "early");
  EXPECT_TRUE(call_->take_failure().ok());
}

TEST_F(CallsAnsweredEarly, AreKnownToNobodyAfterTheirSession) {
  answer_early();
  rig_.destroy_session();
  rig_.loop().run_until_idle();
  EXPECT_EQ(call_->woken(), 1);
  EXPECT_EQ(call_->answer(), "early");
}

TEST_F(CallsAnsweredEarly, AreDroppedWithTheirMemory) {
  answer_early();
  call_.reset();
  EXPECT_EQ(rig_.carrier().reclaimed(), 1);
  expect_memory_is_free();
}

TEST_F(CallsAnsweredEarly, AreAsCallsThatAGoawayDoesNotTake) {
  rig_.peer_sends(goaway_bytes(rig_.hello_bytes));
  EXPECT_FALSE(call_->done());
  EXPECT_EQ(rig_.carrier().reclaimed(), 0);
  rig_.carrier().set_holding(false);
  rig_.pass(2ms);
  EXPECT_EQ(call_->woken(), 1);
  EXPECT_TRUE(call_->take_failure().unprocessed());
  expect_memory_is_free();
}

TEST_F(CallsAnsweredEarly, KeepTheReasonForWhichTheyLeft) {
  call_->on_cancel(CancelReason::kDeadline);
  ASSERT_FALSE(call_->done());
  answer_early();
  rig_.carrier().set_holding(false);
  rig_.pass(2ms);
  EXPECT_EQ(call_->woken(), 1);
  EXPECT_EQ(call_->take_failure().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(call_->answer(), "");
  expect_memory_is_free();
}

/// Counts how often its memory came back.
struct Counted final : OutgoingAttachment {
  using OutgoingAttachment::OutgoingAttachment;
  void on_returned(bool sent) noexcept override { returned += sent ? 1 : 0; }
  int returned = 0;
};

TEST(ShortAttachments, LeaveInOneCopyWithTheirFrameAlsoWhereListsAreGathered) {
  ChunkPool chunks;
  Outbox outbox{chunks, nullptr, LeasePolicy{16 * 1024, true}};
  const std::string tag(8, 't');
  const std::string rest(4088, 'r');
  const std::array<Bytes, 2> pieces{as_bytes(tag), as_bytes(rest)};
  Counted attachment{AttachmentView{std::span<const Bytes>{pieces}}};
  std::byte* const frame = outbox.append(8);
  ASSERT_NE(frame, nullptr);
  std::memcpy(frame, "frame...", 8);
  ASSERT_TRUE(attachment.queue(outbox, tag.size() + rest.size()));
  EXPECT_FALSE(attachment.is_lent());
  EXPECT_EQ(attachment.returned, 1);
  std::array<iovec, 8> places{};
  ASSERT_EQ(outbox.segments(places), 1u) << "each part of it is one of the few that a send takes";
  EXPECT_EQ(as_text(Bytes{static_cast<const std::byte*>(places[0].iov_base), places[0].iov_len}),
            "frame..." + tag + rest);
  outbox.release_all();
}

}  // namespace
}  // namespace weft::calls_testing
