// SPDX-License-Identifier: Apache-2.0
// Attachments that devices move themselves: what is offered, fetched, declined and taken back, on simulated
// devices, where the test says what comes when.
// Capabilities: CR-18.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/fewer_steps.hpp"
#include "support/pattern.hpp"
#include "support/tight_verbs.hpp"
#include "unit/transport/verbs_pair.hpp"
#include "unit/transport/verbs_stream.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::pattern;
using verbs_carrier_testing::all_of;
using verbs_carrier_testing::End;
using verbs_carrier_testing::Stream;
using verbs_carrier_testing::World;

constexpr std::size_t kKilo = 1024;
constexpr std::size_t kMega = 1024 * 1024;

class VerbsRendezvous : public ::testing::Test {
 protected:
  void SetUp() override { world.join(here, there); }

  void run(Stream& stream) {
    for (int quiet = 0; quiet < 5;) {
      stream.send();
      world.run_until_idle();
      quiet = stream.receive() ? 0 : quiet + 1;
    }
    EXPECT_TRUE(here.why.ok()) << here.why.to_string();
    EXPECT_TRUE(there.why.ok()) << there.why.to_string();
  }
  /// Makes credit for all that is sent at once later, by what passes.
  void make_credit() {
    for (int i = 0; i < 32; ++i) {
      ASSERT_TRUE(here.send("credit") && there.send("credit"));
      world.run_until_idle();
      ASSERT_EQ(here.receive(), "credit");
      ASSERT_EQ(there.receive(), "credit");
    }
    world.run_until_idle();
  }
  std::uint64_t requests() const { return world.rdma.counters().sends_posted; }
  /// Work requests whose bytes the device fetched or brought: messages with much in them, and reads.
  std::uint64_t large_requests() const {
    return world.rdma.counters().sends_posted - world.rdma.counters().sends_inline;
  }

  World world;
  End here;
  End there;
};

using enum Stream::Landing;
constexpr std::size_t kRunSent = Stream::kRunSent;

TEST_F(VerbsRendezvous, WhatIsRegisteredOnBothSidesIsNotCopied) {
  Stream stream{world, here, there};
  stream.attach(pattern(3 * kMega + 5), true, kRegistered);
  const std::uint64_t before = large_requests();
  run(stream);
  stream.check_arrived();
  EXPECT_EQ(large_requests() - before, 4u) << "a read for each megabyte that was begun";
}

TEST_F(VerbsRendezvous, ALargeOneIsOfferedInPiecesTwoAtATime) {
  Stream stream{world, here, there};
  stream.say(pattern(100));
  stream.attach(pattern(21 * kMega), true, kRegistered);
  stream.say(pattern(8));
  run(stream);
  stream.check_arrived();
}

TEST_F(VerbsRendezvous, WhatAMessageCouldStillHoldOfItIsNotCopied) {
  Stream stream{world, here, there};
  stream.say(pattern(100));
  stream.attach(pattern(kMega), true, kRegistered);
  stream.say(pattern(50));
  const std::uint64_t before = large_requests();
  run(stream);
  stream.check_arrived();
  EXPECT_EQ(large_requests() - before, 1u);
}

TEST_F(VerbsRendezvous, WhatIsBehindAnAttachmentGoesOnBeforeItIsRead) {
  make_credit();
  Stream stream{world, here, there};
  for (unsigned i = 0; i < 4; ++i) {
    stream.say(pattern(24, i));
    stream.attach(pattern(64 * kKilo + i, i), true, kRegistered);
  }
  const std::uint64_t before = requests();
  stream.send();
  world.run_until_idle();
  EXPECT_EQ(world.rdma.counters().reads, 0u);
  EXPECT_EQ(requests() - before, 4u) << "heads, each with the offer behind it, and nobody has received";
  const std::uint64_t large = large_requests();
  run(stream);
  stream.check_arrived();
  EXPECT_EQ(large_requests() - large, 4u);
}

// A head that is too long to go with the offer behind it goes before it.
TEST_F(VerbsRendezvous, ManyBytesAndAnOfferAreTwoMessages) {
  Stream stream{world, here, there};
  stream.say(pattern(16 * kKilo - 100));
  stream.attach(pattern(64 * kKilo), true, kRegistered);
  const std::uint64_t before = requests();
  stream.send();
  EXPECT_EQ(requests() - before, 2u);
  run(stream);
  stream.check_arrived();
}

