// SPDX-License-Identifier: Apache-2.0
// A connection of plain bytes: order, back pressure, ends of both sides, and failures.
#include "weft/detail/transport/byte_connection.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/heap_count.hpp"
#include "support/manual_time.hpp"
#include "unit/calls/fake_carrier.hpp"

namespace weft::detail {
namespace {

using namespace std::chrono_literals;
using calls_testing::FakeCarrier;

/// A connection over a fake carrier on a clock that the test moves. The test is the sink and the peer.
class ByteConnectionRig final : private ByteSink {
 public:
  ByteConnectionRig() {
    auto carrier = std::make_unique<FakeCarrier>();
    carrier_ = carrier.get();
    connection_.emplace(*loop_, std::move(carrier), 30s);
  }

  void start(std::string_view received = {}) {
    connection_->start(*this, as_bytes(received));
    loop_->run_until_idle();
  }
  void arrives(std::string_view bytes) {
    carrier_->arrive(bytes);
    loop_->run_until_idle();
  }
  void peer_ends() {
    carrier_->end();
    loop_->run_until_idle();
  }
  void pass(Duration time) { testing::pass(*loop_, clock_, time); }
  void run() { loop_->run_until_idle(); }
  void destroy() { connection_.reset(); }

  Loop& loop() { return *loop_; }
  FakeCarrier& carrier() { return *carrier_; }
  ByteConnection& connection() { return *connection_; }
  const std::string& taken() const { return taken_; }
  const std::optional<Status>& closed() const { return closed_; }
  int peer_ends_seen() const { return peer_ends_; }
  int drained() const { return drained_; }
  /// Is asked in place of a sink that takes everything.
  std::function<std::size_t(Bytes)> take;

 private:
  std::size_t on_bytes(Bytes bytes) override {
    const std::size_t count = take ? take(bytes) : bytes.size();
    taken_ += as_text(bytes.first(count));
    return count;
  }
  void on_peer_end() override { ++peer_ends_; }
  void on_drained() override { ++drained_; }
  void on_closed(const Status& why) override { closed_ = why; }

  static std::unique_ptr<Loop> make_loop(ManualClock& clock) {
    LoopOptions options;
    options.clock = &clock;
    return Loop::create(options).value();
  }

