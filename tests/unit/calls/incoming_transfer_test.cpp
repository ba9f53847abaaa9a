// SPDX-License-Identifier: Apache-2.0
// The attachment of a request whose handler runs already: whoever waits for it hears of one end, and not
// before a device is done with the memory; and a progress counts what is there, and nothing after the end.
// Capabilities: CR-8.
#include "calls/landing/incoming_transfer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/pattern.hpp"
#include "unit/calls/session_rig.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/calls/terms/transfer_progress.hpp"

namespace weft::calls_testing {
namespace {

using namespace std::chrono_literals;

using wire::FrameFlags;

constexpr std::uint64_t kBytes = 100 * 1024;
constexpr std::uint64_t kHalf = kBytes / 2;
/// More than is copied in two turns of the loop.
constexpr std::uint64_t kManyBytes = 5u << 19;

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
  }
  /// Half of an attachment has followed its request, and a device is writing it.
  void follow_half() {
    rig_->carrier().set_holding(true);
    request({.flags = FrameFlags::kAttachment, .timeout = 1000}, kBytes, std::string(kHalf, 'a'));
  }
  /// An attachment waits until it is asked for.
  void announce() {
    request({.flags = FrameFlags::kAttachment | FrameFlags::kInPieces | FrameFlags::kExpectsContinue},
            kBytes);
  }
  /// An attachment of `bytes` is there before the handler runs.
  void send_before(std::uint64_t bytes) {
    wire::RequestHead head{.flags = FrameFlags::kAttachment | FrameFlags::kInPieces};
    head.attachment_bytes = bytes;
    send(head);
    send_piece(0, bytes, bytes);
    ASSERT_NE(served, nullptr);
    memory_.assign(bytes, std::byte{});
  }
  void send_piece(std::uint64_t offset, std::uint64_t bytes, std::uint64_t whole = kBytes) {
    const wire::PieceHead head{.id = 1, .offset = offset, .bytes = bytes, .last = offset + bytes == whole};
    rig_->peer_sends(testing::header_bytes(head.header()) + std::string(bytes, 'a'));
  }
  void TearDown() override {
    if (served == nullptr) return;
    if (served->begin_answer(0) != nullptr) served->end_answer();
    served->let_go();
    rig_.reset();
  }
  IncomingTransfer& transfer() { return *served->envelope().incoming; }
  bool begin(TransferProgress* progress = nullptr) {
    return transfer().begin(LandingView{memory_}, &served->scope(), waiter_, progress);
  }
  /// The user notes what it is told, and that what is counted is there while somebody waits.
  void note(TransferProgress& progress) {
    progress.on_change([this](const TransferProgress& now) {
      EXPECT_EQ(waiter_.woken, 0) << "who waits goes on when the whole was told";
      EXPECT_TRUE(testing::all_are(Bytes{memory_}.first(now.received()), std::byte{'a'}));
      told_.push_back(now.received());
    });
  }

  inline static ServedCall* served;
  std::vector<std::byte> memory_{kBytes};
  Waiter waiter_;
  std::vector<std::uint64_t> told_;
  std::optional<MethodTable> methods_;
  std::optional<SessionRig> rig_;

 private:
  void send(wire::RequestHead head, const std::string& behind = {}) {
    head.id = 1;
    head.method = 12;
    head.schema = 22;
    rig_->peer_sends(testing::header_bytes(head.header()) + behind);
  }
  void request(wire::RequestHead head, std::uint64_t bytes, const std::string& behind = {}) {
    head.attachment_bytes = bytes;
    send(head, behind);
    ASSERT_NE(served, nullptr) << "the handler runs before its attachment is there";
  }
};