// What is declined is dropped with all behind it; the head before it is not, and comes once.
TEST_F(VerbsRendezvous, AHeadWhoseOfferIsDeclinedArrivesOnce) {
  make_credit();
  Stream stream{world, here, there};
  for (unsigned i = 0; i < 3; ++i) {
    stream.say(pattern(24, i));
    stream.attach(pattern(64 * kKilo, i), true, i == 1 ? kPlain : kRegistered);
  }
  run(stream);
  stream.check_arrived();
}

class VerbsFetchedTold : public VerbsRendezvous {
 protected:
  void SetUp() override {
    VerbsRendezvous::SetUp();
    make_credit();
  }
  /// Reads an attachment, of which the sender was told nothing yet.
  void read(std::size_t bytes) {
    stream.attach(pattern(bytes), true, kRegistered);
    stream.send();
    world.run_until_idle();
    ASSERT_FALSE(stream.receive()) << "the read begins";
    world.run_until_idle();
    before = requests();
    ASSERT_TRUE(stream.receive());
  }
  std::uint64_t messages() const { return requests() - before; }

  Stream stream{world, here, there};
  std::uint64_t before = 0;
};

TEST_F(VerbsFetchedTold, WithTheBytesThatLeaveInTheSameTurn) {
  read(64 * kKilo);
  EXPECT_EQ(messages(), 0u);
  ASSERT_TRUE(there.send("the next call"));
  world.run_until_idle();
  EXPECT_EQ(messages(), 1u);
  EXPECT_EQ(here.receive(), "the next call");
  stream.send();
  stream.check_arrived();
}

TEST_F(VerbsFetchedTold, WithAnOfferToo) {
  read(64 * kKilo);
  Stream back{world, there, here};
  back.attach(pattern(64 * kKilo), true, kRegistered);
  back.send();
  world.run_until_idle();
  EXPECT_EQ(messages(), 1u);
  stream.send();
  stream.check_arrived();
  run(back);
  back.check_arrived();
}

TEST_F(VerbsFetchedTold, ByItselfWhereNothingFollows) {
  read(64 * kKilo);
  world.run_until_idle();
  EXPECT_EQ(messages(), 1u);
  stream.send();
  stream.check_arrived();
}

TEST_F(VerbsFetchedTold, AtOnceWhereItIsMuch) {
  read(kMega);
  EXPECT_EQ(messages(), 1u) << "the next megabyte may wait for it";
  stream.send();
  world.run_until_idle();
  stream.send();
  stream.check_arrived();
}

TEST_F(VerbsFetchedTold, AtOnceByWhoeverWaitsForMemory) {
  read(64 * kKilo);
  there.carrier->reclaim(Carrier::Lent::kAhead);
  EXPECT_EQ(messages(), 1u);
  world.run_until_idle();
  stream.send();
  stream.check_arrived();
}

// Blocks of 3,001 bytes, 16 of which one read of these devices fills: 350 make 22 reads, and nothing is
// copied.
TEST_F(VerbsRendezvous, ALandingOfManyRunsIsFilledByListsOfTheWorkRequests) {
  for (const auto landing : {kRuns, kRunsOfTwo}) {
    Stream stream{world, here, there};
    stream.say(pattern(40));
    stream.attach(pattern(kMega), true, landing);
    stream.say(pattern(40));
    const std::uint64_t reads = world.rdma.counters().reads;
    const std::uint64_t read_bytes = world.rdma.counters().read_bytes;
    run(stream);
    stream.check_arrived();
    EXPECT_EQ(world.rdma.counters().read_bytes - read_bytes, kMega);
    EXPECT_LE(world.rdma.counters().reads - reads, 26u) << "some are cut where the list is";
  }
}

// Runs of 2,600 bytes, 32 of which are one offer. Blocks of the landing end at other places, so that a read
// fills two.
TEST_F(VerbsRendezvous, AListIsOfferedManyRunsAtATimeAndNotCopied) {
  for (const auto landing : {kRegistered, kRuns, kRunsOfTwo}) {
    Stream stream{world, here, there};
    stream.say(pattern(40));
    stream.attach_blocks(pattern(320 * kRunSent), true, landing);
    stream.say(pattern(40));
    const std::uint64_t reads = world.rdma.counters().reads;
    const std::uint64_t read_bytes = world.rdma.counters().read_bytes;
    run(stream);
    stream.check_arrived();
    EXPECT_EQ(world.rdma.counters().read_bytes - read_bytes, 320 * kRunSent);
    EXPECT_GE(world.rdma.counters().reads - reads, 320u);
    EXPECT_LE(world.rdma.counters().reads - reads, 325u) << "some are cut where the landing's list is";
  }
}

