// SPDX-License-Identifier: Apache-2.0
// The two halves of a rendezvous by RDMA, each by itself: the test is the queue pair and the peer.
// Capabilities: CR-18.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "support/simulated_rdma.hpp"
#include "transport/verbs/fetched_offers.hpp"
#include "transport/verbs/limits.hpp"
#include "transport/verbs/offered_bytes.hpp"

namespace weft::detail::verbs_carrier {
namespace {

constexpr std::size_t kKilobyte = 1024;
constexpr std::size_t kMegabyte = 1024 * kKilobyte;

/// Notes what it is asked to do, as far as it has room.
struct NotingQueue final : RendezvousQueue {
  struct NotedRead {
    verbs::RemoteMemory from;
    std::vector<ibv_sge> into;
  };

  bool send_offer(const BytesBefore& before, std::span<const verbs::RemoteMemory> runs) noexcept override {
    if (room == 0) return false;
    --room;
    bytes_before += before.bytes;
    offers.push_back(runs.front());
    lists.emplace_back(runs.begin(), runs.end());
    return true;
  }
  bool send_again() noexcept override {
    if (room == 0) return false;
    --room;
    ++agains;
    return true;
  }
  std::size_t places_for_reads() const noexcept override { return room; }
  std::size_t begin_reads(std::span<const verbs_carrier::ReadRequest> begun) noexcept override {
    for (const auto& read : begun) reads.push_back({read.from, {read.into.begin(), read.into.end()}});
    room -= begun.size();
    return begun.size();
  }

  std::size_t room = 100;
  int agains = 0;
  /// Bytes that went in the same messages as offers.
  std::size_t bytes_before = 0;
  /// The first run of each, and all of them.
  std::vector<verbs::RemoteMemory> offers;
  std::vector<std::vector<verbs::RemoteMemory>> lists;
  std::vector<NotedRead> reads;
};

class VerbsAttachments : public ::testing::Test {
 protected:
  VerbsAttachments() { protocol.credit().take_terms(50); }

  std::shared_ptr<const Registration> know(MutableBytes bytes, bool peers_may_read = true) {
    return registrations->add(bytes, {.remote_read = peers_may_read}).value();
  }
  /// The value of the answer of that kind that is to be sent; 0 when none is. It counts as sent.
  std::uint32_t answer(MessageKind kind) {
    if (!protocol.wants(kind)) return 0;
    const auto due = protocol.due();
    EXPECT_TRUE(due && due->kind == kind);
    protocol.stamp(*due);
    return due->value;
  }

  testing::SimulatedRdma rdma{{testing::roce_device("sim", 1)}};
  std::shared_ptr<verbs::ProtectionDomain> domain =
      verbs::ProtectionDomain::create(verbs::Device::open("sim", rdma).value()).value();
  std::shared_ptr<Registrations> registrations = std::make_shared<Registrations>(domain);
  Registrations::View view{*registrations};
  static constexpr MessageProtocol::Rules kRules{.kinds = (bit_of(kLastMessageKind) << 1) - 2,
                                                 .credit_max = 100,
                                                 .all_cost = true,
                                                 .credit_due = 5,
                                                 .over = "in a test"};
  MessageProtocol protocol{kRules};
  NotingQueue queue;
  std::vector<std::byte> memory = std::vector<std::byte>(4 * kMegabyte);
};

class VerbsOffered : public VerbsAttachments {
 protected:
  iovec piece(std::size_t from, std::size_t bytes) { return {memory.data() + from, bytes}; }
  /// Does as a carrier that is to send `bytes` from there on, all of one attachment: says how many are done,
  /// or offers what may be offered.
  std::size_t step(std::size_t from, std::size_t bytes) {
    if (const std::size_t done = offered.take_done(); done > 0) return done;
    while (offered.goes_on() && offered.begun() < bytes) {
      const iovec next = piece(from + offered.begun(), bytes - offered.begun());
      EXPECT_TRUE(takes(next, next.iov_len));
      if (!offer(next, next.iov_len)) break;
    }
    return 0;
  }

  /// Does as with a single piece.
  bool takes(const iovec& next, std::size_t leased) { return offered.takes({&next, 1}, leased) == 1; }
  bool offer(const iovec& next, std::size_t leased) { return offered.offer({&next, 1}, leased); }
  bool may_take(const iovec& next) { return offered.choice().may_take({&next, 1}); }

