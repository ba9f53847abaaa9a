// SPDX-License-Identifier: Apache-2.0
// An attachment of many runs is shown to its carrier in as few calls as the carrier likes.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unit/calls/fake_carrier.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using calls_testing::FakeCarrier;
using SegmentCounts = std::vector<std::size_t>;

/// Hears nothing: only this side sends.
class DeafSink final : public FrameSink {
 public:
  Status on_hello(const wire::Hello&) override { return {}; }
  Status on_frames(std::span<const Frame>, const ChunkRef&) override { return {}; }
  Landing on_attachment(const Frame&) override { return Landing::skip(); }
  Status on_attachment_end(const Frame&, const ChunkRef&, bool) override { return {}; }
  void on_drained() override {}
  void on_closed(Status) override {}
};

struct LeaseOfRuns final : SendLease {
  void on_released(bool sent) noexcept override {
    ++released;
    all_sent = all_sent && sent;
  }
  std::size_t released = 0;
  bool all_sent = true;
};

/// Connections whose carrier is shown so many segments in a call, and sends runs of 4000 bytes, which lie
/// apart, behind a head of 8 bytes.
class ManySegments : public ::testing::Test {
 protected:
  static constexpr std::size_t kRun = 4000;
  static constexpr std::size_t kStride = 5000;

  void connect(std::size_t segments_max) {
    auto carrier = std::make_unique<FakeCarrier>(
        Capabilities{.name = "fake", .gathers = true, .segments_max = segments_max});
    carrier_ = carrier.get();
    carrier_->note_segments_in(shown_);
    connection_ = std::make_unique<Connection>(*loop_, ConnectionOptions{}, std::move(carrier));
    connection_->start(sink_);
    loop_->run_until_idle();
  }
  void queue(std::size_t runs) {
    Outbox& outbox = connection_->outbox();
    std::byte* const head = outbox.append(8);
    ASSERT_NE(head, nullptr);
    std::fill_n(head, 8, std::byte{'h'});
    memory_.resize(runs * kStride);
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<char>('a' + i / 7 % 23);
    const MemoryRuns<const std::byte> list{as_bytes(memory_).data(), runs, kRun, kStride, true};
    RunCursor<const std::byte> from{list};
    for (std::size_t left = runs * kRun; left > 0; ++leases_) {
      const std::size_t queued = outbox.append_gathered(from, left, lease_);
      ASSERT_GT(queued, 0u);
      left -= queued;
    }
    expected_ = "hhhhhhhh";
    for (std::size_t i = 0; i < runs; ++i) expected_ += memory_.substr(i * kStride, kRun);
  }
  /// Returns how many segments the carrier was shown in each call since this was asked last.
  SegmentCounts take_shown() { return std::exchange(shown_, {}); }
  /// All has left, as it was, and its memory has come back.
  void expect_sent() {
    EXPECT_TRUE(carrier_->take_sent() == expected_);
    EXPECT_EQ(lease_.released, leases_);
    EXPECT_TRUE(lease_.all_sent);
    EXPECT_TRUE(connection_->outbox().empty());
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  DeafSink sink_;
  SegmentCounts shown_;
  FakeCarrier* carrier_ = nullptr;
  std::string memory_;
  std::string expected_;
  LeaseOfRuns lease_;
  std::size_t leases_ = 0;
  std::unique_ptr<Connection> connection_;
};

TEST_F(ManySegments, AreShownInOneCallToACarrierThatSaysSo) {
  connect(Capabilities::kSegmentsMost);
  queue(128);
  loop_->run_until_idle();
  EXPECT_EQ(take_shown(), SegmentCounts{129});
  expect_sent();
}

TEST_F(ManySegments, AreShownInPartsToOthers) {
  connect(Capabilities::kSegmentsMin);
  queue(128);
  loop_->run_until_idle();
  EXPECT_EQ(take_shown(), (SegmentCounts{64, 64, 1}));
  expect_sent();
}

TEST_F(ManySegments, AreShownInPartsWhereTheyAreMoreThanTheCarrierSays) {
  connect(100);
  queue(256);
  loop_->run_until_idle();
  EXPECT_EQ(take_shown(), (SegmentCounts{100, 100, 57}));
  expect_sent();
}

TEST_F(ManySegments, AreNeverMoreThanThereIsAPlaceFor) {
  connect(100'000);
  queue(Capabilities::kSegmentsMost + 1);
  loop_->run_until_idle();
  EXPECT_EQ(take_shown(), (SegmentCounts{Capabilities::kSegmentsMost, 2}));
  expect_sent();
}

TEST_F(ManySegments, GoOnInTheMiddleOfARunWhereTheCarrierTookNoMore) {
  connect(Capabilities::kSegmentsMost);
  carrier_->set_room(8 + 10 * kRun + 1);
  queue(200);
  loop_->run_until_idle();
  EXPECT_EQ(take_shown(), SegmentCounts{201});
  carrier_->set_room(100 * kRun);
  loop_->run_until_idle();
  EXPECT_EQ(take_shown(), SegmentCounts{190}) << "what has left is not shown again";
  EXPECT_FALSE(connection_->outbox().empty());
  carrier_->set_room(SIZE_MAX);
  loop_->run_until_idle();
  EXPECT_EQ(take_shown(), SegmentCounts{90});
  expect_sent();
}

}  // namespace
}  // namespace weft