TEST_F(VerbsRendezvous, AListThatNobodyKnowsIsCopied) {
  for (const bool registered : {true, false}) {
    for (const auto landing : {kNone, kPlain, kFirstRunsKnown}) {
      Stream stream{world, here, there};
      stream.attach_blocks(pattern(300 * kKilo + 1), registered, landing);
      stream.say(pattern(10));
      run(stream);
      stream.check_arrived();
    }
  }
}

// The owner of a list takes it back in the middle: what was read has left, and the rest is his.
TEST_F(VerbsRendezvous, AListComesBackInTheMiddle) {
  constexpr std::size_t kBlock = 4 * kKilo;
  constexpr std::size_t kBlocks = 64;
  auto bytes = pattern(2 * kBlocks * kBlock);
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  std::vector<iovec> pieces;
  for (std::size_t i = 0; i < kBlocks; ++i) pieces.push_back({&bytes[2 * i * kBlock], kBlock});
  EXPECT_EQ(here.carrier->send(pieces, kBlock).bytes, kBlocks * kBlock) << "two offers";
  world.run_until_idle();
  std::vector<std::byte> landed(kBlocks * kBlock);
  const MemoryLease there_too = world.register_memory(false, all_of(landed));
  const iovec place{landed.data(), landed.size()};
  world.rdma.hold();
  EXPECT_EQ(there.carrier->receive({&place, 1}, {&place, 1}).kind, Moved::Kind::kBegun);
  EXPECT_FALSE(here.carrier->gives_back_at_once(Carrier::Lent::kSending));
  world.rdma.release();
  world.run_until_idle();
  EXPECT_TRUE(here.carrier->gives_back_at_once(Carrier::Lent::kSending));
  const Moved moved = here.carrier->reclaim(Carrier::Lent::kSending);
  EXPECT_EQ(moved.kind, Moved::Kind::kSome);
  EXPECT_GE(moved.bytes, kBlock);
  EXPECT_LE(moved.bytes, 12 * kBlock) << "as many reads as are begun at once";
  std::ranges::fill(bytes, std::byte{0xDD});
  world.run_until_idle();
  EXPECT_EQ(there.carrier->receive({&place, 1}, {&place, 1}).bytes, moved.bytes);
  const auto sent = pattern(2 * kBlocks * kBlock);
  for (std::size_t i = 0; i < moved.bytes / kBlock; ++i) {
    EXPECT_TRUE(testing::same_bytes(std::span{landed}.subspan(i * kBlock, kBlock),
                                    std::span{sent}.subspan(2 * i * kBlock, kBlock)))
        << i;
  }
  EXPECT_EQ(world.rdma.counters().read_bytes, moved.bytes);
  EXPECT_TRUE(here.why.ok() && there.why.ok());
}

TEST_F(VerbsRendezvous, TheRestOfALandingThatEndsInUnknownMemoryIsCopied) {
  Stream stream{world, here, there};
  stream.attach(pattern(3 * kMega), true, kFirstRunsKnown);
  stream.say(pattern(40));
  stream.attach(pattern(kMega), false, kRuns);
  run(stream);
  stream.check_arrived();
  const std::uint64_t read = world.rdma.counters().read_bytes;
  EXPECT_GT(read, kMega);
  EXPECT_LT(read, 2 * kMega);
}

// Somebody who goes in the middle of a list has his memory at once: what was read of it counts, and what was
// not is dropped without a copy.
TEST_F(VerbsRendezvous, ALandingOfRunsComesBackInTheMiddle) {
  auto bytes = pattern(kMega);
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  const iovec piece{bytes.data(), bytes.size()};
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  world.run_until_idle();
  std::vector<std::byte> landed(kMega);
  const MemoryLease there_too = world.register_memory(false, all_of(landed));
  std::vector<iovec> places;
  for (std::size_t at = 0; places.size() < 64; at += 8 * kKilo) places.push_back({&landed[at], 4 * kKilo});
  EXPECT_EQ(there.carrier->receive(places, places).kind, Moved::Kind::kBegun);
  const Moved moved = there.carrier->reclaim(Carrier::Lent::kLanding);
  EXPECT_EQ(moved.kind, Moved::Kind::kSome);
  EXPECT_EQ(moved.bytes, 256 * kKilo);
  std::ranges::fill(landed, std::byte{0xEE});
  EXPECT_EQ(there.carrier->skip(bytes.size() - moved.bytes), bytes.size() - moved.bytes);
  world.run_until_idle();
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).bytes, bytes.size()) << "all is the sender's again";
  EXPECT_TRUE(testing::all_are(landed, std::byte{0xEE}));
  EXPECT_EQ(world.rdma.counters().read_bytes, 256 * kKilo);
}

