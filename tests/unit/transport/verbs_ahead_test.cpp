// SPDX-License-Identifier: Apache-2.0
// Attachments that are read before it is their turn, on simulated devices: they come in order and once, into
// the memory that was named, which is nobody's but its owner's once it was taken back.
// Capabilities: CR-18.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "support/pattern.hpp"
#include "unit/transport/verbs_pair.hpp"
#include "unit/transport/verbs_stream.hpp"
#include "weft/detail/transport/landings_ahead.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::pattern;
using verbs_carrier_testing::all_of;
using verbs_carrier_testing::End;
using verbs_carrier_testing::World;

constexpr std::size_t kSize = 64 * 1024;
constexpr std::size_t kHead = 40;
constexpr std::byte kOthers{0xEE};

/// Attachments of a stream, each of which has a head before it.
class VerbsReadAhead : public ::testing::Test {
 protected:
  struct Attachment {
    std::vector<std::byte> head;
    std::vector<std::byte> bytes;
    std::vector<std::byte> expected;
    std::vector<std::byte> landed;
    MemoryLease sent{};
    MemoryLease lands{};
  };

  void SetUp() override { join(); }

  /// Brings both up, and makes credit for all that is sent at once later, by what passes.
  void join() {
    world.join(here, there);
    for (int i = 0; i < 32; ++i) {
      ASSERT_TRUE(here.send("credit"));
      world.run_until_idle();
      ASSERT_EQ(there.receive(), "credit");
    }
    world.run_until_idle();
  }

  void add(bool landing_is_known = true) {
    const auto seed = static_cast<unsigned>(attachments_.size());
    attachments_.push_back({pattern(kHead, 2 * seed + 1), pattern(kSize, 2 * seed + 2),
                            pattern(kSize, 2 * seed + 2), std::vector<std::byte>(kSize)});
    Attachment& made = attachments_.back();
    made.sent = world.register_memory(true, all_of(made.bytes));
    if (landing_is_known) made.lands = world.register_memory(false, all_of(made.landed));
  }
  /// Sends what was added, as far as the carrier takes it, and lets it arrive.
  void send() {
    for (;;) {
      std::vector<iovec> pieces;
      std::size_t at = 0;
      for (Attachment& attachment : attachments_) {
        for (auto* const part : {&attachment.head, &attachment.bytes}) {
          const std::size_t skipped = std::min(part->size(), sent_ - std::min(sent_, at));
          if (skipped < part->size()) pieces.push_back({part->data() + skipped, part->size() - skipped});
          at += part->size();
        }
      }
      if (pieces.empty()) break;
      const Moved moved = here.carrier->send(pieces, pieces[0].iov_len > kHead ? pieces[0].iov_len : 0);
      if (moved.kind != Moved::Kind::kSome) break;
      sent_ += moved.bytes;
    }
    world.run_until_idle();
  }
  void send(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) add();
    send();
  }
  void receive_head(std::size_t index) {
    std::array<std::byte, 2 * kHead> room;
    const iovec place{room.data(), room.size()};
    const Moved moved = there.carrier->receive({&place, 1}, {});
    ASSERT_EQ(moved.kind, Moved::Kind::kSome);
    ASSERT_TRUE(testing::same_bytes(std::span{room}.first(moved.bytes), attachments_[index].head));
  }
  Moved land(std::size_t index) {
    std::array<std::byte, 2 * kHead> room;
    const std::array<iovec, 2> places{
        {{attachments_[index].landed.data(), kSize}, {room.data(), room.size()}}};
    return there.carrier->receive(places, std::span{places}.first(1));
  }
  void expect_landed(std::size_t index) {
    const Moved moved = land(index);
    EXPECT_EQ(moved.kind, Moved::Kind::kSome) << index;
    EXPECT_EQ(moved.bytes, kSize) << index;
    EXPECT_TRUE(attachments_[index].landed == attachments_[index].expected) << index;
  }
  /// The first one lands, by a device that does nothing yet.
  void begin_first() {
    ASSERT_NO_FATAL_FAILURE(receive_head(0));
    world.rdma.hold(pair());
    ASSERT_EQ(land(0).kind, Moved::Kind::kBegun);
    ASSERT_EQ(waiting(), 1u);
  }
  /// Lets attachments behind it be read as well. Returns how much waits.
  std::size_t read_ahead() {
    Places places{*this};
    there.carrier->read_ahead(kSize, places);
    return waiting();
  }
  /// Lets the device make so many reads.
  void step(int reads) {
    for (int i = 0; i < reads; ++i) ASSERT_TRUE(world.rdma.step(pair()));
  }
  ibv_qp* pair() { return world.rdma.queue_pairs("there").front(); }
  std::size_t waiting() { return world.rdma.sends_waiting(pair()); }
  void expect_untouched(std::size_t index) {
    EXPECT_TRUE(std::ranges::all_of(attachments_[index].landed, [](std::byte byte) {
      return byte == kOthers;
    })) << index;
  }
  void use_again(std::size_t index) { std::ranges::fill(attachments_[index].landed, kOthers); }

  World world;
  End here;
  End there;
  std::deque<Attachment> attachments_;
  /// Said of the size of what comes next, in place of the truth.
  std::uint64_t announced_ = kSize;
  /// Landings are lists of so many runs.
  std::size_t runs_ = 1;
  bool knows_places_ = true;
  std::size_t sent_ = 0;

 private:
  class Places final : public LandingsAhead {
   public:
    explicit Places(VerbsReadAhead& its) : its_(its) {}
    std::uint64_t next(Bytes between) override {
      EXPECT_TRUE(testing::same_bytes(between, its_.attachments_[++index_].head));
      return its_.announced_;
    }
    Landing place() override {
      if (!its_.knows_places_) return Landing::skip();
      const MutableBytes all{its_.attachments_[index_].landed};
      const std::size_t run = kSize / its_.runs_;
      return Landing::into(RunCursor{MemoryRuns<std::byte>{all, its_.runs_, run, run, false}}, kSize);
    }

   private:
    VerbsReadAhead& its_;
    std::size_t index_ = 0;
  };
};