  OfferedBytes offered{view, queue, protocol, {.bytes_min = 64 * kKilobyte}};
};

TEST_F(VerbsOffered, OnlyLeasedMemoryThatPeersMayReadAndThatIsLargeIsTaken) {
  const auto open = know(MutableBytes{memory}.first(kMegabyte));
  const auto closed = know(MutableBytes{memory}.subspan(kMegabyte, kMegabyte), false);
  EXPECT_FALSE(takes(piece(0, 64 * kKilobyte), 64 * kKilobyte - 1)) << "too little of it is leased";
  EXPECT_FALSE(takes(piece(kMegabyte, kMegabyte), kMegabyte)) << "peers may not read it";
  offered.choice().copied(kMegabyte);
  EXPECT_FALSE(takes(piece(2 * kMegabyte, kMegabyte), kMegabyte)) << "nobody registered it";
  offered.choice().copied(kMegabyte);
  EXPECT_TRUE(may_take(piece(0, 64 * kKilobyte)));
  EXPECT_FALSE(may_take(piece(0, 64 * kKilobyte - 1)));
  EXPECT_TRUE(takes(piece(0, kMegabyte), kMegabyte));
}

/// Runs of 4 KiB with gaps as long between them, of the memory from `from` on.
std::vector<iovec> runs_in(std::span<std::byte> memory, std::size_t count) {
  std::vector<iovec> runs;
  for (std::size_t i = 0; i < count; ++i) runs.push_back({&memory[8 * i * kKilobyte], 4 * kKilobyte});
  return runs;
}

TEST_F(VerbsOffered, ShortRunsOfOneRegistrationAreOfferedTogether) {
  const auto known = know(memory);
  const auto runs = runs_in(memory, 40);
  EXPECT_EQ(offered.takes(runs, 4 * kKilobyte), kRunsOfferedMax);
  EXPECT_TRUE(offered.offer(std::span{runs}.first(kRunsOfferedMax), 4 * kKilobyte));
  ASSERT_EQ(queue.lists.size(), 1u);
  ASSERT_EQ(queue.lists[0].size(), kRunsOfferedMax);
  EXPECT_EQ(queue.lists[0][31].address, reinterpret_cast<std::uintptr_t>(runs[31].iov_base));
  EXPECT_EQ(queue.lists[0][31].bytes, 4 * kKilobyte);
  EXPECT_EQ(queue.lists[0][31].rkey, known->rkey());
  EXPECT_EQ(offered.begun(), 128 * kKilobyte);
  const auto rest = std::span{runs}.subspan(kRunsOfferedMax);
  EXPECT_EQ(offered.takes(rest, 4 * kKilobyte), 0u) << "too little for an offer";
  EXPECT_TRUE(offered.choice().may_go_on(rest)) << "if more of it comes";
  offered.fetched(100 * kKilobyte);
  EXPECT_EQ(offered.take_done(), 100 * kKilobyte) << "given back as it is fetched";
  offered.fetched(28 * kKilobyte);
  EXPECT_EQ(offered.take_done(), 28 * kKilobyte);
  EXPECT_TRUE(offered.idle());
}

TEST_F(VerbsOffered, AListEndsWhereItsRegistrationDoesAndBeforeWhatIsNoRun) {
  const auto first = know(MutableBytes{memory}.first(160 * kKilobyte));
  const auto second = know(MutableBytes{memory}.subspan(160 * kKilobyte, 64 * kKilobyte));
  auto runs = runs_in(memory, 28);
  EXPECT_EQ(offered.takes(runs, 4 * kKilobyte), 20u);
  EXPECT_EQ(offered.takes(std::span{runs}.subspan(20), 4 * kKilobyte), 0u) << "32 KiB";
  runs[18].iov_len = kRunBytesMin - 1;
  EXPECT_EQ(offered.takes(runs, 4 * kKilobyte), 18u);
  runs[18].iov_len = 64 * kKilobyte;
  EXPECT_EQ(offered.takes(runs, 4 * kKilobyte), 18u) << "that goes alone";
  runs[15].iov_len = kRunBytesMin - 1;
  EXPECT_EQ(offered.takes(runs, 4 * kKilobyte), 0u);
  EXPECT_EQ(offered.takes(runs, 0), 0u) << "nothing of it is leased";
}

TEST_F(VerbsOffered, ARunThatNobodyRegisteredIsCopiedAndTheListBehindItIsOffered) {
  const auto known = know(MutableBytes{memory}.subspan(8 * kKilobyte));
  const auto runs = runs_in(memory, 20);
  EXPECT_EQ(offered.takes(runs, 4 * kKilobyte), 0u);
  EXPECT_FALSE(offered.choice().may_go_on(runs)) << "it is copied, however much more comes";
  offered.choice().copied(4 * kKilobyte);
  EXPECT_EQ(offered.takes(std::span{runs}.subspan(1), 4 * kKilobyte), 19u);
}

TEST_F(VerbsOffered, AListThatWasDeclinedIsCopiedWhole) {
  const auto known = know(memory);
  const auto runs = runs_in(memory, 32);
  ASSERT_EQ(offered.takes(runs, 4 * kKilobyte), 32u);
  ASSERT_TRUE(offered.offer(runs, 4 * kKilobyte));
  offered.declined(128 * kKilobyte);
  ASSERT_TRUE(offered.goes_on());
  EXPECT_EQ(queue.agains, 1);
  EXPECT_EQ(offered.takes(runs, 4 * kKilobyte), 0u);
  offered.choice().copied(100 * kKilobyte);
  EXPECT_EQ(offered.takes(std::span{runs}.subspan(25), 4 * kKilobyte), 0u);
  offered.choice().copied(28 * kKilobyte);
  EXPECT_EQ(offered.takes(runs, 4 * kKilobyte), 0u) << "one is left out";
  offered.choice().copied(128 * kKilobyte);
  EXPECT_EQ(offered.takes(runs, 4 * kKilobyte), 32u);
}

TEST_F(VerbsOffered, AListIsNotKeptRegisteredLongerThanItIsOffered) {
  auto known = know(memory);
  const auto runs = runs_in(memory, 32);
  queue.room = 0;
  ASSERT_EQ(offered.takes(runs, 4 * kKilobyte), 32u);
  EXPECT_FALSE(offered.offer(runs, 4 * kKilobyte));
  queue.room = 1;
  ASSERT_EQ(offered.takes(runs, 4 * kKilobyte), 32u);
  EXPECT_TRUE(offered.offer(runs, 4 * kKilobyte));
  known.reset();
  EXPECT_EQ(rdma.live().regions, 1u);
  offered.withdraw({});
  offered.fetched(64 * kKilobyte);
  offered.declined(64 * kKilobyte);
  EXPECT_EQ(offered.take_back(), 64 * kKilobyte);
  EXPECT_EQ(rdma.live().regions, 0u);
}

TEST_F(VerbsOffered, TwoPiecesAreAwaitedAtATimeAndReportedAsTheyAreFetched) {
  const auto known = know(memory);
  EXPECT_EQ(step(0, 3 * kMegabyte), 0u);
  ASSERT_EQ(queue.offers.size(), 2u);
  EXPECT_EQ(queue.offers[1].address - queue.offers[0].address, kMegabyte);
  EXPECT_FALSE(offered.may_get_on(true)) << "an answer is awaited";
  offered.fetched(kMegabyte);
  EXPECT_TRUE(offered.may_get_on(false));
  EXPECT_EQ(step(0, 3 * kMegabyte), kMegabyte);
  EXPECT_EQ(step(kMegabyte, 2 * kMegabyte), 0u);
  EXPECT_EQ(queue.offers.size(), 3u);
  offered.fetched(2 * kMegabyte);
  EXPECT_EQ(step(kMegabyte, 2 * kMegabyte), 2 * kMegabyte);
  EXPECT_FALSE(offered.waits_for_answer());
  EXPECT_TRUE(offered.idle());
}

TEST_F(VerbsOffered, ABoundedNumberOfAttachmentsIsOfferedAtATimeAndWhatIsSentBetweenIsDoneWithThem) {
  const auto known = know(memory);
  constexpr std::size_t kEach = 64 * kKilobyte;
  std::size_t made = 0;
  const auto begin_one = [&] {
    const iovec next = piece(made * kEach, kEach);
    const bool begun = offered.goes_on() && takes(next, kEach) && offer(next, kEach);
    if (begun) {
      offered.sent(24);
      ++made;
    }
    return begun;
  };
  while (begin_one()) {
  }
  EXPECT_EQ(made, kOffersMax);
  EXPECT_EQ(offered.begun(), made * (kEach + 24));
  EXPECT_EQ(offered.take_done(), 0u) << "in order: nothing that was sent is done before the first offer";
  offered.fetched(kEach);
  EXPECT_EQ(offered.take_done(), kEach + 24);
  EXPECT_TRUE(begin_one());
  EXPECT_FALSE(begin_one());
  offered.fetched(kOffersMax * kEach);
  EXPECT_EQ(offered.take_done(), kOffersMax * (kEach + 24));
  EXPECT_TRUE(offered.idle());
}

TEST_F(VerbsOffered, WhoIsShortOfCreditOffersTheRestWhenThereIsSome) {
  const auto known = know(memory);
  queue.room = 1;
  step(0, 2 * kMegabyte);
  EXPECT_FALSE(offered.may_get_on(false));
  EXPECT_TRUE(offered.may_get_on(true));
  queue.room = 1;
  step(0, 2 * kMegabyte);
  EXPECT_EQ(queue.offers.size(), 2u);
}

TEST_F(VerbsOffered, AnAttachmentThatCouldNotBeOfferedYetIsNotKeptRegistered) {
  auto known = know(memory);
  queue.room = 0;
  step(0, kMegabyte);
  EXPECT_TRUE(offered.idle());
  known.reset();
  EXPECT_EQ(rdma.live().regions, 0u);
}

TEST_F(VerbsOffered, AfterADeclineTheRestOfTheAttachmentIsCopiedAndTheNextOneToo) {
  const auto known = know(memory);
  step(0, kMegabyte);
  offered.declined(kMegabyte);
  EXPECT_EQ(offered.take_done(), 0u);
  EXPECT_TRUE(offered.goes_on());
  EXPECT_EQ(queue.agains, 1);
  EXPECT_FALSE(takes(piece(0, kMegabyte), kMegabyte));
  offered.choice().copied(kMegabyte);
  EXPECT_FALSE(takes(piece(kMegabyte, kMegabyte), kMegabyte)) << "one is left out";
  offered.choice().copied(kMegabyte);
  EXPECT_TRUE(takes(piece(2 * kMegabyte, kMegabyte), kMegabyte));
}

// The first one is still read when the second is declined, and what was sent behind it was dropped.
TEST_F(VerbsOffered, WhatIsBehindADeclinedOfferIsSentAgainOnceAllIsAnswered) {
  const auto known = know(memory);
  constexpr std::size_t kEach = 100 * kKilobyte;
  for (std::size_t i = 0; i < 3; ++i) {
    const iovec next = piece(i * kEach, kEach);
    ASSERT_TRUE(offered.goes_on() && takes(next, kEach) && offer(next, kEach));
    offered.sent(10 + i);
  }
  offered.declined(kEach);
  EXPECT_FALSE(offered.goes_on()) << "which one was declined is known when all are answered";
  offered.declined(kEach);
  EXPECT_FALSE(offered.goes_on());
  EXPECT_FALSE(offered.may_get_on(true));
  offered.fetched(kEach);
  EXPECT_TRUE(offered.may_get_on(false));
  EXPECT_EQ(offered.take_done(), kEach + 10);
  queue.room = 0;
  EXPECT_FALSE(offered.goes_on());
  EXPECT_EQ(offered.begun(), 0u) << "the second and all behind it come again";
  EXPECT_TRUE(offered.may_get_on(true));
  queue.room = 1;
  EXPECT_TRUE(offered.goes_on());
  EXPECT_EQ(queue.agains, 1);
  EXPECT_TRUE(offered.goes_on());
  EXPECT_EQ(queue.agains, 1) << "told once";
  EXPECT_FALSE(takes(piece(kEach, kEach), kEach)) << "it was declined";
}

TEST_F(VerbsOffered, TakingBackForgetsWhatWasOfferedAndSaysHowMuchWasFetched) {
  auto known = know(memory);
  step(0, 2 * kMegabyte);
  offered.withdraw({});
  EXPECT_TRUE(protocol.wants(MessageKind::kWithdraw));
  offered.fetched(kMegabyte);
  EXPECT_TRUE(offered.waits_for_answer());
  offered.declined(kMegabyte);
  EXPECT_FALSE(offered.waits_for_answer());
  EXPECT_EQ(offered.take_back(), kMegabyte);
  EXPECT_FALSE(protocol.wants(MessageKind::kWithdraw)) << "it crossed the answer";
  EXPECT_TRUE(offered.goes_on());
  EXPECT_EQ(queue.agains, 1) << "the peer drops what comes until it hears that";
  EXPECT_TRUE(takes(piece(2 * kMegabyte, kMegabyte), kMegabyte))
      << "a withdrawal is no sign of the peer's memory";
  offered.take_back();
  known.reset();
  EXPECT_EQ(rdma.live().regions, 0u);
}

TEST_F(VerbsOffered, OfWhatIsWithdrawnNoMoreIsOfferedAndTheRestIsCopied) {
  const auto known = know(memory);
  step(0, 3 * kMegabyte);
  ASSERT_EQ(queue.offers.size(), 2u);
  const TimePoint asked{std::chrono::seconds{1}};
  offered.withdraw(asked);
  offered.withdraw(asked + std::chrono::seconds{1});
  EXPECT_EQ(offered.withdrawn_at(), asked) << "asked once";
  offered.fetched(2 * kMegabyte);
  EXPECT_EQ(step(0, 3 * kMegabyte), 2 * kMegabyte);
  EXPECT_TRUE(offered.goes_on());
  EXPECT_EQ(queue.agains, 0) << "nothing was declined";
  EXPECT_FALSE(takes(piece(2 * kMegabyte, kMegabyte), kMegabyte));
  EXPECT_EQ(queue.offers.size(), 2u);
  EXPECT_FALSE(protocol.wants(MessageKind::kWithdraw));
  offered.choice().copied(kMegabyte);
  EXPECT_TRUE(takes(piece(0, kMegabyte), kMegabyte)) << "the next attachment";
}

TEST_F(VerbsOffered, AllThatWasBegunWhenItWasWithdrawnIsCopiedAndWhatComesThenIsOffered) {
  const auto known = know(memory);
  constexpr std::size_t kEach = 100 * kKilobyte;
  for (std::size_t i = 0; i < 3; ++i) {
    const iovec next = piece(i * kEach, kEach);
    ASSERT_TRUE(offered.goes_on() && takes(next, kEach) && offer(next, kEach));
  }
  offered.withdraw({});
  offered.fetched(kEach);
  offered.declined(2 * kEach);
  EXPECT_EQ(offered.take_done(), kEach);
  ASSERT_TRUE(offered.goes_on());
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_FALSE(takes(piece(i * kEach, kEach), kEach)) << i;
    offered.choice().copied(kEach);
  }
  EXPECT_TRUE(takes(piece(3 * kEach, kEach), kEach));
}

TEST_F(VerbsOffered, AnswersToMoreThanWasOfferedAreMisdeeds) {
  const auto known = know(memory);
  step(0, kMegabyte);
  offered.fetched(kMegabyte + 1);
  EXPECT_TRUE(protocol.misbehaves());
  EXPECT_TRUE(offered.waits_for_answer());
}

class VerbsFetched : public VerbsAttachments {
 protected:
  void offer(std::size_t bytes) {
    const auto content = verbs::RemoteMemory{.address = 0x1000, .bytes = bytes, .rkey = 7}.encode();
    offers.offered(content);
  }

