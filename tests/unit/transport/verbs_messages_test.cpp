// SPDX-License-Identifier: Apache-2.0
// The parts that carry a connection's messages by RDMA, each by itself on a simulated device: the turn in
// which is told, memory to send from, what the device was given, promised receives, the time to wait for
// memory. Capabilities: CR-17, CR-18.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/simulated_rdma.hpp"
#include "transport/verbs/carrier_turn.hpp"
#include "transport/verbs/limits.hpp"
#include "transport/verbs/promised_receives.hpp"
#include "transport/verbs/receive_pool.hpp"
#include "transport/verbs/reclaim_time.hpp"
#include "transport/verbs/send_queue.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::verbs_carrier {
namespace {

using std::chrono::milliseconds;

/// Counts how often it is run.
struct CountedTurn final : CarrierTurn {
  explicit CountedTurn(Loop& loop) noexcept
      : CarrierTurn(loop, [](Ready* node) noexcept { ++static_cast<CountedTurn*>(node)->runs; }) {}
  int runs = 0;
};

VerbsOptions little() {
  VerbsOptions options;
  options.message_bytes = 1024;
  options.block_bytes = 4096;
  options.receive_bytes_max = 16 * 1024;
  options.send_bytes_max = 4096;
  options.sends_max = 4;
  options.credits_min = 4;
  options.credits_max = 8;
  options.connections_max = 1;
  return options;
}

class VerbsMessages : public ::testing::Test {
 protected:
  VerbsMessages() { protocol.credit().take_terms(50); }

  void run() { loop->run_until_idle(); }

  const VerbsOptions options = little();
  testing::SimulatedRdma rdma{{testing::roce_device("sim", 1)}};
  std::unique_ptr<Loop> loop = Loop::create({.mode = WaitMode::kWait}).value();
  std::shared_ptr<verbs::Device> device = verbs::Device::open("sim", rdma).value();
  std::shared_ptr<verbs::ProtectionDomain> domain = verbs::ProtectionDomain::create(device).value();
  std::unique_ptr<verbs::CompletionQueue> completions =
      verbs::CompletionQueue::create(*loop, device, {.entries = 256}).value();
  MessageProtocol protocol{{.kinds = (bit_of(kLastMessageKind) << 1) - 2,
                            .credit_max = 100,
                            .all_cost = true,
                            .credit_due = 5,
                            .over = "in a test"}};
};

// The turn.

TEST_F(VerbsMessages, ATurnThatIsTouchedRunsOnceAndKeepsTheFirstFailure) {
  CountedTurn turn{*loop};
  turn.touch();
  turn.fail({StatusCode::kUnavailable, Layer::kTransport, "first"});
  turn.fail({StatusCode::kInternal, Layer::kTransport, "second"});
  run();
  EXPECT_EQ(turn.runs, 1);
  EXPECT_EQ(turn.failure().message(), "first");
  turn.touch();
  turn.close();
  turn.touch();
  run();
  EXPECT_EQ(turn.runs, 1) << "nothing is told after its end";
}

// Memory to send from.

TEST_F(VerbsMessages, WhoFoundNoMemoryIsTouchedWhenSomeComesBack) {
  SendMemory memory{domain, options};
  ASSERT_TRUE(memory.provide().ok());
  CountedTurn first{*loop};
  CountedTurn second{*loop};
  std::vector<SentMemory> taken;
  while (const auto slot = memory.acquire(SentMemory::Kind::kBytes, first)) {
    taken.push_back({SentMemory::Kind::kBytes, slot.index});
  }
  EXPECT_EQ(taken.size(), 4u);
  EXPECT_FALSE(memory.acquire(SentMemory::Kind::kBytes, second));
  EXPECT_TRUE(memory.acquire(SentMemory::Kind::kControl, second)) << "it has memory of its own";
  memory.release({SentMemory::Kind::kNone, 0});
  run();
  EXPECT_EQ(first.runs + second.runs, 0);
  memory.release(taken.back());
  run();
  EXPECT_EQ(first.runs, 1);
  EXPECT_EQ(second.runs, 0) << "there is memory for one";
  memory.serve_starved();
  run();
  EXPECT_EQ(second.runs, 1) << "the first one had no use for it";
}

TEST_F(VerbsMessages, WhoEndsWaitsForNoMemory) {
  SendMemory memory{domain, options};
  CountedTurn waits{*loop};
  std::vector<SentMemory> taken;
  while (const auto slot = memory.acquire(SentMemory::Kind::kBytes, waits)) {
    taken.push_back({SentMemory::Kind::kBytes, slot.index});
  }
  waits.close();
  memory.release(taken.back());
  run();
  EXPECT_EQ(waits.runs, 0);
}

// What the device was given.

struct CountedReads final : ReadOwner {
  void on_read() noexcept override { ++ended; }
  int ended = 0;
};

class VerbsSendQueue : public VerbsMessages {
 protected:
  void SetUp() override {
    receives = verbs::SharedReceiveQueue::create(domain, *completions, {.receives_max = 8}).value();
    const verbs::QueuePairOptions pair{.sends_max = options.sends_max + kControlSends,
                                       .segments_max = 1,
                                       .inline_bytes = options.inline_bytes,
                                       .shared_receives = receives.get()};
    here = verbs::QueuePair::create(domain, *completions, pair).value();
    there = verbs::QueuePair::create(domain, *completions, pair).value();
    ASSERT_TRUE(here->connect(there->address()).ok());
    ASSERT_TRUE(there->connect(here->address()).ok());
    queue.use(*here);
    queue.report_reads_to(reads);
    rdma.hold();
  }
  /// The queue pair of `queue` ends before it does.
  void TearDown() override { here.reset(); }