  ManualClock clock_;
  std::unique_ptr<Loop> loop_ = make_loop(clock_);
  FakeCarrier* carrier_ = nullptr;
  std::optional<ByteConnection> connection_;
  std::string taken_;
  std::optional<Status> closed_;
  int peer_ends_ = 0;
  int drained_ = 0;
};

TEST(ByteConnection, DeliversEarlierBytesFirst) {
  ByteConnectionRig rig;
  rig.start("first ");
  rig.arrives("second");
  EXPECT_EQ(rig.taken(), "first second");
  EXPECT_EQ(rig.connection().stats().bytes_received, 12u);
}

TEST(ByteConnection, SendsInOrderWhateverRoomThePeerGives) {
  ByteConnectionRig rig;
  rig.start();
  rig.carrier().set_room(5);
  std::string all;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = std::to_string(i) + " has a text of some length;";
    ASSERT_TRUE(rig.connection().send(as_bytes(text)));
    all += text;
  }
  rig.run();
  std::string sent = rig.carrier().take_sent();
  EXPECT_EQ(sent.size(), 5u);
  while (sent.size() < all.size()) {
    rig.carrier().set_room(10'007);
    rig.run();
    const std::string more = rig.carrier().take_sent();
    ASSERT_FALSE(more.empty());
    sent += more;
  }
  EXPECT_TRUE(sent == all);
  EXPECT_EQ(rig.connection().queued_bytes(), 0u);
  EXPECT_EQ(rig.drained(), 1);
  EXPECT_FALSE(rig.closed());
}

TEST(ByteConnection, AQueueThatNeverEmptiesKeepsNoPlacesOfSentBytes) {
  ByteConnectionRig rig;
  rig.start();
  rig.carrier().set_room(0);
  const std::string text(60'000, 'x');
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(rig.connection().send(as_bytes(text)));
  const auto step = [&] {
    rig.carrier().set_room(text.size());
    ASSERT_TRUE(rig.connection().send(as_bytes(text)));
    rig.run();
    rig.carrier().take_sent();
    ASSERT_NE(rig.connection().queued_bytes(), 0u);
  };
  for (int i = 0; i < 500; ++i) step();
  const std::size_t before = testing::heap_bytes();
  for (int i = 0; i < 5000; ++i) step();
  if (testing::kHeapIsCounted) {
    EXPECT_LE(testing::heap_bytes(), before + 16'384);
  }
}

TEST(ByteConnection, HeldBytesAreDeliveredAgain) {
  ByteConnectionRig rig;
  rig.take = [&](Bytes) {
    rig.connection().pause_receiving();
    return std::size_t{2};
  };
  rig.start();
  rig.arrives("abcdef");
  EXPECT_EQ(rig.taken(), "ab");
  EXPECT_TRUE(rig.connection().keeps_bytes());
  rig.connection().resume_receiving();
  rig.run();
  EXPECT_EQ(rig.taken(), "abcd");
  rig.take = nullptr;
  rig.connection().resume_receiving();
  rig.run();
  EXPECT_EQ(rig.taken(), "abcdef");
  EXPECT_FALSE(rig.connection().keeps_bytes());
}

TEST(ByteConnection, ASinkThatGivesWayIsAskedAgainInALaterTurn) {
  ByteConnectionRig rig;
  bool other_ran = false;
  bool other_ran_before = false;
  rig.take = [&](Bytes bytes) {
    other_ran_before = other_ran;
    if (other_ran) return bytes.size();
    rig.connection().give_way();
    return std::size_t{1};
  };
  rig.start();
  rig.loop().post([&] { other_ran = true; });
  rig.arrives("abc");
  EXPECT_TRUE(other_ran_before);
  EXPECT_EQ(rig.taken(), "abc");
}

TEST(ByteConnection, TheEndOfThePeerIsSeenWhileBytesWait) {
  ByteConnectionRig rig;
  rig.take = [&](Bytes) {
    rig.connection().pause_receiving();
    return std::size_t{0};
  };
  rig.start();
  rig.arrives("request");
  rig.arrives(" and more");
  rig.peer_ends();
  EXPECT_EQ(rig.peer_ends_seen(), 1);
  rig.take = nullptr;
  rig.connection().resume_receiving();
  rig.run();
  EXPECT_EQ(rig.taken(), "request and more");
}

TEST(ByteConnection, APeerThatSendsWhilePausedIsReceivedIntoOneChunkOnly) {
  ByteConnectionRig rig;
  rig.take = [&](Bytes) {
    rig.connection().pause_receiving();
    return std::size_t{0};
  };
  rig.start();
  for (int i = 0; i < 100; ++i) rig.arrives(std::string(100'000, 'x'));
  EXPECT_LE(rig.connection().stats().bytes_received, 1'000'000u);
  rig.take = nullptr;
  rig.connection().resume_receiving();
  rig.run();
  EXPECT_EQ(rig.taken().size(), 10'000'000u);
}

TEST(ByteConnection, FinishSendsTheQueueAndWaitsForThePeersEnd) {
  ByteConnectionRig rig;
  rig.start();
  rig.connection().send(as_bytes("answer"));
  rig.connection().finish();
  rig.run();
  EXPECT_EQ(rig.carrier().take_sent(), "answer");
  EXPECT_TRUE(rig.carrier().ended());
  EXPECT_FALSE(rig.closed());
  rig.peer_ends();
  ASSERT_TRUE(rig.closed());
  EXPECT_TRUE(rig.closed()->ok()) << rig.closed()->to_string();
}

TEST(ByteConnection, APeerThatStaysIsGivenAShortTime) {
  ByteConnectionRig rig;
  rig.start();
  rig.connection().finish();
  rig.pass(400ms);
  EXPECT_FALSE(rig.closed());
  rig.pass(200ms);
  ASSERT_TRUE(rig.closed());
  EXPECT_EQ(rig.closed()->code(), StatusCode::kUnavailable);
}

// TLS keeps encrypted bytes while the socket has no room: closing then would cut the answer.
TEST(ByteConnection, BytesThatTheCarrierStillHoldsAreNotCut) {
  ByteConnectionRig rig;
  rig.start();
  rig.carrier().set_all_left(false);
  rig.connection().send(as_bytes("answer"));
  rig.connection().finish();
  rig.pass(5s);
  EXPECT_TRUE(rig.carrier().ended());
  EXPECT_FALSE(rig.closed()) << rig.closed()->to_string();
  rig.carrier().set_all_left(true);
  rig.pass(400ms);
  EXPECT_FALSE(rig.closed());
  rig.pass(200ms);
  EXPECT_TRUE(rig.closed());
}

TEST(ByteConnection, ACarrierThatNeverGetsRidOfBytesIsClosedAfterTheStallTimeout) {
  ByteConnectionRig rig;
  rig.start();
  rig.carrier().set_all_left(false);
  rig.connection().send(as_bytes("answer"));
  rig.connection().finish();
  rig.pass(29s);
  EXPECT_FALSE(rig.closed());
  rig.pass(2s);
  ASSERT_TRUE(rig.closed());
  EXPECT_TRUE(rig.carrier().is_shut());
}

TEST(ByteConnection, APeerThatTakesNothingIsClosedAfterTheStallTimeout) {
  ByteConnectionRig rig;
  rig.start();
  rig.carrier().set_room(0);
  rig.connection().send(as_bytes("answer"));
  rig.pass(20s);
  rig.carrier().set_room(2);
  rig.pass(20s);
  EXPECT_FALSE(rig.closed()) << "the peer took two bytes 20 s ago";
  rig.pass(11s);
  ASSERT_TRUE(rig.closed());
  EXPECT_NE(rig.closed()->message().find("4 bytes are queued"), std::string::npos)
      << rig.closed()->to_string();
}

TEST(ByteConnection, AFailureOfTheCarrierIsReportedOnce) {
  ByteConnectionRig rig;
  rig.start();
  rig.carrier().fail({StatusCode::kUnavailable, Layer::kTransport, "reset"});
  rig.connection().close({StatusCode::kCancelled, Layer::kRpc, "later"});
  rig.run();
  ASSERT_TRUE(rig.closed());
  EXPECT_EQ(rig.closed()->message(), "reset");
}

TEST(ByteConnection, NothingIsReportedAfterItsDestruction) {
  ByteConnectionRig rig;
  rig.start();
  rig.connection().send(as_bytes("answer"));
  rig.connection().close({StatusCode::kCancelled, Layer::kRpc, "soon"});
  rig.destroy();
  rig.pass(60s);
  EXPECT_FALSE(rig.closed());
}

TEST(ByteConnection, WithoutMemoryForReceivedBytesItCloses) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the sanitizer's allocator is in place";
  ByteConnectionRig rig;
  rig.start();
  rig.carrier().reserve(100);
  const ChunkRef kept_chunk = rig.loop().chunks().acquire();  // the one that the loop has
  testing::fail_allocation(1);
  rig.arrives("request");
  const bool failed = !testing::allocation_still_to_fail();
  testing::fail_allocation(0);
  EXPECT_TRUE(failed);
  ASSERT_TRUE(rig.closed());
  EXPECT_EQ(rig.closed()->code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace weft::detail