TEST_F(VerbsReadAhead, SeveralAttachmentsAreReadAtATimeAndReceivedInOrder) {
  constexpr std::size_t kCount = 5;
  send(kCount);
  ASSERT_NO_FATAL_FAILURE(begin_first());
  EXPECT_EQ(read_ahead(), kCount);
  EXPECT_EQ(read_ahead(), kCount) << "none is read twice";
  for (std::size_t i = 0; i < kCount; ++i) {
    if (i > 0) {
      ASSERT_NO_FATAL_FAILURE(receive_head(i));
    }
    EXPECT_EQ(land(i).kind, Moved::Kind::kBegun);
    step(1);
    world.run_until_idle();
    expect_landed(i);
  }
  world.rdma.release(pair());
  world.run_until_idle();
  send();
  EXPECT_EQ(sent_, kCount * (kHead + kSize)) << "all of it is the sender's again";
  EXPECT_EQ(world.rdma.counters().read_bytes, kCount * kSize);
}

TEST_F(VerbsReadAhead, AttachmentsThatWereReadEarlyAreReceivedWithoutAWait) {
  send(3);
  ASSERT_NO_FATAL_FAILURE(begin_first());
  EXPECT_EQ(read_ahead(), 3u);
  step(3);
  world.run_until_idle();
  for (std::size_t i = 0; i < 3; ++i) {
    if (i > 0) {
      ASSERT_NO_FATAL_FAILURE(receive_head(i));
    }
    expect_landed(i);
  }
}

TEST_F(VerbsReadAhead, ListsAreFilledAheadAsFarAsOneReadFillsThem) {
  for (const std::size_t runs : {std::size_t{16}, std::size_t{32}}) {
    SCOPED_TRACE(runs);
    attachments_.clear();
    sent_ = 0;
    runs_ = runs;
    send(2);
    ASSERT_NO_FATAL_FAILURE(begin_first());
    EXPECT_EQ(read_ahead(), runs == 16 ? 2u : 1u);
    world.rdma.release(pair());
    world.run_until_idle();
    expect_landed(0);
    ASSERT_NO_FATAL_FAILURE(receive_head(1));
    if (runs == 32) {
      EXPECT_EQ(land(1).kind, Moved::Kind::kBegun);
    }
    world.run_until_idle();
    expect_landed(1);
    world.run_until_idle();
    send();
  }
}

