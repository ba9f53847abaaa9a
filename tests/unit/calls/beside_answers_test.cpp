// SPDX-License-Identifier: Apache-2.0
// Calls beside so many attachments of answers that no more of these are to be made.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calls/session/requests_set_aside.hpp"
#include "unit/calls/text_calls.hpp"
#include "weft/detail/calls/serve/call_context.hpp"
#include "weft/detail/calls/serve/inline_call.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::beside_answers_tests {

using namespace weft::calls_testing;

namespace {

using wire::FrameFlags;

constexpr std::uint64_t kGive = 12;
constexpr std::uint64_t kPlain = 13;
constexpr std::uint64_t kSchema = 22;
constexpr std::size_t kLittleMemory = std::size_t{1} << 20;

std::string request(std::uint64_t id, std::uint64_t method = kGive) {
  return frame_bytes(wire::RequestHead{.id = id, .method = method, .schema = kSchema}.header());
}

std::string upload(std::uint64_t id, std::uint64_t bytes) {
  wire::RequestHead head{.flags = FrameFlags::kAttachment | FrameFlags::kInPieces, .id = id};
  head.method = kGive;
  head.schema = kSchema;
  head.attachment_bytes = bytes;
  return testing::header_bytes(head.header());
}

std::string piece(wire::PieceHead head) {
  return frame_bytes(head.header(), {}, std::string(head.bytes, 'p'));
}

/// A request that is too long for kLittleMemory, in two parts, of which the first is so already.
struct LongRequest {
  explicit LongRequest(std::uint64_t id)
      : LongRequest(frame_bytes(wire::RequestHead{.id = id, .method = kGive, .schema = kSchema}.header(),
                                std::string(2 * kLittleMemory, 'a'))) {}
  explicit LongRequest(const std::string& all)
      : begin(all.substr(0, all.size() * 3 / 4)), rest(all.substr(begin.size())) {}
  const std::string begin;
  const std::string rest;
};

std::string cancel(std::uint64_t id) {
  return testing::control_bytes(wire::FrameType::kCancel, id);
}

/// One method answers with an attachment, which its caller lets come slowly, and one never does.
class BesideManyAnswers : public ::testing::Test {
 protected:
  /// Number of answers that are too many, as these have more than 64 MiB together.
  static constexpr std::uint64_t kMany = 17;
  static constexpr std::size_t kBytes = std::size_t{16} << 20;

  void SetUp() override {
    MethodEntry give{{kGive, kSchema, "give", &text_schema}, {}};
    give.kind = HandlerKind::kRecord;
    give.takes_attachment = true;
    give.serve_record = [](const MethodEntry&, ServedCall& call) {
      call.hold();
      ran.push_back(call.id());
      if (given_bytes != 0) call.context().set_attachment(Buffer::try_allocate(given_bytes).value());
      if (call.begin_answer(body_bytes) != nullptr) call.end_answer();
      call.let_go();
    };
    MethodEntry plain{{kPlain, kSchema, "plain", &text_schema}, {}};
    plain.serve_inline = [](const MethodEntry&, InlineCall& call) {
      if (call.begin_answer(0) != nullptr) call.end_answer();
    };
    methods_ = MethodTable::build({give, plain}).value();
    ran.clear();
    given_bytes = kBytes;
    body_bytes = 0;
    begin({});
  }
  void begin(const RpcLimits& limits) {
    rig_.reset();
    rig_.emplace(limits, &*methods_);
    rig_->greet();
  }
  /// The calls 1 to kMany are answered, and all of it but a piece of each waits for the rate.
  void crowd(std::uint64_t rate = 100'000) {
    for (std::uint64_t id = 1; id <= kMany; ++id) {
      rig_->peer_sends(request(id) +
                       frame_bytes(wire::RateHead{.id = id, .bytes_per_second = rate}.header()));
    }
    ASSERT_EQ(ran.size(), kMany);
    ran.clear();
    answers();
  }
  void cancel_many() {
    for (std::uint64_t id = 1; id <= kMany; ++id) rig_->peer_sends(cancel(id));
  }
  /// The answers that were sent since the last question: ids and codes. Pings are answered.
  std::vector<std::pair<std::uint64_t, StatusCode>> answers() {
    std::vector<std::pair<std::uint64_t, StatusCode>> answers;
    for (const SentFrame& frame : rig_->sent()) {
      if (frame.header.type == wire::FrameType::kPing) {
        rig_->peer_sends(testing::control_bytes(wire::FrameType::kPong, frame.header.id));
      }
      if (frame.header.type != wire::FrameType::kAnswer) continue;
      answers.emplace_back(frame.header.id, static_cast<StatusCode>(wire::AnswerView{frame.header}.code()));
    }
    return answers;
  }
  /// Time passes, and what is sent meanwhile is forgotten but for answers.
  std::vector<std::pair<std::uint64_t, StatusCode>> answers_within(Duration time) {
    std::vector<std::pair<std::uint64_t, StatusCode>> all;
    for (; time > Duration::zero(); time -= 500ms) {
      rig_->pass(500ms);
      std::ranges::copy(answers(), std::back_inserter(all));
    }
    return all;
  }

