// SPDX-License-Identifier: Apache-2.0
// Attachments of a stream's items when memory is out, or nobody wants them any more. The test is the peer,
// and the handler too: it has the record of the call.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support/heap_count.hpp"
#include "unit/calls/session_rig.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::item_attachment_faults {

using namespace weft::detail;
namespace {

using calls_testing::SentFrame;
using calls_testing::SessionRig;
using testing::append_padded;
using testing::frame_bytes;
using testing::header_bytes;

constexpr std::uint64_t kId = 5;
/// Less than a piece, so that it goes at once.
constexpr std::size_t kAttached = 20'000;
constexpr std::size_t kLarge = 1'000'000;
constexpr std::uint32_t kWindow = 4u << 20;

std::string no_schema(const MethodKey&) {
  return {};
}
/// Call whose handler the test is.
ServedCall* served = nullptr;

class ItemAttachmentFaults : public ::testing::Test {
 protected:
  void SetUp() override { begin(); }
  void TearDown() override { end(); }

  /// A peer, which takes as much as `window` says, has opened a stream.
  void begin() {
    MethodKey key{12, 22, "streamed", &no_schema};
    key.streams = true;
    MethodEntry entry{key, {}};
    entry.kind = HandlerKind::kRecord;
    entry.delayed = true;
    entry.serve_record = [](const MethodEntry&, ServedCall& call) {
      call.hold();
      served = &call;
    };
    methods_ = MethodTable::build({std::move(entry)}).value();
    RpcLimits limits;
    limits.stream_window = kWindow;
    rig_ = std::make_unique<SessionRig>(limits, &methods_);
    wire::Hello hello;
    hello.features_supported = wire::Features::kAll;
    hello.body_bytes_max = 1u << 20;
    hello.attachment_bytes_max = 1u << 30;
    hello.calls_in_flight_max = 100;
    hello.stream_window_bytes = kWindow;
    rig_->peer_sends(wire::encode_hello(hello));
    rig_->peer_sends(frame_bytes(wire::RequestHead{.id = kId, .method = 12, .schema = 22}.header(), ""));
    ASSERT_NE(served, nullptr);
    static_cast<void>(rig_->sent());
  }
  void end() {
    if (rig_ == nullptr) return;
    rig_->destroy_session();
    if (ServedCall* const call = std::exchange(served, nullptr)) call->let_go();
    rig_.reset();
  }
  StreamSide& side() { return *served->stream(); }
  void write_without_memory(int before, std::size_t countdown, bool& none_left, int& closed);

  MethodTable methods_;
  std::unique_ptr<SessionRig> rig_;
};

/// Writes an item of eight bytes with `attachment`; false when it was not taken.
bool write(StreamSide& side, Attachment attachment) {
  std::byte* const body = side.begin_item(8, &attachment);
  if (body == nullptr) return false;
  std::memset(body, 0, 8);
  side.end_item();
  return side.send_attachment(std::move(attachment));
}

/// Writes to a peer that reads nothing, behind `before` others, while one allocation fails. Says whether none
/// was left to fail, and counts in `closed` a connection that ended for it.
void ItemAttachmentFaults::write_without_memory(int before, std::size_t countdown, bool& none_left,
                                                int& closed) {
  end();
  ASSERT_NO_FATAL_FAILURE(begin());
  rig_->carrier().set_room(0);
  for (int i = 0; i < before; ++i) ASSERT_TRUE(write(side(), Buffer::try_allocate(kAttached).value()));
  Buffer attachment = Buffer::try_allocate(kAttached).value();
  testing::fail_allocation(countdown);
  const bool written = write(side(), std::move(attachment));
  none_left = testing::allocation_still_to_fail();
  testing::fail_allocation(0);
  rig_->carrier().set_room(SIZE_MAX);
  rig_->run_until_idle();
  EXPECT_TRUE(written || !none_left);
  if (!rig_->closed.empty()) {
    EXPECT_FALSE(written);
    EXPECT_EQ(rig_->closed.front().code(), StatusCode::kResourceExhausted);
    ++closed;
    return;
  }
  std::size_t pieces = 0;
  for (const SentFrame& frame : rig_->sent()) {
    if (frame.header.type != wire::FrameType::kPiece) continue;
    ++pieces;
    EXPECT_EQ(frame.attachment.size(), kAttached);
  }
  EXPECT_EQ(pieces, static_cast<std::size_t>(before) + (written ? 1 : 0))
      << "the connection goes on behind half a piece; " << before << " before, allocation " << countdown;
}

// A peer that had the head of a piece, and not the piece, would take what comes behind for the rest of it.
TEST_F(ItemAttachmentFaults, APieceThatCannotBeQueuedEndsItsConnection) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "this build cannot make an allocation fail";
  int closed = 0;
  for (int before = 0; before < 20; ++before) {
    bool none_left = false;
    for (std::size_t countdown = 1; !none_left; ++countdown) {
      ASSERT_LT(countdown, 100u) << "there is always one more allocation to fail";
      ASSERT_NO_FATAL_FAILURE(write_without_memory(before, countdown, none_left, closed));
    }
  }
  EXPECT_GT(closed, 0) << "no piece was begun and then not queued";
}

// Bytes that are received into its memory would be charged until the peer has sent all of it, or for ever.
TEST_F(ItemAttachmentFaults, TheRestOfAPieceThatNobodyWantsIsDroppedAndNotCharged) {
  const std::size_t free = rig_->host.memory->free();
  wire::FrameHeader item = wire::ItemHead{.id = kId, .attachment_bytes = kLarge}.header();
  const wire::PieceHead piece{.id = kId, .offset = 0, .bytes = kLarge, .last = true, .of_item = true};
  rig_->peer_sends(header_bytes(item) + header_bytes(piece.header()) + std::string(kLarge / 2, 'p'));
  const std::size_t charged = free - rig_->host.memory->free();
  ASSERT_GE(charged, kLarge / 2) << "what has arrived is charged";
  side().took(side().incoming().discard());
  rig_->peer_sends(std::string(kLarge / 4, 'p'));
  EXPECT_LT(free - rig_->host.memory->free(), kLarge / 4)
      << "the memory is given back in the middle of the piece";
  std::string rest(kLarge - kLarge / 2 - kLarge / 4, 'p');
  rest.resize(rest.size() + wire::padded(kLarge) - kLarge, '\0');
  rig_->peer_sends(rest);
  rig_->peer_sends(testing::control_bytes(wire::FrameType::kPing, 77));
  EXPECT_TRUE(rig_->closed.empty());
  const std::vector<SentFrame> frames = rig_->sent();
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().header.type, wire::FrameType::kPong) << "what comes behind the piece is understood";
  EXPECT_EQ(frames.back().header.id, 77u);
}

}  // namespace
}  // namespace weft::item_attachment_faults
