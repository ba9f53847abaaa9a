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
  struct Read {
    verbs::RemoteMemory from;
    std::byte* to = nullptr;
  };

  bool send_offer(const verbs::RemoteMemory& piece) noexcept override {
    if (room == 0) return false;
    --room;
    offers.push_back(piece);
    return true;
  }
  bool begin_read(const verbs::RemoteMemory& from, std::byte* to, std::uint32_t) noexcept override {
    if (room == 0) return false;
    --room;
    reads.push_back({from, to});
    return true;
  }

  std::size_t room = 100;
  std::vector<verbs::RemoteMemory> offers;
  std::vector<Read> reads;
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
  MessageProtocol protocol{{.kinds = (bit_of(kLastMessageKind) << 1) - 2,
                            .credit_max = 100,
                            .all_cost = true,
                            .credit_due = 5,
                            .over = "in a test"}};
  NotingQueue queue;
  std::vector<std::byte> memory = std::vector<std::byte>(4 * kMegabyte);
};

class VerbsOffered : public VerbsAttachments {
 protected:
  iovec piece(std::size_t from, std::size_t bytes) { return {memory.data() + from, bytes}; }
  Moved step(std::size_t from, std::size_t bytes) {
    const iovec front = piece(from, bytes);
    EXPECT_TRUE(offered.takes(front, bytes));
    return offered.offer(front, bytes);
  }

  OfferedBytes offered{view, queue, protocol, 64 * kKilobyte};
};

TEST_F(VerbsOffered, OnlyLeasedMemoryThatPeersMayReadAndThatIsLargeIsTaken) {
  const auto open = know(MutableBytes{memory}.first(kMegabyte));
  const auto closed = know(MutableBytes{memory}.subspan(kMegabyte, kMegabyte), false);
  EXPECT_FALSE(offered.takes(piece(0, 64 * kKilobyte), 64 * kKilobyte - 1)) << "too little of it is leased";
  EXPECT_FALSE(offered.takes(piece(kMegabyte, kMegabyte), kMegabyte)) << "peers may not read it";
  offered.copied(kMegabyte);
  EXPECT_FALSE(offered.takes(piece(2 * kMegabyte, kMegabyte), kMegabyte)) << "nobody registered it";
  offered.copied(kMegabyte);
  EXPECT_TRUE(offered.may_take(piece(0, 64 * kKilobyte)));
  EXPECT_FALSE(offered.may_take(piece(0, 64 * kKilobyte - 1)));
  EXPECT_TRUE(offered.takes(piece(0, kMegabyte), kMegabyte));
}

TEST_F(VerbsOffered, TwoPiecesAreAwaitedAtATimeAndReportedAsTheyAreFetched) {
  const auto known = know(memory);
  EXPECT_EQ(step(0, 3 * kMegabyte).kind, Moved::Kind::kBegun);
  ASSERT_EQ(queue.offers.size(), 2u);
  EXPECT_EQ(queue.offers[1].address - queue.offers[0].address, kMegabyte);
  EXPECT_FALSE(offered.may_get_on(true)) << "an answer is awaited";
  offered.fetched(kMegabyte);
  EXPECT_TRUE(offered.may_get_on(false));
  EXPECT_EQ(step(0, 3 * kMegabyte).bytes, kMegabyte);
  EXPECT_EQ(step(kMegabyte, 2 * kMegabyte).kind, Moved::Kind::kBegun);
  EXPECT_EQ(queue.offers.size(), 3u);
  offered.fetched(2 * kMegabyte);
  EXPECT_EQ(step(kMegabyte, 2 * kMegabyte).bytes, 2 * kMegabyte);
  EXPECT_FALSE(offered.waits_for_answer());
}

TEST_F(VerbsOffered, WhoIsShortOfCreditOffersTheRestWhenThereIsSome) {
  const auto known = know(memory);
  queue.room = 1;
  EXPECT_EQ(step(0, 2 * kMegabyte).kind, Moved::Kind::kBegun);
  EXPECT_FALSE(offered.may_get_on(false));
  EXPECT_TRUE(offered.may_get_on(true));
  queue.room = 1;
  EXPECT_EQ(step(0, 2 * kMegabyte).kind, Moved::Kind::kBegun);
  EXPECT_EQ(queue.offers.size(), 2u);
}

TEST_F(VerbsOffered, AfterADeclineTheRestOfTheAttachmentIsCopiedAndTheNextOneToo) {
  const auto known = know(memory);
  EXPECT_EQ(step(0, kMegabyte).kind, Moved::Kind::kBegun);
  offered.declined(kMegabyte);
  EXPECT_FALSE(offered.takes(piece(0, kMegabyte), kMegabyte));
  offered.copied(kMegabyte);
  EXPECT_FALSE(offered.takes(piece(kMegabyte, kMegabyte), kMegabyte)) << "one is left out";
  offered.copied(kMegabyte);
  EXPECT_TRUE(offered.takes(piece(2 * kMegabyte, kMegabyte), kMegabyte));
}