// The device refuses a read in the middle of several: what it took before is under way, and comes back by the
// end of the queue pair only.
TEST_F(VerbsRendezvous, ALandingWhoseReadsADeviceRefusesIsFreeWhenThePairIsGone) {
  auto bytes = pattern(kMega);
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  const iovec piece{bytes.data(), bytes.size()};
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  world.run_until_idle();
  std::vector<std::byte> landed(kMega);
  const MemoryLease there_too = world.register_memory(false, all_of(landed));
  std::vector<iovec> places;
  for (std::size_t at = 0; places.size() < 64; at += 8 * kKilo) places.push_back({&landed[at], 4 * kKilo});
  world.rdma.hold();
  world.rdma.refuse_request(3);
  EXPECT_EQ(there.carrier->receive(places, places).kind, Moved::Kind::kBegun);
  EXPECT_EQ(there.carrier->reclaim(Carrier::Lent::kLanding).kind, Moved::Kind::kFailed);
  std::ranges::fill(landed, std::byte{0xEE});
  world.rdma.release();
  world.run_until_idle();
  EXPECT_TRUE(testing::all_are(landed, std::byte{0xEE}));
}

// The second is declined while the first is read, and the third crosses that.
TEST_F(VerbsRendezvous, WhatWasSentBehindADeclinedAttachmentComesAgainInOrder) {
  for (const bool hold : {true, false}) {
    Stream stream{world, here, there};
    for (const auto landing : {kRegistered, kPlain, kRegistered, kNone, kRegistered}) {
      stream.say(pattern(40));
      stream.attach(pattern(100 * kKilo), true, landing);
    }
    stream.say(pattern(3));
    for (int i = 0; i < 8; ++i) {
      stream.send();
      world.run_until_idle();
    }
    if (hold) world.rdma.hold();
    for (int i = 0; i < 8; ++i) stream.receive();
    if (hold) world.rdma.release();
    run(stream);
    stream.check_arrived();
  }
}

TEST_F(VerbsRendezvous, WhatNobodyWantsIsNeitherFetchedNorCopied) {
  auto bytes = pattern(3 * kMega);
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  const std::uint64_t before = large_requests();
  std::size_t sent = 0;
  std::size_t skipped = 0;
  for (int round = 0; round < 10 && sent < bytes.size(); ++round) {
    const iovec rest{bytes.data() + sent, bytes.size() - sent};
    sent += here.carrier->send({&rest, 1}, rest.iov_len).bytes * (round % 2);
    world.run_until_idle();
    skipped += there.carrier->skip(bytes.size() - skipped);
    world.run_until_idle();
  }
  EXPECT_EQ(skipped, bytes.size());
  EXPECT_EQ(large_requests(), before);
  EXPECT_EQ(world.rdma.counters().read_bytes, 0u);
  EXPECT_TRUE(here.send("and on"));
  world.run_until_idle();
  EXPECT_EQ(there.receive(), "and on");
  EXPECT_TRUE(here.why.ok() && there.why.ok());
}