  bool post(std::size_t bytes) {
    const iovec piece{content.data(), bytes};
    return queue.post(MessageKind::kBytes, {&piece, 1}, bytes);
  }

  SendMemory memory{domain, options};
  CountedTurn turn{*loop};
  CountedReads reads;
  std::string content = std::string(1000, 'x');
  std::unique_ptr<verbs::SharedReceiveQueue> receives;
  std::unique_ptr<verbs::QueuePair> there;
  std::unique_ptr<verbs::QueuePair> here;
  SendQueue queue{*completions, memory, protocol, turn, options};
};

TEST_F(VerbsSendQueue, HasPlacesForBytesAndTwoMoreForControl) {
  for (std::size_t i = 0; i < options.sends_max; ++i) {
    ASSERT_TRUE(queue.has_place());
    ASSERT_TRUE(post(10));
  }
  EXPECT_FALSE(queue.has_place());
  for (std::size_t i = 0; i < kControlSends; ++i) {
    ASSERT_TRUE(queue.has_place_for_control());
    ASSERT_TRUE(queue.post(MessageKind::kCredit, {}, 0));
  }
  EXPECT_FALSE(queue.has_place_for_control());
  EXPECT_EQ(queue.under_way(), options.sends_max + kControlSends);
}

TEST_F(VerbsSendQueue, WithoutMemoryNothingIsStampedAndTheTurnIsTouchedLater) {
  CountedTurn other{*loop};
  std::vector<SentMemory> taken;
  while (const auto slot = memory.acquire(SentMemory::Kind::kBytes, other)) {
    taken.push_back({SentMemory::Kind::kBytes, slot.index});
  }
  other.close();
  const std::uint32_t credit = protocol.credit().left();
  EXPECT_FALSE(post(1000));
  EXPECT_EQ(protocol.credit().left(), credit);
  EXPECT_EQ(queue.under_way(), 0u);
  EXPECT_FALSE(turn.failed());
  memory.release(taken.back());
  run();
  EXPECT_EQ(turn.runs, 1);
  EXPECT_TRUE(post(1000));
}

TEST_F(VerbsSendQueue, ItsEndGivesMemoryBackAndEndsReads) {
  std::vector<std::byte> landing(100);
  const auto region = verbs::MemoryRegion::allocate(domain, 4096).value();
  ASSERT_TRUE(post(1000));
  ASSERT_TRUE(post(1000));
  std::array<ibv_sge, 1> into{region.memory().slice(0, 100).segment()};
  const ReadRequest read{{.address = 0x1000, .bytes = 100, .rkey = 1}, into};
  ASSERT_EQ(queue.begin_reads({&read, 1}), 1u);
  EXPECT_EQ(queue.under_way(), 3u);
  here.reset();
  queue.end();
  EXPECT_EQ(queue.under_way(), 0u);
  EXPECT_EQ(reads.ended, 1);
  CountedTurn other{*loop};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(memory.acquire(SentMemory::Kind::kBytes, other)) << i;
}

TEST_F(VerbsSendQueue, RetiringHandsOverTheLoopsMemoryOnly) {
  ASSERT_TRUE(post(10));
  ASSERT_TRUE(post(1000));
  std::vector<SentMemory> sent;
  sent.reserve(queue.under_way());
  queue.retire(sent);
  ASSERT_EQ(sent.size(), 1u) << "one lies in its work request";
  EXPECT_EQ(sent[0].kind, SentMemory::Kind::kBytes);
  EXPECT_EQ(queue.under_way(), 0u);
}

// Promised receives.

class VerbsPromised : public VerbsMessages {
 protected:
  struct Holder {
    explicit Holder(VerbsPromised& its)
        : turn(*its.loop),
          protocol({.kinds = kCommonMessageKinds, .credit_max = 100, .all_cost = true, .credit_due = 5}),
          promised(its.pool, protocol, turn, its.options) {
      EXPECT_TRUE(its.pool.provide(its.options.credits_min));
      its.pool.promise(its.options.credits_min);
      promised.begin();
    }
    /// A message comes and is taken.
    void take() {
      ASSERT_TRUE(promised.came());
      promised.gave_back(false);
    }
    std::uint32_t credit() const { return protocol.credit().peer_may_send(); }

    CountedTurn turn;
    MessageProtocol protocol;
    PromisedReceives promised;
  };

  void SetUp() override { ASSERT_TRUE(pool.start(*completions).ok()); }