TEST_F(VerbsReadAhead, NothingIsReadAheadWhosePlaceIsNotKnown) {
  send(2);
  ASSERT_NO_FATAL_FAILURE(begin_first());
  knows_places_ = false;
  EXPECT_EQ(read_ahead(), 1u);
  knows_places_ = true;
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{kSize - 8}, std::uint64_t{kSize + 8}}) {
    announced_ = size;
    EXPECT_EQ(read_ahead(), 1u) << "it is not what is offered";
  }
  announced_ = kSize;
  Carrier& carrier = *there.carrier;
  struct Nobody final : LandingsAhead {
    std::uint64_t next(Bytes) override { return ADD_FAILURE() << "nothing may be shown", 0; }
    Landing place() override { return Landing::skip(); }
  } nobody;
  carrier.read_ahead(kSize - 1, nobody);
  carrier.read_ahead(2 * kSize, nobody);
  EXPECT_EQ(read_ahead(), 2u);
}

// It is declined when its turn comes, and copied.
TEST_F(VerbsReadAhead, UnknownMemoryIsNotReadAheadNorAnythingBehindIt) {
  add();
  add(false);
  add();
  send();
  ASSERT_NO_FATAL_FAILURE(begin_first());
  EXPECT_EQ(read_ahead(), 1u);
  world.rdma.release(pair());
  world.run_until_idle();
  expect_landed(0);
  ASSERT_NO_FATAL_FAILURE(receive_head(1));
  EXPECT_EQ(land(1).kind, Moved::Kind::kBlocked);
  EXPECT_TRUE(here.why.ok() && there.why.ok());
}

TEST_F(VerbsReadAhead, TheLandingComesBackWithoutWhatIsReadAhead) {
  send(2);
  ASSERT_NO_FATAL_FAILURE(begin_first());
  EXPECT_EQ(read_ahead(), 2u);
  step(1);
  world.run_until_idle();
  EXPECT_TRUE(there.carrier->gives_back_at_once(Carrier::Lent::kLanding));
  EXPECT_FALSE(there.carrier->gives_back_at_once(Carrier::Lent::kAhead));
  EXPECT_EQ(there.carrier->reclaim(Carrier::Lent::kLanding).bytes, kSize);
  use_again(0);
  ASSERT_NO_FATAL_FAILURE(receive_head(1));
  EXPECT_FALSE(there.carrier->gives_back_at_once(Carrier::Lent::kLanding)) << "it is the landing now";
  world.rdma.release(pair());
  world.run_until_idle();
  expect_landed(1);
  expect_untouched(0);
}

// A call goes whose attachment is read, while the one before is still being received.
TEST_F(VerbsReadAhead, ASecondThatNobodyWantsAnyMoreIsTakenBackAndPassedOver) {
  for (const int reads : {1, 2}) {
    SCOPED_TRACE(reads);
    send(3);
    ASSERT_NO_FATAL_FAILURE(begin_first());
    EXPECT_EQ(read_ahead(), 3u);
    step(3);
    if (reads == 2) world.run_until_idle();
    EXPECT_EQ(there.carrier->reclaim(Carrier::Lent::kAhead).kind, Moved::Kind::kBlocked);
    EXPECT_TRUE(there.carrier->gives_back_at_once(Carrier::Lent::kAhead));
    use_again(1);
    expect_landed(0);
    ASSERT_NO_FATAL_FAILURE(receive_head(1));
    EXPECT_EQ(there.carrier->skip(kSize), kSize);
    ASSERT_NO_FATAL_FAILURE(receive_head(2));
    expect_landed(2);
    expect_untouched(1);
    world.rdma.release(pair());
    world.run_until_idle();
    send();
    EXPECT_EQ(sent_, 3 * (kHead + kSize));
    attachments_.clear();
    sent_ = 0;
  }
}

// Nobody waits for it, so it is passed over when the device is done.
TEST_F(VerbsReadAhead, ASecondThatIsPassedOverWhileItIsReadWaitsForTheDevice) {
  send(2);
  ASSERT_NO_FATAL_FAILURE(begin_first());
  EXPECT_EQ(read_ahead(), 2u);
  step(1);
  world.run_until_idle();
  expect_landed(0);
  ASSERT_NO_FATAL_FAILURE(receive_head(1));
  EXPECT_EQ(there.carrier->skip(kSize), 0u);
  std::array<std::byte, kHead> room;
  const iovec place{room.data(), room.size()};
  EXPECT_EQ(there.carrier->receive({&place, 1}, {}).kind, Moved::Kind::kBegun);
  const int told = there.readable;
  world.rdma.release(pair());
  world.run_until_idle();
  EXPECT_GT(there.readable, told);
  EXPECT_EQ(there.carrier->skip(kSize), kSize);
}

