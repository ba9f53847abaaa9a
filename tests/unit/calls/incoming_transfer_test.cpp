// SPDX-License-Identifier: Apache-2.0
// An attachment that follows its request, half of which a device is still writing when nobody wants it any
// more: whoever waits for it hears of one end, and not before the device is done. Capabilities: CR-8.
#include "calls/incoming_transfer.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "unit/calls/session_rig.hpp"
#include "weft/detail/calls/method_entry.hpp"
#include "weft/detail/calls/served_call.hpp"

namespace weft::calls_testing {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kBytes = 100 * 1024;

struct Waiter final : Ready {
  Waiter() : Ready([](Ready* self) noexcept { ++static_cast<Waiter*>(self)->woken; }) {}
  int woken = 0;
};

class IncomingTransfers : public ::testing::Test {
 protected:
  void SetUp() override {
    MethodEntry take{{.id = 12,
                      .schema = 22,
                      .name = "take",
                      .schema_text = [](const MethodKey&) { return std::string{}; },
                      .chooses_landing = true},
                     {}};
    take.kind = HandlerKind::kRecord;
    take.takes_attachment = true;
    take.serve_record = [](const MethodEntry&, ServedCall& call) {
      call.hold();
      served = &call;
    };
    methods_ = MethodTable::build({take}).value();
    served = nullptr;
    rig_.emplace(RpcLimits{}, &*methods_);
    rig_->greet();
    rig_->carrier().set_holding(true);
    wire::RequestHead head{.flags = wire::FrameFlags::kAttachment, .id = 1, .method = 12, .schema = 22};
    head.timeout = 1000;  // microseconds
    head.attachment_bytes = kBytes;
    rig_->peer_sends(testing::header_bytes(head.header()) + std::string(kBytes / 2, 'a'));
    ASSERT_NE(served, nullptr) << "the handler runs before its attachment is there";
  }
  void TearDown() override {
    if (served->begin_answer(0) != nullptr) served->end_answer();
    served->let_go();
    rig_.reset();
  }
  IncomingTransfer& transfer() { return *served->envelope().incoming; }
  bool begin() { return transfer().begin(LandingView{memory_}, &served->scope(), waiter_); }

  inline static ServedCall* served;
  std::vector<std::byte> memory_{kBytes};
  Waiter waiter_;
  std::optional<MethodTable> methods_;
  std::optional<SessionRig> rig_;
};

TEST_F(IncomingTransfers, ThatAreWantedTooLateEndWhenTheDeviceIsDone) {
  rig_->pass(2ms);
  ASSERT_TRUE(served->scope().cancelled());
  ASSERT_TRUE(begin()) << "nothing has ended: the device still has the memory";
  rig_->pass(2ms);
  EXPECT_EQ(waiter_.woken, 0);
  rig_->carrier().set_holding(false);
  rig_->pass(2ms);
  EXPECT_EQ(waiter_.woken, 1);
  EXPECT_EQ(transfer().take_outcome().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(IncomingTransfers, ThatWereGivenUpHaveOneEndWhenTheConnectionIsLost) {
  ASSERT_TRUE(begin());
  rig_->pass(2ms);
  EXPECT_EQ(waiter_.woken, 0) << "it was given up, and the device still has the memory";
  rig_->carrier().fail({StatusCode::kUnavailable, Layer::kTransport, "cut"});
  rig_->run_until_idle();
  EXPECT_EQ(waiter_.woken, 1);
  EXPECT_EQ(transfer().take_outcome().code(), StatusCode::kUnavailable);
  rig_->destroy_session();
  rig_->pass(2ms);
  EXPECT_EQ(waiter_.woken, 1);
}

}  // namespace
}  // namespace weft::calls_testing