TEST_F(VerbsRendezvous, TakingBackOneOfSeveralLeavesTheOthersWhole) {
  auto bytes = pattern(4 * 100 * kKilo);
  const std::vector<std::byte> expected = bytes;
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  std::vector<std::byte> landed(bytes.size());
  const MemoryLease there_too = world.register_memory(false, all_of(landed));
  constexpr std::size_t kEach = 100 * kKilo;
  std::size_t sent = 0;
  std::size_t arrived = 0;
  const auto send = [&] {
    std::vector<iovec> pieces;
    for (std::size_t at = sent; at < bytes.size();) {
      const std::size_t part = kEach - at % kEach;
      pieces.push_back({bytes.data() + at, part});
      at += part;
    }
    return pieces.empty() ? Moved::blocked() : here.carrier->send(pieces, pieces.front().iov_len);
  };
  const auto receive = [&] {
    const MutableBytes to = all_of(landed).subspan(arrived, kEach - arrived % kEach);
    const iovec into{to.data(), to.size()};
    const Moved moved = there.carrier->receive({&into, 1}, {&into, 1});
    if (moved.kind == Moved::Kind::kSome) arrived += moved.bytes;
  };
  std::size_t begun = 0;
  for (int i = 0; i < 8; ++i) {
    begun = send().bytes;
    world.run_until_idle();
  }
  EXPECT_EQ(begun, bytes.size()) << "all of it";
  receive();
  world.run_until_idle();
  EXPECT_FALSE(here.carrier->gives_back_at_once(Carrier::Lent::kSending));
  world.run_until_idle();
  EXPECT_TRUE(here.carrier->gives_back_at_once(Carrier::Lent::kSending));
  sent += here.carrier->reclaim(Carrier::Lent::kSending).bytes;
  EXPECT_EQ(sent, kEach) << "the first was read, and the others were not begun";
  // The owner of the second has his memory back, and its bytes are a copy's.
  std::vector<std::byte> copy(bytes.begin() + kEach, bytes.begin() + 2 * kEach);
  std::fill_n(bytes.begin() + kEach, kEach, std::byte{0xDD});
  for (int round = 0; round < 100 && sent < 2 * kEach; ++round) {
    const iovec rest{copy.data() + sent - kEach, 2 * kEach - sent};
    const Moved moved = here.carrier->send({&rest, 1}, 0);
    if (moved.kind == Moved::Kind::kSome) sent += moved.bytes;
    world.run_until_idle();
    receive();
  }
  for (int round = 0; round < 100 && arrived < bytes.size(); ++round) {
    const Moved moved = send();
    if (moved.kind == Moved::Kind::kSome) sent += moved.bytes;
    world.run_until_idle();
    receive();
  }
  EXPECT_TRUE(landed == expected);
  EXPECT_TRUE(here.why.ok() && there.why.ok()) << there.why.to_string();
}

TEST_F(VerbsRendezvous, WhatIsNotRegisteredOnOneSideIsCopied) {
  for (const bool registered : {true, false}) {
    for (const auto landing : {kNone, kPlain, kRegistered}) {
      if (registered && landing == kRegistered) continue;
      Stream stream{world, here, there};
      stream.attach(pattern(300 * kKilo + 1), registered, landing);
      stream.say(pattern(10));
      run(stream);
      stream.check_arrived();
    }
  }
}

TEST_F(VerbsRendezvous, WhoeverDeclinesIsAskedLessAndLessOften) {
  std::vector<int> offered;
  for (int i = 0; i < 20; ++i) {
    Stream stream{world, here, there};
    stream.attach(pattern(64 * kKilo), true, kPlain);
    stream.send();
    if (stream.sent_nothing()) offered.push_back(i);
    run(stream);
    stream.check_arrived();
  }
  EXPECT_EQ(offered, (std::vector<int>{0, 2, 6, 14}));
}

// The second offer is on its way when the first is declined, and the landing becomes known in between: it
// must not be read to where the first one belongs.
TEST_F(VerbsRendezvous, WhatCrossesADeclineIsDeclinedToo) {
  auto bytes = pattern(2 * kMega);
  const std::vector<std::byte> expected = bytes;
  std::vector<std::byte> landed(2 * kMega);
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  const iovec piece{bytes.data(), bytes.size()};
  const iovec place{landed.data(), landed.size()};
  world.rdma.hold();
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  ASSERT_TRUE(world.rdma.step());
  world.run_until_idle();
  EXPECT_EQ(there.carrier->receive({&place, 1}, {&place, 1}).kind, Moved::Kind::kBlocked);
  const MemoryLease known_now = world.register_memory(false, all_of(landed));
  ASSERT_TRUE(world.rdma.step());
  world.run_until_idle();
  EXPECT_EQ(there.carrier->receive({&place, 1}, {&place, 1}).kind, Moved::Kind::kBlocked);
  world.rdma.release();
  std::size_t sent = 0;
  std::size_t arrived = 0;
  while (arrived < expected.size() && here.why.ok() && there.why.ok()) {
    world.run_until_idle();
    const iovec rest{bytes.data() + sent, bytes.size() - sent};
    if (sent < bytes.size()) sent += here.carrier->send({&rest, 1}, rest.iov_len).bytes;
    world.run_until_idle();
    const MutableBytes to = all_of(landed).subspan(arrived);
    const iovec into{to.data(), to.size()};
    arrived += there.carrier->receive({&into, 1}, {&into, 1}).bytes;
  }
  EXPECT_TRUE(landed == expected);
}