TEST_F(VerbsReadAhead, ALostConnectionTouchesNoneOfTheLandings) {
  for (const bool by_device : {false, true}) {
    SCOPED_TRACE(by_device);
    send(2);
    ASSERT_NO_FATAL_FAILURE(begin_first());
    EXPECT_EQ(read_ahead(), 2u);
    if (by_device) {
      world.rdma.force_error(pair());
      world.run_until_idle();
      EXPECT_FALSE(there.why.ok());
    }
    there.carrier->shut();
    use_again(0);
    use_again(1);
    world.rdma.release();
    world.run_until_idle();
    expect_untouched(0);
    expect_untouched(1);
    if (by_device) return;
    here.carrier->shut();
    world.run_until_idle();
    attachments_.clear();
    sent_ = 0;
    here.end.reset();
    there.end.reset();
    ASSERT_NO_FATAL_FAILURE(join());
  }
}

TEST_F(VerbsReadAhead, MemoryThatADeviceDoesNotGiveBackIsTakenWithItsQueuePair) {
  send(2);
  ASSERT_NO_FATAL_FAILURE(begin_first());
  EXPECT_EQ(read_ahead(), 2u);
  EXPECT_EQ(there.carrier->reclaim(Carrier::Lent::kAhead).kind, Moved::Kind::kFailed);
  use_again(0);
  use_again(1);
  world.rdma.release();
  world.run_until_idle();
  expect_untouched(0);
  expect_untouched(1);
}

TEST_F(VerbsReadAhead, ADeviceThatRefusesAReadAheadEndsTheCarrierAfterWhatItTookBefore) {
  send(3);
  ASSERT_NO_FATAL_FAILURE(begin_first());
  world.rdma.refuse_request(2);
  EXPECT_EQ(read_ahead(), 2u);
  EXPECT_EQ(read_ahead(), 2u) << "nothing more is begun";
  there.carrier->shut();
  for (const std::size_t index : {0u, 1u, 2u}) use_again(index);
  world.rdma.release();
  world.run_until_idle();
  for (const std::size_t index : {0u, 1u, 2u}) expect_untouched(index);
}

// The sender has all of its memory back as soon as the device has read it, and none is read from then on.
TEST_F(VerbsReadAhead, WhatWasWithdrawnWhileItWasReadAheadArrivesAndNothingIsAddedToIt) {
  send(2);
  ASSERT_NO_FATAL_FAILURE(begin_first());
  EXPECT_EQ(read_ahead(), 2u);
  EXPECT_FALSE(here.carrier->gives_back_at_once(Carrier::Lent::kSending));
  world.run_until_idle();
  world.rdma.release(pair());
  world.run_until_idle();
  EXPECT_TRUE(here.carrier->gives_back_at_once(Carrier::Lent::kSending));
  sent_ += here.carrier->reclaim(Carrier::Lent::kSending).bytes;
  EXPECT_EQ(sent_, 2 * (kHead + kSize));
  for (Attachment& attachment : attachments_) std::ranges::fill(attachment.bytes, std::byte{0xDD});
  send(1);
  struct Nobody final : LandingsAhead {
    std::uint64_t next(Bytes) override { return ADD_FAILURE() << "offers are withdrawn", 0; }
    Landing place() override { return Landing::skip(); }
  } nobody;
  there.carrier->read_ahead(kSize, nobody);
  for (std::size_t i = 0; i < 2; ++i) {
    if (i > 0) {
      ASSERT_NO_FATAL_FAILURE(receive_head(i));
    }
    expect_landed(i);
  }
}

// A hostile peer offers memory that it does not have: what came before is received, and then its end.
TEST_F(VerbsReadAhead, AReadAheadThatFailsTakesNothingFromTheAttachmentBeforeIt) {
  send(2);
  ASSERT_NO_FATAL_FAILURE(begin_first());
  EXPECT_EQ(read_ahead(), 2u);
  world.rdma.complete_send_with(pair(), IBV_WC_REM_ACCESS_ERR, 2);
  step(2);
  EXPECT_TRUE(there.why.ok());
  world.rdma.release();
  world.run_until_idle();
  EXPECT_FALSE(there.why.ok());
  expect_landed(0);
}

}  // namespace
}  // namespace weft