  inline static std::vector<std::uint64_t> ran;
  inline static std::size_t given_bytes = 0;
  inline static std::uint32_t body_bytes = 0;
  std::optional<MethodTable> methods_;
  std::optional<SessionRig> rig_;
};

using Answers = std::vector<std::pair<std::uint64_t, StatusCode>>;
using Ids = std::vector<std::uint64_t>;

TEST_F(BesideManyAnswers, CallsThatGiveNoneAreServed) {
  crowd();
  rig_->peer_sends(request(100, kPlain) + request(101, 99));
  EXPECT_EQ(answers(), (Answers{{100, StatusCode::kOk}, {101, StatusCode::kUnimplemented}}));
}

TEST_F(BesideManyAnswers, CallsThatMayGiveAnotherWaitAndCancelsBehindThemAreHeard) {
  crowd();
  rig_->peer_sends(request(100) + request(101));
  EXPECT_EQ(ran, Ids{});
  given_bytes = 0;
  rig_->peer_sends(cancel(1));
  EXPECT_EQ(ran, (Ids{100, 101})) << "sixteen are not too many";
  const Answers all = answers();
  EXPECT_NE(std::ranges::find(all, std::pair{std::uint64_t{101}, StatusCode::kOk}), all.end());
}

TEST_F(BesideManyAnswers, CallsThatWaitEndWithTheirCancelAndDoNotRun) {
  crowd();
  rig_->peer_sends(request(100) + request(101) + cancel(100));
  EXPECT_EQ(answers(), (Answers{{100, StatusCode::kCancelled}}));
  given_bytes = 0;
  cancel_many();
  EXPECT_EQ(ran, Ids{101});
}

TEST_F(BesideManyAnswers, CallsThatWaitKeepTheRateThatTheirCallersWant) {
  crowd();
  rig_->peer_sends(request(100) +
                   frame_bytes(wire::RateHead{.id = 100, .bytes_per_second = 100'000}.header()));
  given_bytes = std::size_t{1} << 20;
  cancel_many();
  EXPECT_EQ(ran, Ids{100});
  rig_->pass(1s);
  const std::vector<SentFrame> sent = rig_->sent();
  EXPECT_LE(
      std::ranges::count(sent, wire::FrameType::kPiece, [](const SentFrame& f) { return f.header.type; }), 2);
}

TEST_F(BesideManyAnswers, CallsThatComeWithTheEndOfThatDoNotPassThoseThatWait) {
  crowd();
  rig_->peer_sends(request(100));
  given_bytes = 0;
  rig_->peer_sends(cancel(1) + request(101));
  EXPECT_EQ(ran, (Ids{100, 101}));
}

// Once answers have filled the outbox there is room again before the outbox has drained so far that those
// that wait are taken.
TEST_F(BesideManyAnswers, CallsThatComeBeforeTheOutboxHasDrainedDoNotPassThoseThatWait) {
  constexpr std::size_t kHighWater = 100'000;
  begin({.outbox_high_water = kHighWater});
  crowd();
  rig_->peer_sends(request(100) + request(101) + request(102));
  ASSERT_EQ(ran, Ids{});
  given_bytes = 0;
  body_bytes = 2 * kHighWater;
  rig_->carrier().set_room(4096);
  rig_->peer_sends(cancel(1));
  ASSERT_EQ(ran, Ids{100}) << "its answer fills the outbox";
  const std::size_t queued = rig_->session().connection().outbox().queued_bytes();
  ASSERT_GT(queued, kHighWater);
  rig_->carrier().set_room(queued - kHighWater * 3 / 4);
  rig_->peer_sends(request(103));
  EXPECT_EQ(ran, Ids{100});
  rig_->carrier().set_room(SIZE_MAX);
  rig_->run_until_idle();
  EXPECT_EQ(ran, (Ids{100, 101, 102, 103}));
  EXPECT_TRUE(rig_->session().connection().receives());
}

// Uploads that were announced are taken although the answers to those before them fill the outbox, one piece
// at a time.
TEST_F(BesideManyAnswers, AnUploadWhoseAnswerFillsTheOutboxStopsThePiecesOfTheNext) {
  constexpr std::size_t kHighWater = 100'000;
  begin({.outbox_high_water = kHighWater});
  given_bytes = 0;
  body_bytes = 2 * kHighWater;
  rig_->carrier().set_room(0);
  rig_->peer_sends(upload(200, 8) + upload(201, 8));
  rig_->peer_sends(piece({.id = 200, .bytes = 8, .last = true}));
  EXPECT_EQ(ran, Ids{200});
  EXPECT_FALSE(rig_->session().connection().receives());
  rig_->peer_sends(piece({.id = 201, .bytes = 8, .last = true}));
  EXPECT_EQ(ran, Ids{200});
  rig_->carrier().set_room(SIZE_MAX);
  rig_->run_until_idle();
  EXPECT_EQ(ran, (Ids{200, 201}));
  EXPECT_TRUE(rig_->session().connection().receives());
}

TEST_F(BesideManyAnswers, CallsThatAreLongPutOffWhatFollowsThem) {
  crowd();
  rig_->peer_sends(frame_bytes(wire::RequestHead{.id = 100, .method = kGive, .schema = kSchema}.header(),
                               std::string(RequestsSetAside::kBodyMax + 1, 'a')) +
                   request(101));
  EXPECT_FALSE(rig_->session().connection().receives());
  given_bytes = 0;
  answers_within(150s);
  EXPECT_EQ(ran, (Ids{100, 101}));
}

// A side that reads nothing asks nothing either: two such sides would wait for each other for ever.
TEST_F(BesideManyAnswers, WhileCallsArePutOffNoOwnCallBeginsAndThenItDoes) {
  crowd();
  Target target{*rig_};
  rig_->peer_sends(frame_bytes(wire::RequestHead{.id = 100, .method = kGive, .schema = kSchema}.header(),
                               std::string(RequestsSetAside::kBodyMax + 1, 'a')));
  ASSERT_FALSE(rig_->session().connection().receives());
  TextCall own{target};
  ASSERT_TRUE(own.begin());
  ASSERT_EQ(target.waiting, &own) << "its answer would not be read";
  given_bytes = 0;
  answers_within(150s);
  EXPECT_EQ(ran, Ids{100});
  ASSERT_TRUE(rig_->session().has_room());
  target.admit();
  const SentFrame request = rig_->sent_frame();
  EXPECT_EQ(request.header.type, wire::FrameType::kRequest);
  rig_->peer_sends(answer_bytes(request.header.id, "and back"));
  EXPECT_EQ(own.answer(), "and back");
}

TEST_F(BesideManyAnswers, CallsThatWaitAreRefusedBeforeAGoawayThatSaysHowMuchWasTaken) {
  crowd();
  rig_->peer_sends(request(100));
  rig_->session().close_with_goaway({StatusCode::kUnavailable, Layer::kRpc, "over"});
  EXPECT_EQ(answers(), (Answers{{100, StatusCode::kResourceExhausted}}));
  EXPECT_EQ(ran, Ids{});
}

// Each would be answered with another one.
TEST_F(BesideManyAnswers, RequestsWithAttachmentsThatFollowAreReadOneAtATime) {
  wire::RequestHead head{.flags = FrameFlags::kAttachment, .id = 100};
  head.method = kGive;
  head.schema = kSchema;
  head.attachment_bytes = 32 * 1024;
  const auto with_attachment = [&head](std::uint64_t id) {
    head.id = id;
    return frame_bytes(head.header(), {}, std::string(head.attachment_bytes, 'a'));
  };
  crowd();
  rig_->peer_sends(with_attachment(100));
  rig_->peer_sends(with_attachment(101) + request(102, kPlain));
  answers_within(2s);
  EXPECT_EQ(ran, Ids{100});
  EXPECT_FALSE(rig_->session().connection().receives());
}

TEST_F(BesideManyAnswers, NoMoreCallsWaitThanMayAndNoneIsLost) {
  crowd();
  constexpr std::uint64_t kMore = RequestsSetAside::kMost + 30;
  std::string all;
  for (std::uint64_t id = 100; id < 100 + kMore; ++id) all += request(id);
  rig_->peer_sends(all);
  EXPECT_EQ(ran, Ids{});
  EXPECT_FALSE(rig_->session().connection().receives());
  given_bytes = 0;
  answers_within(150s);
  ASSERT_EQ(ran.size(), kMore);
  EXPECT_TRUE(std::ranges::is_sorted(ran));
  EXPECT_TRUE(rig_->session().connection().receives());
}

TEST_F(BesideManyAnswers, CallsThatWaitAreChargedAndGoWithTheirConnection) {
  crowd();
  const std::size_t before = rig_->host.memory->free();
  rig_->peer_sends(request(100) + request(101));
  EXPECT_LT(rig_->host.memory->free(), before);
  rig_->carrier().fail({StatusCode::kUnavailable, Layer::kTransport, "cut"});
  rig_->run_until_idle();
  ASSERT_EQ(rig_->closed.size(), 1u);
  EXPECT_GE(rig_->host.memory->free(), before);
  EXPECT_EQ(ran, Ids{});
}

// Nothing of the peer's is read meanwhile, neither its pongs nor the pieces of its upload.
TEST_F(BesideManyAnswers, APeerThatIsNotReadIsNotBlamedForItsSilence) {
  rig_->peer_sends(upload(200, 16) + piece({.id = 200, .bytes = 8}));
  crowd();
  rig_->peer_sends(upload(300, 8) + piece({.id = 300, .bytes = 8, .last = true}) +
                   piece({.id = 200, .offset = 8, .bytes = 8, .last = true}));
  EXPECT_FALSE(rig_->session().connection().receives()) << "what follows it cannot be told from others";
  given_bytes = 0;
  EXPECT_EQ(answers_within(60s), Answers{});
  EXPECT_TRUE(rig_->closed.empty());
  EXPECT_EQ(ran, Ids{});
  EXPECT_EQ(answers_within(90s), (Answers{{300, StatusCode::kOk}, {200, StatusCode::kOk}}));
  EXPECT_EQ(ran, (Ids{300, 200}));
  EXPECT_TRUE(rig_->closed.empty());
}

// The rest of it comes when the call that waited has been taken.
TEST_F(BesideManyAnswers, ARequestThatIsRefusedWhileItArrivesIsTheOneThatIsRefused) {
  begin({.connection_memory_max = kLittleMemory});
  crowd(std::uint64_t{64} << 20);
  const LongRequest long_request{500};
  rig_->peer_sends(request(100) + long_request.begin);
  ASSERT_EQ(ran, Ids{});
  given_bytes = 0;
  EXPECT_EQ(answers_within(1s), (Answers{{100, StatusCode::kOk}}));
  rig_->peer_sends(long_request.rest);
  EXPECT_EQ(answers(), (Answers{{500, StatusCode::kResourceExhausted}}));
}

// The one that waited is refused for a reason of its own, and leaves the other its reason.
TEST_F(BesideManyAnswers, ARequestThatIsRefusedKeepsItsReasonFromAnotherOfItsId) {
  begin({.connection_memory_max = kLittleMemory});
  crowd(std::uint64_t{64} << 20);
  const LongRequest long_request{500};
  rig_->peer_sends(request(500) + long_request.begin);
  given_bytes = 0;
  EXPECT_EQ(answers_within(1s), (Answers{{500, StatusCode::kOk}}));
  EXPECT_EQ(ran, Ids{500});
  rig_->peer_sends(long_request.rest);
  EXPECT_EQ(answers(), (Answers{{500, StatusCode::kResourceExhausted}}));
  EXPECT_EQ(ran, Ids{500});
}

TEST_F(BesideManyAnswers, RequestsThatAreRefusedWhileTheyArriveDoNotWaitAndDoNotRun) {
  begin({.connection_memory_max = kLittleMemory});
  crowd();
  for (const std::uint64_t id : {500, 501}) {
    const LongRequest long_request{id};
    rig_->peer_sends(long_request.begin);
    rig_->peer_sends(long_request.rest);
  }
  EXPECT_EQ(answers(),
            (Answers{{500, StatusCode::kResourceExhausted}, {501, StatusCode::kResourceExhausted}}));
  given_bytes = 0;
  cancel_many();
  EXPECT_EQ(ran, Ids{});
}

}  // namespace
}  // namespace weft::beside_answers_tests