TEST_F(VerbsOffered, TakingBackForgetsWhatWasOfferedAndSaysHowMuchWasFetched) {
  auto known = know(memory);
  EXPECT_EQ(step(0, 2 * kMegabyte).kind, Moved::Kind::kBegun);
  offered.withdraw({});
  EXPECT_TRUE(protocol.wants(MessageKind::kWithdraw));
  offered.fetched(kMegabyte);
  EXPECT_TRUE(offered.waits_for_answer());
  offered.declined(kMegabyte);
  EXPECT_FALSE(offered.waits_for_answer());
  EXPECT_EQ(offered.take_back(), kMegabyte);
  EXPECT_FALSE(protocol.wants(MessageKind::kWithdraw)) << "it crossed the answer";
  EXPECT_TRUE(offered.takes(piece(2 * kMegabyte, kMegabyte), kMegabyte))
      << "a withdrawal is no sign of the peer's memory";
  offered.take_back();
  known.reset();
  EXPECT_EQ(rdma.live().regions, 0u);
}

TEST_F(VerbsOffered, OfWhatIsWithdrawnNoMoreIsOfferedAndTheRestIsCopied) {
  const auto known = know(memory);
  EXPECT_EQ(step(0, 3 * kMegabyte).kind, Moved::Kind::kBegun);
  ASSERT_EQ(queue.offers.size(), 2u);
  const TimePoint asked{std::chrono::seconds{1}};
  offered.withdraw(asked);
  offered.withdraw(asked + std::chrono::seconds{1});
  EXPECT_EQ(offered.withdrawn_at(), asked) << "asked once";
  offered.fetched(2 * kMegabyte);
  EXPECT_EQ(step(0, 3 * kMegabyte).bytes, 2 * kMegabyte);
  EXPECT_FALSE(offered.takes(piece(2 * kMegabyte, kMegabyte), kMegabyte));
  EXPECT_EQ(queue.offers.size(), 2u);
  EXPECT_FALSE(protocol.wants(MessageKind::kWithdraw));
  offered.copied(kMegabyte);
  EXPECT_TRUE(offered.takes(piece(0, kMegabyte), kMegabyte)) << "the next attachment";
}

TEST_F(VerbsOffered, AnswersToMoreThanWasOfferedAreMisdeeds) {
  const auto known = know(memory);
  EXPECT_EQ(step(0, kMegabyte).kind, Moved::Kind::kBegun);
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

  Inbox inbox{16};
  FetchedOffers offers{inbox, view, queue, protocol};
};

TEST_F(VerbsFetched, OffersAreReadOneBehindTheOtherAndReportedInOrder) {
  const auto known = know(memory);
  offer(kMegabyte);
  offer(kKilobyte);
  EXPECT_EQ(inbox.offers_in_front(), 2u);
  EXPECT_EQ(offers.fetch(memory)->kind, Moved::Kind::kBegun);
  ASSERT_EQ(queue.reads.size(), 2u);
  EXPECT_EQ(queue.reads[1].to, memory.data() + kMegabyte);
  EXPECT_EQ(offers.fetch(memory)->kind, Moved::Kind::kBegun);
  offers.on_read();
  EXPECT_EQ(answer(MessageKind::kFetched), 0u) << "only when it is reported";
  EXPECT_EQ(offers.fetch(memory)->bytes, kMegabyte);
  EXPECT_EQ(answer(MessageKind::kFetched), kMegabyte);
  offers.on_read();
  const Moved last = *offers.fetch(MutableBytes{memory}.subspan(kMegabyte));
  EXPECT_EQ(last.bytes, kKilobyte);
  EXPECT_TRUE(last.exhausted);
  EXPECT_TRUE(offers.empty() && inbox.empty());
}

TEST_F(VerbsFetched, WithoutALandingThatTheDeviceKnowsAllAreDeclinedUntilBytesCome) {
  offer(kMegabyte);
  offer(kKilobyte);
  EXPECT_FALSE(offers.fetch(memory).has_value());
  EXPECT_TRUE(inbox.empty());
  EXPECT_EQ(answer(MessageKind::kDecline), kMegabyte + kKilobyte);
  const auto known_now = know(memory);
  offer(kKilobyte);
  EXPECT_EQ(answer(MessageKind::kDecline), kKilobyte) << "it crossed the decline";
  offers.bytes_came();
  offer(kKilobyte);
  EXPECT_EQ(offers.fetch(memory)->kind, Moved::Kind::kBegun);
}

TEST_F(VerbsFetched, WhatIsWithdrawnIsDeclinedOrAnsweredAsSoonAsItWasRead) {
  const auto known = know(memory);
  queue.room = 1;
  offer(kMegabyte);
  offer(kKilobyte);
  EXPECT_EQ(offers.fetch(memory)->kind, Moved::Kind::kBegun);
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
  EXPECT_EQ(offers.fetch(memory)->kind, Moved::Kind::kBegun);
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

TEST_F(VerbsFetched, AThirdOfferWithoutAnAnswerIsAMisdeed) {
  offer(kKilobyte);
  offer(kKilobyte);
  EXPECT_FALSE(protocol.misbehaves());
  offer(kKilobyte);
  EXPECT_TRUE(protocol.misbehaves());
}

TEST_F(VerbsFetched, AnOfferLargerThanItsAttachmentIsAMisdeed) {
  const auto known = know(memory);
  offer(kKilobyte + 1);
  EXPECT_EQ(offers.fetch(MutableBytes{memory}.first(kKilobyte))->kind, Moved::Kind::kBlocked);
  EXPECT_TRUE(protocol.misbehaves());
  EXPECT_TRUE(queue.reads.empty());
}

}  // namespace
}  // namespace weft::detail::verbs_carrier