TEST_F(VerbsRendezvous, WhatWasDeclinedIsRegisteredNoLongerThanItsLease) {
  auto bytes = pattern(kMega);
  MemoryLease lease = world.register_memory(true, all_of(bytes));
  const std::size_t regions = world.rdma.live().regions;
  const iovec piece{bytes.data(), bytes.size()};
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  world.run_until_idle();
  EXPECT_TRUE(there.receive().empty());
  world.run_until_idle();
  EXPECT_EQ(here.carrier->reclaim(Carrier::Lent::kSending).kind, Moved::Kind::kBlocked);
  lease.end();
  EXPECT_EQ(world.rdma.live().regions, regions - 1);
}

TEST_F(VerbsRendezvous, MemoryThatThePeerDoesNotLetGoOfCostsTheCarrierAndIsFreeThen) {
  auto bytes = pattern(kMega);
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  const iovec piece{bytes.data(), bytes.size()};
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  world.run_until_idle();
  auto landed = pattern(kMega, 7);
  const MemoryLease there_too = world.register_memory(false, all_of(landed));
  world.rdma.hold();
  const iovec place{landed.data(), landed.size()};
  EXPECT_EQ(there.carrier->receive({&place, 1}, {&place, 1}).kind, Moved::Kind::kBegun);
  EXPECT_EQ(here.carrier->reclaim(Carrier::Lent::kSending).kind, Moved::Kind::kFailed);
  // Would show where it was read from now on.
  std::ranges::fill(bytes, std::byte{0xDD});
  world.rdma.release();
  world.run_until_idle();
  EXPECT_TRUE(testing::same_bytes(landed, pattern(kMega, 7)));
  EXPECT_FALSE(there.why.ok());
}

// Before, each of them cost the loop 50 ms, one after the other: 1.6 s.
TEST_F(VerbsRendezvous, PeersThatDoNotLetGoOfMemoryCostTheLoopOneWaitForAll) {
  constexpr std::size_t kConnections = 32;
  std::deque<End> ends(2 * kConnections);
  auto bytes = pattern(kMega);
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  const iovec piece{bytes.data(), bytes.size()};
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    world.join(ends[i], ends[i + 1]);
    EXPECT_EQ(ends[i].carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  }
  world.run_until_idle();
  Clock& clock = detail::steady_clock_source();
  const TimePoint begin = clock.now();
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    EXPECT_EQ(ends[i].carrier->reclaim(Carrier::Lent::kSending).kind, Moved::Kind::kFailed);
  }
  EXPECT_LT(clock.now() - begin, std::chrono::milliseconds{800});
  // Somebody who answers at once still finds time.
  EXPECT_EQ(there.carrier->send({&piece, 1}, 0).kind, Moved::Kind::kSome);
  EXPECT_EQ(here.carrier->reclaim(Carrier::Lent::kSending).kind, Moved::Kind::kBlocked);
  world.run_until_idle();
  EXPECT_FALSE(here.receive().empty());
}

TEST_F(VerbsRendezvous, MemoryThatIsAskedForComesBackWithoutAWait) {
  auto bytes = pattern(kMega);
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  const iovec piece{bytes.data(), bytes.size()};
  EXPECT_TRUE(here.carrier->gives_back_at_once(Carrier::Lent::kSending));
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  world.run_until_idle();
  EXPECT_FALSE(here.carrier->gives_back_at_once(Carrier::Lent::kSending));
  world.run_until_idle();
  EXPECT_TRUE(here.carrier->gives_back_at_once(Carrier::Lent::kSending)) << "the peer was not asked";
  // Whoever does not take it back after all goes on, by copies.
  const Moved moved = here.carrier->send({&piece, 1}, bytes.size());
  EXPECT_EQ(moved.kind, Moved::Kind::kSome);
  EXPECT_LT(moved.bytes, bytes.size());
  EXPECT_TRUE(here.why.ok());
}