  CarriersByPair carriers;
  int unneeded = 0;
  ReceivePool pool{domain, options, carriers, [this] { ++unneeded; }};
};

TEST_F(VerbsPromised, WhoUsesCreditGetsMoreUpToItsMostWhileThereIsSome) {
  Holder one{*this};
  EXPECT_EQ(one.credit(), 4u);
  for (int i = 0; i < 20; ++i) one.take();
  EXPECT_EQ(one.credit(), 8u);
  one.promised.end();
}

TEST_F(VerbsPromised, AMessageWithoutCreditIsAMisdeed) {
  Holder one{*this};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(one.promised.came());
  EXPECT_FALSE(one.promised.came());
  EXPECT_TRUE(one.protocol.misbehaves());
  one.promised.end();
}

// Of 16 receives 4 are kept for a connection that may come, and 8 are two carriers' due.
TEST_F(VerbsPromised, WhoHasMoreThanItsDueIsAskedForItWhenAnotherNeedsIt) {
  Holder idle{*this};
  Holder busy{*this};
  for (int i = 0; i < 20; ++i) idle.take();
  EXPECT_GT(idle.credit(), 4u);
  EXPECT_FALSE(idle.protocol.wants(MessageKind::kReclaim));
  while (pool.promise_one(busy.promised)) {
  }
  EXPECT_TRUE(idle.protocol.wants(MessageKind::kReclaim));
  run();
  EXPECT_EQ(idle.turn.runs, 1) << "its turn sends what it wants";
  EXPECT_TRUE(idle.promised.returned(idle.credit() - 4));
  EXPECT_EQ(idle.credit(), 4u);
  EXPECT_TRUE(pool.promise_one(busy.promised));
  EXPECT_FALSE(idle.promised.returned(5)) << "it has no more than 4";
  EXPECT_TRUE(idle.protocol.misbehaves());
}

TEST_F(VerbsPromised, AFewAreNeverLentSoThatThePeerMaySend) {
  Holder one{*this};
  EXPECT_FALSE(one.promised.may_lend());
  for (int i = 0; i < 20; ++i) one.take();
  std::size_t lent = 0;
  for (; one.promised.may_lend(); ++lent) {
    ASSERT_TRUE(one.promised.came());
    one.promised.lend(false);
  }
  EXPECT_EQ(lent, 8 - kCreditsMin);
  const std::uint32_t credit = one.credit();
  one.promised.lent_back(false);
  EXPECT_EQ(one.credit(), credit + 1);
  one.promised.end();
}

TEST_F(VerbsPromised, EachSingleCreditIsToldWhileAnAnswerIsAwaited) {
  for (const bool about_an_offer : {false, true}) {
    Holder one{*this};
    for (int i = 0; i < 20; ++i) one.take();
    one.protocol.credit().tell();
    one.protocol.forget(MessageKind::kCredit);
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(one.promised.came());
    one.promised.gave_back(about_an_offer);
    EXPECT_EQ(one.protocol.wants(MessageKind::kCredit), about_an_offer);
    one.promised.end();
  }
}

TEST_F(VerbsPromised, WhatIsNotPromisedAnyMoreIsLookedFor) {
  auto one = std::make_unique<Holder>(*this);
  for (int i = 0; i < 20; ++i) one->take();
  EXPECT_FALSE(pool.trim()) << "all are promised";
  EXPECT_EQ(unneeded, 0);
  one->promised.end();
  EXPECT_EQ(unneeded, 1) << "two blocks are there";
  EXPECT_TRUE(pool.trim()) << "they may be needed again soon";
  EXPECT_FALSE(pool.trim());
}

// Time to wait for memory.

TEST(VerbsReclaimTime, PeersThatDoNotAnswerCostNoMoreHoweverManyTheyAre) {
  ReclaimTime time;
  TimePoint now{std::chrono::seconds{10}};
  const TimePoint begin = now;
  EXPECT_EQ(time.begin(now) - now, kReclaimInAll / 2);
  time.end(now);
  for (int i = 0; i < 1000; ++i) {
    now = time.begin(now);
    time.end(now);
  }
  EXPECT_LE(now - begin, kReclaimInAll + kReclaimInAll / kReclaimRest);
}

TEST(VerbsReclaimTime, OneThatAnswersAtOnceTakesNoneFromTheOthers) {
  ReclaimTime time;
  TimePoint now{std::chrono::seconds{10}};
  for (int i = 0; i < 100; ++i) {
    time.begin(now);
    now += std::chrono::microseconds{10};
    time.end(now);
  }
  EXPECT_GE(time.begin(now) - now, milliseconds{49});
}

TEST(VerbsReclaimTime, TimeThatPassesMakesUpForIt) {
  ReclaimTime time;
  TimePoint now{std::chrono::seconds{10}};
  now = time.begin(now);
  time.end(now);
  now = time.begin(now);
  time.end(now);
  EXPECT_LT(time.begin(now) - now, kReclaimInAll / 4);
  time.end(now);
  now += kReclaimInAll * kReclaimRest;
  EXPECT_EQ(time.begin(now) - now, kReclaimInAll / 2);
}

}  // namespace
}  // namespace weft::detail::verbs_carrier