  std::optional<Moved> fetch(MutableBytes landing) {
    const iovec run{landing.data(), landing.size()};
    return offers.fetch({&run, 1}, true);
  }
  /// Blocks of a kilobyte with gaps as long between them, from the beginning of the memory on.
  std::vector<iovec> runs(std::size_t count) {
    std::vector<iovec> made;
    for (std::size_t i = 0; i < count; ++i) made.push_back({&memory[2 * i * kKilobyte], kKilobyte});
    return made;
  }
  /// An offer of runs so long, each 4 KiB behind the beginning of the one before.
  static std::vector<std::byte> encoded(const std::vector<std::size_t>& runs) {
    std::vector<std::byte> content;
    std::uint64_t address = 0x1000;
    for (const std::size_t bytes : runs) {
      const auto run = verbs::RemoteMemory{.address = address, .bytes = bytes, .rkey = 7}.encode();
      content.insert(content.end(), run.begin(), run.end());
      address += 0x1000;
    }
    return content;
  }
  /// Declines what waits, and returns the slots of the messages that were dropped with it.
  std::vector<std::uint32_t> decline() {
    std::vector<std::uint32_t> slots;
    offers.decline_what_waits([&](std::uint32_t slot) { slots.push_back(slot); });
    return slots;
  }

  static constexpr std::size_t kSegments = 4;
  Inbox inbox{32};
  FetchedOffers offers{inbox, view, queue, protocol, kSegments};
};

TEST_F(VerbsFetched, OffersAreReadOneBehindTheOtherAndReportedInOrder) {
  const auto known = know(memory);
  offer(kMegabyte);
  offer(kKilobyte);
  EXPECT_EQ(inbox.offers_in_front(), 2u);
  EXPECT_EQ(fetch(memory)->kind, Moved::Kind::kBegun);
  ASSERT_EQ(queue.reads.size(), 2u);
  EXPECT_EQ(queue.reads[1].into[0].addr, reinterpret_cast<std::uintptr_t>(&memory[kMegabyte]));
  EXPECT_EQ(fetch(memory)->kind, Moved::Kind::kBegun);
  offers.on_read();
  EXPECT_EQ(answer(MessageKind::kFetched), 0u) << "only when it is reported";
  EXPECT_EQ(fetch(memory)->bytes, kMegabyte);
  EXPECT_EQ(answer(MessageKind::kFetched), kMegabyte);
  offers.on_read();
  const Moved last = *fetch(MutableBytes{memory}.subspan(kMegabyte));
  EXPECT_EQ(last.bytes, kKilobyte);
  EXPECT_TRUE(last.exhausted);
  EXPECT_TRUE(offers.empty() && inbox.empty());
}

TEST_F(VerbsFetched, AnOfferIsReadInPartsWhereItsLandingIsAList) {
  const auto known = know(memory);
  offer(10 * kKilobyte);
  const auto landing = runs(10);
  EXPECT_EQ(offers.fetch(landing, true)->kind, Moved::Kind::kBegun);
  ASSERT_EQ(queue.reads.size(), 3u);
  EXPECT_EQ(queue.reads[1].from.address, 0x1000 + 4 * kKilobyte);
  EXPECT_EQ(queue.reads[1].from.bytes, 4 * kKilobyte);
  ASSERT_EQ(queue.reads[1].into.size(), 4u);
  EXPECT_EQ(queue.reads[1].into[3].addr, reinterpret_cast<std::uintptr_t>(landing[7].iov_base));
  EXPECT_EQ(queue.reads[1].into[3].length, kKilobyte);
  EXPECT_EQ(queue.reads[2].into.size(), 2u);
  offers.on_read();
  EXPECT_EQ(offers.fetch(landing, true)->bytes, 4 * kKilobyte);
  EXPECT_EQ(answer(MessageKind::kFetched), 0u) << "it is answered as a whole";
  EXPECT_EQ(inbox.offers_in_front(), 1u);
  offers.on_read();
  offers.on_read();
  EXPECT_EQ(offers.fetch(std::span{landing}.subspan(4), true)->bytes, 6 * kKilobyte);
  EXPECT_EQ(answer(MessageKind::kFetched), 10 * kKilobyte);
  EXPECT_TRUE(offers.empty() && inbox.empty() && offers.may_end());
}

// A landing is listed in parts, and the next one is known when these have landed.
TEST_F(VerbsFetched, AnOfferThatReachesBeyondWhatIsListedIsReadAsFarAsThat) {
  const auto known = know(memory);
  offer(10 * kKilobyte);
  const auto landing = runs(10);
  EXPECT_EQ(offers.fetch(std::span{landing}.first(3), false)->kind, Moved::Kind::kBegun);
  ASSERT_EQ(queue.reads.size(), 1u);
  EXPECT_EQ(queue.reads[0].from.bytes, 3 * kKilobyte);
  offers.on_read();
  EXPECT_EQ(offers.fetch(std::span{landing}.first(3), false)->bytes, 3 * kKilobyte);
  EXPECT_EQ(offers.fetch(std::span{landing}.subspan(3), true)->kind, Moved::Kind::kBegun);
  EXPECT_EQ(queue.reads.size(), 3u);
  EXPECT_FALSE(protocol.misbehaves());
}

TEST_F(VerbsFetched, TheRestOfAnOfferIsDeclinedWhereTheDeviceDoesNotKnowTheLanding) {
  const auto known = know(MutableBytes{memory}.first(5 * kKilobyte));
  offer(10 * kKilobyte);
  inbox.add_bytes(5, 100);
  const auto landing = runs(10);
  EXPECT_EQ(offers.fetch(landing, true)->kind, Moved::Kind::kBegun);
  ASSERT_EQ(queue.reads.size(), 1u);
  EXPECT_EQ(queue.reads[0].from.bytes, 3 * kKilobyte);
  EXPECT_EQ(offers.fetch(landing, true)->kind, Moved::Kind::kBegun) << "what is under way is waited for";
  offers.on_read();
  EXPECT_EQ(offers.fetch(landing, true)->bytes, 3 * kKilobyte);
  EXPECT_FALSE(offers.fetch(std::span{landing}.subspan(3), true).has_value());
  EXPECT_EQ(decline(), std::vector<std::uint32_t>{5});
  EXPECT_EQ(answer(MessageKind::kFetched), 3 * kKilobyte);
  EXPECT_EQ(answer(MessageKind::kDecline), 7 * kKilobyte);
  EXPECT_TRUE(offers.empty() && inbox.empty());
}

TEST_F(VerbsFetched, PiecesOfTwoRegistrationsAreReadApart) {
  const auto first = know(MutableBytes{memory}.first(3 * kKilobyte));
  const auto second = know(MutableBytes{memory}.subspan(3 * kKilobyte));
  offer(4 * kKilobyte);
  EXPECT_EQ(offers.fetch(runs(4), true)->kind, Moved::Kind::kBegun);
  ASSERT_EQ(queue.reads.size(), 2u);
  EXPECT_EQ(queue.reads[0].into.back().lkey, first->lkey());
  EXPECT_EQ(queue.reads[1].into.front().lkey, second->lkey());
}

TEST_F(VerbsFetched, WhatIsWithdrawnInTheMiddleIsAnsweredInParts) {
  const auto known = know(memory);
  queue.room = 2;
  offer(10 * kKilobyte);
  const auto landing = runs(10);
  EXPECT_EQ(offers.fetch(landing, true)->kind, Moved::Kind::kBegun);
  ASSERT_EQ(queue.reads.size(), 2u);
  offers.on_read();
  EXPECT_TRUE(decline().empty());
  offers.withdrawn();
  EXPECT_EQ(answer(MessageKind::kFetched), 4 * kKilobyte);
  EXPECT_EQ(answer(MessageKind::kDecline), 2 * kKilobyte);
  offers.on_read();
  EXPECT_EQ(answer(MessageKind::kFetched), 4 * kKilobyte) << "as soon as it was read";
  EXPECT_EQ(offers.take_landing_back(), 8 * kKilobyte);
  EXPECT_TRUE(offers.empty() && inbox.empty());
}

// As many parts as there are places for reads, besides all the offers that a peer may make.
TEST_F(VerbsFetched, PartsCountForNothingThatAPeerMayDo) {
  const auto known = know(memory);
  for (std::size_t i = 0; i < kOffersMax; ++i) offer(64 * kKilobyte);
  EXPECT_EQ(offers.fetch(runs(64), false)->kind, Moved::Kind::kBegun);
  EXPECT_EQ(queue.reads.size(), 16u);
  EXPECT_FALSE(protocol.misbehaves());
  offer(kKilobyte);
  EXPECT_TRUE(protocol.misbehaves()) << "one more than may wait";
}

TEST_F(VerbsFetched, WithoutALandingThatTheDeviceKnowsAllIsDroppedUntilItComesAgain) {
  offer(kMegabyte);
  inbox.add_bytes(5, 100);
  offer(kKilobyte);
  inbox.add_bytes(6, 100);
  EXPECT_FALSE(fetch(memory).has_value());
  EXPECT_EQ(decline(), (std::vector<std::uint32_t>{6, 5}));
  EXPECT_TRUE(inbox.empty());
  EXPECT_TRUE(offers.declining());
  EXPECT_FALSE(offers.may_end());
  EXPECT_EQ(answer(MessageKind::kDecline), kMegabyte + kKilobyte);
  const auto known_now = know(memory);
  offer(kKilobyte);
  EXPECT_EQ(answer(MessageKind::kDecline), kKilobyte) << "it crossed the decline";
  offers.comes_again();
  EXPECT_FALSE(offers.declining());
  offer(kKilobyte);
  EXPECT_EQ(fetch(memory)->kind, Moved::Kind::kBegun);
  EXPECT_FALSE(protocol.misbehaves());
  offers.comes_again();
  EXPECT_TRUE(protocol.misbehaves()) << "nothing was declined";
}

TEST_F(VerbsFetched, WhatIsWithdrawnIsDeclinedOrAnsweredAsSoonAsItWasRead) {
  const auto known = know(memory);
  queue.room = 1;
  offer(kMegabyte);
  offer(kKilobyte);
  inbox.add_bytes(9, 100);
  EXPECT_EQ(fetch(memory)->kind, Moved::Kind::kBegun);
  EXPECT_EQ(decline(), std::vector<std::uint32_t>{9});
  offers.withdrawn();
  EXPECT_EQ(answer(MessageKind::kDecline), kKilobyte);
  EXPECT_EQ(answer(MessageKind::kFetched), 0u);
  offers.on_read();
  EXPECT_EQ(answer(MessageKind::kFetched), kMegabyte);
  EXPECT_EQ(offers.take_landing_back(), kMegabyte);
  EXPECT_EQ(answer(MessageKind::kFetched), 0u) << "the peer was told";
}

TEST_F(VerbsFetched, ALandingThatIsTakenBackIsNotKeptRegistered) {
  auto known = know(memory);
  offer(kMegabyte);
  EXPECT_EQ(fetch(memory)->kind, Moved::Kind::kBegun);
  known.reset();
  EXPECT_EQ(rdma.live().regions, 1u) << "the device reads into it";
  EXPECT_TRUE(offers.reads_under_way());
  offers.on_read();
  EXPECT_EQ(offers.take_landing_back(), kMegabyte);
  EXPECT_EQ(rdma.live().regions, 0u);
}

TEST_F(VerbsFetched, ImpossibleOffersAreMisdeeds) {
  for (const std::size_t bytes : {std::size_t{0}, kOfferBytes + 1}) {
    offer(bytes);
    EXPECT_TRUE(protocol.misbehaves()) << bytes;
    EXPECT_TRUE(inbox.empty());
  }
}

TEST_F(VerbsFetched, ImpossibleListsAreMisdeeds) {
  const std::vector<std::vector<std::size_t>> lists{
      {},
      {kKilobyte, 0, kKilobyte},
      {kOfferBytes, 1},
      std::vector<std::size_t>(kRunsOfferedMax + 1, kKilobyte),
      {kKilobyte, ~std::size_t{0}},
  };
  for (const auto& list : lists) {
    MessageProtocol fresh{kRules};
    FetchedOffers judging{inbox, view, queue, fresh, kSegments};
    judging.offered(encoded(list));
    EXPECT_TRUE(fresh.misbehaves()) << list.size();
    EXPECT_TRUE(inbox.empty());
  }
  MessageProtocol fresh{kRules};
  FetchedOffers judging{inbox, view, queue, fresh, kSegments};
  judging.offered(Bytes{encoded({kKilobyte, kKilobyte})}.subspan(1));
  EXPECT_TRUE(fresh.misbehaves()) << "half a run";
}

TEST_F(VerbsFetched, TheRunsOfAnOfferAreReadEachByItselfAndAnsweredTogether) {
  const auto known = know(memory);
  offers.offered(encoded({kKilobyte, 3 * kKilobyte, 2 * kKilobyte}));
  EXPECT_EQ(inbox.offers_in_front(), 1u);
  EXPECT_EQ(fetch(memory)->kind, Moved::Kind::kBegun);
  ASSERT_EQ(queue.reads.size(), 3u);
  EXPECT_EQ(queue.reads[1].from.address, 0x2000u);
  EXPECT_EQ(queue.reads[1].from.bytes, 3 * kKilobyte);
  EXPECT_EQ(queue.reads[2].into[0].addr, reinterpret_cast<std::uintptr_t>(&memory[4 * kKilobyte]));
  for (int i = 0; i < 3; ++i) offers.on_read();
  EXPECT_EQ(fetch(memory)->bytes, 6 * kKilobyte);
  EXPECT_EQ(answer(MessageKind::kFetched), 6 * kKilobyte);
  EXPECT_TRUE(offers.empty() && inbox.empty() && offers.may_end());
}

TEST_F(VerbsFetched, AListThatNobodyKnowsALandingForIsDeclinedWholeAndDroppedWhole) {
  offers.offered(encoded({kKilobyte, kKilobyte, kKilobyte}));
  inbox.add_bytes(5, 100);
  offers.offered(encoded({kKilobyte, kKilobyte}));
  EXPECT_FALSE(fetch(memory).has_value());
  EXPECT_EQ(decline(), std::vector<std::uint32_t>{5});
  EXPECT_EQ(answer(MessageKind::kDecline), 5 * kKilobyte);
  EXPECT_TRUE(offers.empty() && inbox.empty());
  offers.comes_again();
  offers.offered(encoded({kKilobyte, kKilobyte, kKilobyte}));
  EXPECT_EQ(offers.skip(3 * kKilobyte), 3 * kKilobyte);
  EXPECT_EQ(answer(MessageKind::kFetched), 3 * kKilobyte);
  EXPECT_TRUE(offers.empty() && inbox.empty());
}

// As many runs as a peer may have offered, which is more than there is room for at first.
TEST_F(VerbsFetched, AsManyListsAsMayWaitAreKept) {
  const auto known = know(memory);
  const std::vector<std::size_t> list(kRunsOfferedMax, 2 * kKilobyte);
  for (std::size_t i = 0; i < kOffersMax; ++i) offers.offered(encoded(list));
  EXPECT_FALSE(protocol.misbehaves());
  const std::size_t all = kOffersMax * kRunsOfferedMax * 2 * kKilobyte;
  std::size_t read = 0;
  while (read < all) {
    queue.reads.clear();
    queue.room = 100;
    EXPECT_EQ(fetch(MutableBytes{memory}.subspan(read))->kind, Moved::Kind::kBegun);
    ASSERT_EQ(queue.reads.size(), kReadsAtOnce);
    for (std::size_t i = 0; i < kReadsAtOnce; ++i) offers.on_read();
    read += fetch(MutableBytes{memory}.subspan(read))->bytes;
  }
  EXPECT_EQ(read, all);
  EXPECT_EQ(answer(MessageKind::kFetched), all);
  EXPECT_TRUE(offers.empty() && inbox.empty());
}

TEST_F(VerbsFetched, MoreOffersThanMayWaitForAnAnswerAreAMisdeed) {
  for (std::size_t i = 0; i < kOffersMax; ++i) offer(kKilobyte);
  EXPECT_FALSE(protocol.misbehaves());
  offer(kKilobyte);
  EXPECT_TRUE(protocol.misbehaves());
}

TEST_F(VerbsFetched, MoreBytesThanMayWaitForAnAnswerAreAMisdeed) {
  offer(kMegabyte);
  offer(kMegabyte);
  EXPECT_FALSE(protocol.misbehaves());
  offer(1);
  EXPECT_TRUE(protocol.misbehaves());
}

TEST_F(VerbsFetched, WhatNobodyWantsCountsAsFetchedAndIsNotRead) {
  offer(kMegabyte);
  offer(kKilobyte);
  inbox.add_bytes(5, 100);
  EXPECT_EQ(offers.skip(2 * kMegabyte), kMegabyte + kKilobyte);
  EXPECT_EQ(answer(MessageKind::kFetched), kMegabyte + kKilobyte);
  EXPECT_TRUE(queue.reads.empty());
  EXPECT_EQ(offers.skip(kMegabyte), 0u) << "bytes stand there";
  EXPECT_TRUE(offers.may_end());
  inbox.pop_front();
  offer(kMegabyte);
  EXPECT_EQ(offers.skip(kKilobyte), 0u);
  EXPECT_TRUE(protocol.misbehaves()) << "it is more than the attachment";
}

TEST_F(VerbsFetched, AnOfferLargerThanItsAttachmentIsAMisdeed) {
  const auto known = know(memory);
  offer(kKilobyte + 1);
  EXPECT_EQ(fetch(MutableBytes{memory}.first(kKilobyte))->kind, Moved::Kind::kBlocked);
  EXPECT_TRUE(protocol.misbehaves());
  EXPECT_TRUE(queue.reads.empty());
}

}  // namespace
}  // namespace weft::detail::verbs_carrier