TEST_F(IncomingTransfers, ThatAreWantedTooLateEndWhenTheDeviceIsDone) {
  follow_half();
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
  follow_half();
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

TEST_F(IncomingTransfers, AreCountedByPiecesAndTheWholeIsToldBeforeTheirEnd) {
  announce();
  TransferProgress progress;
  note(progress);
  ASSERT_TRUE(begin(&progress));
  EXPECT_TRUE(progress.is_taken());
  EXPECT_EQ(progress.to_receive(), kBytes);
  EXPECT_EQ(progress.received(), 0u);
  send_piece(0, kHalf);
  EXPECT_EQ(progress.received(), kHalf);
  EXPECT_EQ(waiter_.woken, 0);
  send_piece(kHalf, kHalf);
  EXPECT_EQ(waiter_.woken, 1);
  EXPECT_EQ(told_, (std::vector{kHalf, kBytes}));
  EXPECT_TRUE(progress.is_taken()) << "whoever waited goes on later";
  EXPECT_TRUE(transfer().take_outcome().ok());
  EXPECT_FALSE(progress.is_taken());
}

TEST_F(IncomingTransfers, InMemoryOfTheServersAreCountedAlike) {
  announce();
  TransferProgress progress;
  ASSERT_TRUE(transfer().begin({}, &served->scope(), waiter_, &progress));
  send_piece(0, kHalf);
  EXPECT_EQ(progress.received(), kHalf);
  send_piece(kHalf, kHalf);
  EXPECT_EQ(progress.received(), kBytes);
  EXPECT_EQ(waiter_.woken, 1);
  EXPECT_EQ(transfer().take_buffer().value().size(), kBytes);
  EXPECT_FALSE(progress.is_taken());
}

TEST_F(IncomingTransfers, ThatWereThereAreToldOfAllTheSame) {
  send_before(kBytes);
  TransferProgress progress;
  note(progress);
  ASSERT_TRUE(begin(&progress)) << "who is told comes first";
  EXPECT_EQ(progress.received(), kBytes);
  EXPECT_EQ(waiter_.woken, 0);
  rig_->run_until_idle();
  EXPECT_EQ(told_, std::vector{kBytes});
  EXPECT_EQ(waiter_.woken, 1);
  EXPECT_TRUE(progress.is_taken()) << "whoever waited goes on later";
  EXPECT_TRUE(transfer().take_outcome().ok());
  EXPECT_FALSE(progress.is_taken());
}

TEST_F(IncomingTransfers, ThatWereThereWaitForNothingWhenNobodyCounts) {
  send_before(kBytes);
  EXPECT_FALSE(begin());
  EXPECT_TRUE(transfer().take_outcome().ok());
}

TEST_F(IncomingTransfers, ThatAreCopiedAreCountedAsTheyAre) {
  send_before(kManyBytes);
  TransferProgress progress;
  note(progress);
  ASSERT_TRUE(begin(&progress));
  EXPECT_LT(progress.received(), kManyBytes);
  EXPECT_EQ(progress.to_receive(), kManyBytes);
  rig_->run_until_idle();
  ASSERT_GE(told_.size(), 2u);
  EXPECT_EQ(told_.back(), kManyBytes);
  EXPECT_EQ(waiter_.woken, 1);
  EXPECT_TRUE(transfer().take_outcome().ok());
}

TEST_F(IncomingTransfers, ThatAreCancelledKeepTheirCountUntilTheDeviceIsDoneAndNoLonger) {
  announce();
  auto progress = std::make_unique<TransferProgress>();
  ASSERT_TRUE(begin(progress.get()));
  send_piece(0, kHalf);
  rig_->carrier().set_holding(true);
  const wire::PieceHead last{.id = 1, .offset = kHalf, .bytes = kHalf, .last = true};
  rig_->peer_sends(testing::header_bytes(last.header()) + std::string(kHalf / 2, 'a'));
  served->scope().cancel(CancelReason::kRequested);
  rig_->run_until_idle();
  EXPECT_EQ(waiter_.woken, 0);
  EXPECT_TRUE(progress->is_taken());
  rig_->carrier().set_holding(false);
  rig_->pass(2ms);
  EXPECT_EQ(waiter_.woken, 1);
  EXPECT_EQ(transfer().take_outcome().code(), StatusCode::kCancelled);
  EXPECT_FALSE(progress->is_taken());
  EXPECT_EQ(progress->received(), kHalf);
  progress.reset();
  rig_->peer_sends(std::string(kHalf / 2, 'a'));  // of nobody any more
}

TEST_F(IncomingTransfers, ForWhichNobodyWaitsAnyMoreAreNotCounted) {
  announce();
  auto progress = std::make_unique<TransferProgress>();
  ASSERT_TRUE(begin(progress.get()));
  send_piece(0, kHalf);
  transfer().stop_waiting();
  EXPECT_FALSE(progress->is_taken());
  progress.reset();
  send_piece(kHalf, kHalf);
  EXPECT_EQ(waiter_.woken, 0);
}

TEST_F(IncomingTransfers, ThatLostTheirConnectionKeepTheirCount) {
  announce();
  TransferProgress progress;
  ASSERT_TRUE(begin(&progress));
  send_piece(0, kHalf);
  rig_->carrier().fail({StatusCode::kUnavailable, Layer::kTransport, "cut"});
  rig_->run_until_idle();
  EXPECT_EQ(waiter_.woken, 1);
  EXPECT_EQ(progress.received(), kHalf);
  EXPECT_EQ(transfer().take_outcome().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(progress.is_taken());
}

}  // namespace
}  // namespace weft::calls_testing
