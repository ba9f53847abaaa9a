// SPDX-License-Identifier: Apache-2.0
// Calls whose handlers end before anything else of the loop runs are calls of their connection meanwhile.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unit/calls/text_calls.hpp"
#include "weft/detail/calls/peers/peer_target.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::calls_testing {
namespace {

class CallsAtOnce : public ::testing::Test {
 protected:
  CallsAtOnce() {
    MethodEntry asks{{12, 22, "ask", &text_schema}, {}};
    asks.kind = HandlerKind::kRecord;
    asks.takes_attachment = true;
    asks.ends_at_once = true;
    asks.serve_record = [](const MethodEntry&, ServedCall& call) {
      asked.emplace(*call.sink()->peer());
      begun = asked->begin();
      if (call.begin_answer(0) != nullptr) call.end_answer();
    };
    methods_ = MethodTable::build({asks}).value();
    begun = false;
    rig_.emplace(RpcLimits{.ping_interval = Duration::zero()}, &*methods_);
    rig_->greet();
  }
  ~CallsAtOnce() override { asked.reset(); }

  /// The handler's own call, of whoever called it.
  inline static std::optional<TextCall> asked;
  inline static bool begun = false;
  std::optional<MethodTable> methods_;
  std::optional<SessionRig> rig_;
};

TEST_F(CallsAtOnce, MayCallTheirCallerBackWhileTheirSideLeaves) {
  rig_->session().send_goaway("it is late");
  ASSERT_EQ(rig_->sent_frame().header.type, wire::FrameType::kGoaway);
  TextCall of_nobody{*rig_->session().peer_target()};
  EXPECT_FALSE(of_nobody.begin()) << "the peer may end the connection now";
  rig_->peer_sends(
      frame_bytes(wire::RequestHead{.id = 5, .method = 12, .schema = 22}.header(), "hi", "attached"));
  ASSERT_TRUE(asked.has_value());
  ASSERT_TRUE(begun) << asked->take_failure().to_string();
  const std::vector<SentFrame> sent = rig_->sent();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].header.type, wire::FrameType::kRequest);
  EXPECT_EQ(sent[1].header.type, wire::FrameType::kAnswer);
  rig_->peer_sends(answer_bytes(sent[0].header.id, "there"));
  EXPECT_TRUE(asked->done());
  EXPECT_EQ(asked->answer(), "there");
}

TEST_F(CallsAtOnce, AreNoCallsOfTheirConnectionAfterTheyHaveEnded) {
  rig_->peer_sends(frame_bytes(wire::RequestHead{.id = 5, .method = 12, .schema = 22}.header(), "hi"));
  ASSERT_TRUE(asked.has_value());
  EXPECT_FALSE(rig_->session().calls_in().calls().has_unanswered());
  std::size_t left = 10;
  EXPECT_TRUE(rig_->session().calls_in().calls().orphan_some(left));
  EXPECT_EQ(left, 10u) << "one was told the end of its connection";
}

}  // namespace
}  // namespace weft::calls_testing