TEST_F(VerbsRendezvous, APeerThatWasAskedForLongIsNotWaitedForAgain) {
  auto bytes = pattern(kMega);
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  const iovec piece{bytes.data(), bytes.size()};
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  world.run_until_idle();
  world.rdma.hold();
  Clock& clock = detail::steady_clock_source();
  EXPECT_FALSE(here.carrier->gives_back_at_once(Carrier::Lent::kSending));
  const TimePoint asked = clock.now();
  while (clock.now() - asked < std::chrono::milliseconds{60}) world.run_until_idle();
  // For one that was not asked before the device is asked for 50 ms, thousands of times. Here it is once, and
  // 64 times at the end of the pair.
  const std::uint64_t questions = world.rdma.counters().polls_empty;
  EXPECT_EQ(here.carrier->reclaim(Carrier::Lent::kSending).kind, Moved::Kind::kFailed);
  EXPECT_LT(world.rdma.counters().polls_empty - questions, 100u);
  world.rdma.release();
}

TEST_F(VerbsRendezvous, ALandingThatIsReadIsNotGivenBackAtOnceButThen) {
  auto bytes = pattern(kMega);
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  const iovec piece{bytes.data(), bytes.size()};
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  world.run_until_idle();
  std::vector<std::byte> landed(kMega);
  const MemoryLease there_too = world.register_memory(false, all_of(landed));
  const iovec place{landed.data(), landed.size()};
  world.rdma.hold();
  EXPECT_EQ(there.carrier->receive({&place, 1}, {&place, 1}).kind, Moved::Kind::kBegun);
  EXPECT_FALSE(there.carrier->gives_back_at_once(Carrier::Lent::kLanding));
  EXPECT_TRUE(there.carrier->gives_back_at_once(Carrier::Lent::kSending)) << "nothing is sent";
  world.rdma.release();
  world.run_until_idle();
  EXPECT_TRUE(there.carrier->gives_back_at_once(Carrier::Lent::kLanding));
  EXPECT_EQ(there.carrier->reclaim(Carrier::Lent::kLanding).bytes, kMega);
}

TEST_F(VerbsRendezvous, ALandingThatIsReadComesBackAlsoBesidePeersThatDoNotAnswer) {
  auto bytes = pattern(kMega);
  const MemoryLease lease = world.register_memory(true, all_of(bytes));
  const iovec piece{bytes.data(), bytes.size()};
  End silent_here;
  End silent_there;
  world.join(silent_here, silent_there);
  EXPECT_EQ(silent_here.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  world.run_until_idle();
  EXPECT_EQ(silent_here.carrier->reclaim(Carrier::Lent::kSending).kind, Moved::Kind::kFailed);
  std::vector<std::byte> landed(kMega);
  const MemoryLease there_too = world.register_memory(false, all_of(landed));
  const iovec place{landed.data(), landed.size()};
  EXPECT_EQ(there.carrier->receive({&place, 1}, {&place, 1}).kind, Moved::Kind::kBegun);
  EXPECT_EQ(there.carrier->reclaim(Carrier::Lent::kLanding).bytes, kMega);
}

TEST_F(VerbsRendezvous, ALandingIsTheCallersAgainOnceItWasReclaimed) {
  for (const bool done : {true, false}) {
    SCOPED_TRACE(done);
    End one;
    End other;
    world.join(one, other);
    auto bytes = pattern(kMega);
    const MemoryLease lease = world.register_memory(true, all_of(bytes));
    const iovec piece{bytes.data(), bytes.size()};
    EXPECT_EQ(one.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
    world.run_until_idle();
    std::vector<std::byte> landed(kMega);
    const MemoryLease there_too = world.register_memory(false, all_of(landed));
    if (!done) world.rdma.hold();
    const iovec place{landed.data(), landed.size()};
    EXPECT_EQ(other.carrier->receive({&place, 1}, {&place, 1}).kind, Moved::Kind::kBegun);
    const Moved reclaimed = other.carrier->reclaim(Carrier::Lent::kLanding);
    EXPECT_EQ(reclaimed.kind, done ? Moved::Kind::kSome : Moved::Kind::kFailed);
    EXPECT_EQ(reclaimed.bytes, done ? kMega : 0);
    std::ranges::fill(landed, std::byte{0xEE});
    world.rdma.release();
    world.run_until_idle();
    EXPECT_TRUE(testing::all_are(landed, std::byte{0xEE}));
  }
}

TEST_F(VerbsRendezvous, ALeaseThatEndsEarlyDisturbsNoTransferAndUnregistersAfterIt) {
  auto bytes = pattern(kMega);
  MemoryLease lease = world.register_memory(true, all_of(bytes));
  const std::size_t regions = world.rdma.live().regions;
  const iovec piece{bytes.data(), bytes.size()};
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).kind, Moved::Kind::kBegun);
  lease.end();
  EXPECT_EQ(world.rdma.live().regions, regions);
  std::vector<std::byte> landed(kMega);
  MemoryLease there_too = world.register_memory(false, all_of(landed));
  world.run_until_idle();
  const iovec place{landed.data(), landed.size()};
  EXPECT_EQ(there.carrier->receive({&place, 1}, {&place, 1}).kind, Moved::Kind::kBegun);
  there_too.end();
  world.run_until_idle();
  EXPECT_EQ(there.carrier->receive({&place, 1}, {&place, 1}).bytes, kMega);
  world.run_until_idle();
  EXPECT_EQ(here.carrier->send({&piece, 1}, bytes.size()).bytes, kMega);
  EXPECT_TRUE(landed == bytes);
  EXPECT_EQ(world.rdma.live().regions, regions - 1);
}

