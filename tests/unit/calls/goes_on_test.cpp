// SPDX-License-Identifier: Apache-2.0
// Connections that go on after something went wrong: budgets, places and order are then as they were before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calls/serve/late_answer.hpp"
#include "support/heap_count.hpp"
#include "unit/calls/text_calls.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::calls_testing {
namespace {

std::string say_request(std::uint64_t id, std::string_view body) {
  return frame_bytes(wire::RequestHead{.id = id, .method = 12, .schema = 22}.header(), body);
}

/// A session with one method, whose handler answers when the test says so.
class GoingOn : public ::testing::Test {
 protected:
  void begin(const RpcLimits& limits) {
    MethodEntry entry{{12, 22, "note", &text_schema}, {}};
    entry.kind = HandlerKind::kRecord;
    entry.keeps_body = true;
    entry.serve_record = [](const MethodEntry&, ServedCall& call) {
      call.hold();
      held.push_back(&call);
    };
    methods_ = MethodTable::build({entry}).value();
    held.clear();
    held.reserve(100);
    rig_.emplace(limits, &*methods_);
    rig_->greet();
  }
  /// Calls that were held are answered.
  static void let_go() {
    for (ServedCall* const call : std::exchange(held, {})) {
      if (call->begin_answer(0) != nullptr) call->end_answer();
      call->let_go();
    }
  }

  inline static std::vector<ServedCall*> held;
  std::optional<MethodTable> methods_;
  std::optional<SessionRig> rig_;
};

TEST_F(GoingOn, CallsWithoutMemoryForTheirRecordsLeaveTheirPlacesAndCharges) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  constexpr std::uint64_t kPlaces = 10;
  // Copied, and more than the pool of frames keeps.
  const std::string body(7000, 'a');
  RpcLimits limits;
  limits.calls_in_flight_max = kPlaces;
  limits.connection_memory_max = 100'000;
  begin(limits);
  for (std::uint64_t id = 1; id <= kPlaces; ++id) {
    const std::string request = say_request(id, body);
    rig_->carrier().reserve(16 * 1024);
    testing::fail_allocations(1, testing::kForEver);
    rig_->peer_sends(request);
    testing::fail_allocations(0);
    ASSERT_TRUE(rig_->closed.empty()) << rig_->closed.front().to_string();
    const SentFrame answer = rig_->sent_frame();
    EXPECT_EQ(wire::AnswerView{answer.header}.code(), static_cast<unsigned>(StatusCode::kResourceExhausted));
  }
  ASSERT_TRUE(held.empty());
  EXPECT_EQ(rig_->host.memory->free(), limits.process_memory_max);
  for (std::uint64_t id = 1; id <= kPlaces; ++id) rig_->peer_sends(say_request(100 + id, body));
  EXPECT_EQ(held.size(), kPlaces) << "the places of calls that were refused are lost";
  let_go();
  for (const SentFrame& answer : rig_->sent()) {
    EXPECT_TRUE(wire::AnswerView{answer.header}.succeeded()) << answer.body;
  }
  EXPECT_EQ(rig_->host.memory->free(), limits.process_memory_max);
}

TEST_F(PendingCalls, ARefusalTellsItsCallerHowLongToWait) {
  TextCall call{target_};
  ASSERT_TRUE(call.begin());
  const wire::AnswerHead head{.code = StatusCode::kResourceExhausted,
                              .layer = Layer::kRpc,
                              .retry = Retry::kBackoff,
                              .retry_after_ms = 1500,
                              .id = rig_.sent_frame().header.id};
  rig_.peer_sends(frame_bytes(head.header(), "come again"));
  const Status failure = call.take_failure();
  EXPECT_EQ(failure.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(failure.retry_after(), 1500ms);
  TextCall next{target_};
  ASSERT_TRUE(next.begin());
  rig_.peer_sends(answer_bytes(rig_.sent_frame().header.id, "served"));
  EXPECT_EQ(next.answer(), "served");
}

TEST_F(PendingCalls, ADeadlineThatIsHoursAwayGoesAlongInSeconds) {
  CallDetails details{CallOptions{.timeout = 48h}, false};
  TextCall call{target_, "hello", &details};
  ASSERT_TRUE(call.begin());
  const SentFrame request = rig_.sent_frame();
  EXPECT_TRUE(wire::RequestView{request.header}.timeout_is_in_seconds());
  EXPECT_NEAR(request.header.timeout, 48.0 * 3600, 2);
  EXPECT_EQ(request.header.timeout, wire::RequestView{request.header}.timeout());
}

TEST_F(PendingCalls, TheEndOfAnAnswersAttachmentMakesRoomForTheNextCall) {
  std::vector<std::byte> landing(100'000);
  CallDetails details{CallOptions{.landing = landing}, false};
  TextCall call{target_, "hello", &details};
  ASSERT_TRUE(call.begin());
  const std::string answer =
      answer_bytes(rig_.sent_frame().header.id, "whole", std::string(landing.size(), 'a'));
  rig_.peer_sends(answer.substr(0, 50'000));
  EXPECT_FALSE(call.done());
  const int rooms = rig_.rooms;
  rig_.peer_sends(answer.substr(50'000));
  EXPECT_TRUE(call.done());
  EXPECT_GT(rig_.rooms, rooms) << "the owner may have calls that wait for this place";
}

// The server refuses a call before its attachment is there, while a device reads a piece of it.
TEST_F(PendingCalls, OfAnAttachmentWhoseCallIsRefusedNoFurtherPieceIsSent) {
  const std::string attachment(4'000'000, 'a');
  CallDetails details{CallOptions{.attachment = AttachmentView{as_bytes(attachment)}}, false};
  rig_.carrier().set_room(20'000);
  TextCall call{target_, "hello", &details};
  ASSERT_TRUE(call.begin());
  rig_.run_until_idle();
  const std::string begun = rig_.carrier().take_sent();
  ASSERT_EQ(begun.size(), 20'000u);
  const std::uint64_t id = wire::load_header(reinterpret_cast<const std::byte*>(begun.data())).id;
  rig_.carrier().set_holding(true);
  const wire::AnswerHead head{.code = StatusCode::kResourceExhausted, .id = id};
  rig_.peer_sends(frame_bytes(head.header(), "no room"));
  EXPECT_FALSE(call.done()) << "its memory is being read";
  rig_.carrier().set_room(SIZE_MAX);
  rig_.run_until_idle();
  EXPECT_LT(rig_.carrier().take_sent().size(), attachment.size() / 2);
  rig_.carrier().set_holding(false);
  rig_.pass(2ms);
  ASSERT_TRUE(call.done());
  EXPECT_EQ(call.take_failure().message(), "the server says: no room");
  TextCall next{target_};
  ASSERT_TRUE(next.begin());
  rig_.peer_sends(answer_bytes(rig_.sent_frame().header.id, "served"));
  EXPECT_EQ(next.answer(), "served");
}

TEST(FailuresThatAreKept, SayHowLongToWaitAlsoWithAShorterText) {
  Status failure{StatusCode::kUnavailable, Layer::kUser, std::string(10'000, 'a'), 42, Retry::kBackoff};
  failure.set_retry_after(2s);
  const Status shorter = shortened(failure);
  EXPECT_LT(shorter.message().size(), failure.message().size());
  EXPECT_EQ(shorter.code(), StatusCode::kUnavailable);
  EXPECT_EQ(shorter.native(), 42);
  EXPECT_EQ(shorter.retry(), Retry::kBackoff);
  EXPECT_EQ(shorter.retry_after(), 2s);
}

}  // namespace
}  // namespace weft::calls_testing