class VerbsMixture : public ::testing::TestWithParam<const char*> {
 protected:
  static VerbsOptions options() {
    return std::string_view{GetParam()} == "tight" ? testing::tight_verbs() : VerbsOptions{};
  }
};

INSTANTIATE_TEST_SUITE_P(Options, VerbsMixture, ::testing::Values("plain", "tight"),
                         [](const auto& made) { return std::string{made.param}; });

// Somebody who is not read, because he whom he talks to has too much to say himself, can still take what is
// offered to him.
TEST_P(VerbsMixture, APeerThatReadsNothingGetsItsAnswers) {
  World world{options()};
  End paused;
  End full;
  world.join(paused, full);
  Stream unread{world, full, paused};
  for (int i = 0; i < 100; ++i) unread.say(pattern(900, static_cast<unsigned>(i)));
  Stream offered{world, paused, full};
  for (int i = 0; i < 20; ++i)
    offered.attach(pattern(100 * kKilo, static_cast<unsigned>(i)), true, kRegistered);
  for (int round = 0; round < 1000; ++round) {
    unread.send();
    offered.send();
    world.run_until_idle();
    while (offered.receive()) {
    }
  }
  offered.check_arrived();
}

// Every mixture of what is registered, in both directions at once, with the two sides as far apart as chance
// has it.
TEST_P(VerbsMixture, NothingIsLostOrMixedUp) {
  for (unsigned seed = 1; seed <= 6 - 4 * testing::kFewerSteps; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random{seed};
    World world{options()};
    End one;
    End other;
    world.join(one, other);
    std::array<Stream, 2> streams{Stream{world, one, other}, Stream{world, other, one}};
    for (int step = 0; step < 400; ++step) {
      Stream& stream = streams[random() % 2];
      switch (random() % 6) {
        case 0:
          stream.say(pattern(1 + random() % 3000, step));
          break;
        case 1: {
          const std::size_t size =
              random() % 8 == 0 ? random() % (5 * kMega) + 1 : random() % (200 * kKilo) + 1;
          constexpr std::array kLandings{kNone,       kPlain, kRegistered, kRegistered,
                                         kRegistered, kRuns,  kRunsOfTwo,  kFirstRunsKnown};
          const auto landing = kLandings[random() % kLandings.size()];
          const bool registered = random() % 4 != 0;
          if (random() % 3 == 0) {
            stream.attach_blocks(pattern(size, step), registered, landing);
          } else {
            stream.attach(pattern(size, step), registered, landing);
          }
          break;
        }
        case 2:
          stream.send();
          break;
        case 3:
        case 4:
          for (unsigned i = random() % 40; i > 0 && stream.receive(); --i) {
          }
          break;
        default:
          world.loop->run_once(Duration::zero());
      }
    }
    for (int quiet = 0; quiet < 5; ++quiet) {
      for (Stream& stream : streams) stream.send();
      world.run_until_idle();
      for (Stream& stream : streams) {
        while (stream.receive()) quiet = 0;
      }
    }
    EXPECT_TRUE(one.why.ok() && other.why.ok()) << one.why.to_string() << other.why.to_string();
    for (const Stream& stream : streams) stream.check_arrived();
    EXPECT_EQ(world.receivers_not_ready(), 0u);
    EXPECT_TRUE(world.rdma.faults().empty());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft
