// SPDX-License-Identifier: Apache-2.0
// UX-7: every family of operations between two queue pairs. Runs on simulated devices, and on real ones.
// Capabilities: BU-2.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "unit/verbs/pair.hpp"
#include "weft/detail/coro/combine.hpp"

namespace weft::verbs {
namespace {

using testing::Pair;
using testing::same;
using testing::text_of;

constexpr std::size_t kLarge = 300'000;

class VerbsFamilies : public ::testing::Test {
 protected:
  Pair pair_;
};

TEST_F(VerbsFamilies, AMessageArrivesWithItsLength) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const Memory into = pair.region(64).memory();
    auto receiving = pair.b->receive(into);
    const auto sent = co_await pair.a->send(pair.text("hello"));
    EXPECT_TRUE(sent.ok()) << sent.status().to_string();
    const auto received = co_await std::move(receiving);
    EXPECT_TRUE(received.ok()) << received.status().to_string();
    if (!received.ok()) co_return;
    EXPECT_EQ(text_of(into, received->bytes), "hello");
    EXPECT_EQ(received->immediate, std::nullopt);
    EXPECT_EQ(received->queue_pair, pair.b->number());
  };
  pair_.run(exchange(pair_));
}

TEST_F(VerbsFamilies, ALargeMessageArrivesWhole) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const Memory from = pair.pattern(kLarge, 3);
    const Memory into = pair.region(kLarge).memory();
    auto receiving = pair.b->receive(into);
    EXPECT_TRUE((co_await pair.a->send(from)).ok());
    const auto received = co_await std::move(receiving);
    EXPECT_TRUE(received.ok()) << received.status().to_string();
    EXPECT_TRUE(same(from, into));
  };
  pair_.run(exchange(pair_));
}

TEST_F(VerbsFamilies, AMessageOfNoBytesAndANumberArrive) {
  const auto exchange = [](Pair& pair) -> Task<> {
    auto receiving = pair.b->receive(std::span<const Memory>{});
    EXPECT_TRUE((co_await pair.a->send_with_immediate({}, 0x1234'5678)).ok());
    const auto received = co_await std::move(receiving);
    EXPECT_TRUE(received.ok()) << received.status().to_string();
    if (!received.ok()) co_return;
    EXPECT_EQ(received->bytes, 0U);
    EXPECT_EQ(received->immediate, 0x1234'5678U);
  };
  pair_.run(exchange(pair_));
}

TEST_F(VerbsFamilies, AMessageIsGatheredFromPiecesAndScatteredIntoOthers) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const std::array<Memory, 3> from{pair.text("one "), pair.text("two "), pair.text("three")};
    const std::array<Memory, 2> into{pair.region(6).memory(), pair.region(32).memory()};
    auto receiving = pair.b->receive(into);
    EXPECT_TRUE((co_await pair.a->send(from)).ok());
    const auto received = co_await std::move(receiving);
    EXPECT_TRUE(received.ok()) << received.status().to_string();
    if (!received.ok()) co_return;
    EXPECT_EQ(received->bytes, 13U);
    EXPECT_EQ(text_of(into[0], 6), "one tw");
    EXPECT_EQ(text_of(into[1], 7), "o three");
  };
  pair_.run(exchange(pair_));
}

TEST_F(VerbsFamilies, AWriteLandsWhereItWasMeantToAndNowhereElse) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const MemoryRegion target = pair.region(1024);
    const auto written = co_await pair.a->write(pair.text("written"), target.remote().slice(100, 50));
    EXPECT_TRUE(written.ok()) << written.status().to_string();
    EXPECT_EQ(text_of(target.slice(100, 50), 8), std::string_view("written\0", 8));
    EXPECT_EQ(target.data()[99], std::byte{0});
  };
  pair_.run(exchange(pair_));
}

TEST_F(VerbsFamilies, AWriteWithANumberTakesAReceive) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const MemoryRegion target = pair.region(16);
    auto receiving = pair.b->receive(std::span<const Memory>{});
    const Memory from = pair.text("told");
    EXPECT_TRUE((co_await pair.a->write_with_immediate({&from, 1}, target.remote(), 7)).ok());
    const auto received = co_await std::move(receiving);
    EXPECT_TRUE(received.ok()) << received.status().to_string();
    if (!received.ok()) co_return;
    EXPECT_EQ(received->immediate, 7U);
    EXPECT_EQ(received->bytes, 4U);
    EXPECT_EQ(text_of(target.memory(), 4), "told");
  };
  pair_.run(exchange(pair_));
}

TEST_F(VerbsFamilies, AReadFetchesWhatLiesAtThePeer) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const Memory there = pair.pattern(kLarge, 9);
    const RemoteMemory remote{reinterpret_cast<std::uintptr_t>(there.data()), there.size(),
                              there.block()->registration()->rkey};
    const Memory into = pair.region(kLarge).memory();
    const auto fetched = co_await pair.a->read(into, remote);
    EXPECT_TRUE(fetched.ok()) << fetched.status().to_string();
    EXPECT_TRUE(same(there, into));
  };
  pair_.run(exchange(pair_));
}

TEST_F(VerbsFamilies, AtomicsSayWhatWasThereBefore) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const MemoryRegion target = pair.region(64);
    const RemoteMemory word = target.remote().slice(8, 8);
    const auto now = [&] { return weft::detail::load_le<std::uint64_t>(target.data() + 8); };
    auto before = co_await pair.a->fetch_add(word, 40);
    EXPECT_TRUE(before.ok()) << before.status().to_string();
    EXPECT_EQ(*before, 0U);
    before = co_await pair.a->fetch_add(word, 2);
    EXPECT_EQ(before.ok() ? *before : 0, 40U);
    EXPECT_EQ(now(), 42U);
    before = co_await pair.a->compare_swap(word, 41, 1);
    EXPECT_EQ(before.ok() ? *before : 0, 42U);
    EXPECT_EQ(now(), 42U) << "it was not what was expected";
    before = co_await pair.a->compare_swap(word, 42, 7);
    EXPECT_EQ(before.ok() ? *before : 0, 42U);
    EXPECT_EQ(now(), 7U);
  };
  pair_.run(exchange(pair_));
}

TEST_F(VerbsFamilies, TwoQueuePairsShareReceives) {
  const auto exchange = [](Pair& pair) -> Task<> {
    auto shared = SharedReceiveQueue::create(pair.domain, *pair.completions, {.receives_max = 4}).value();
    QueuePairOptions options;
    options.shared_receives = shared.get();
    const auto one = pair.make(options);
    const auto other = pair.make(options);
    const auto to_one = pair.make();
    const auto to_other = pair.make();
    Pair::join(*one, *to_one);
    Pair::join(*other, *to_other);
    const Memory first = pair.region(32).memory();
    const Memory second = pair.region(32).memory();
    auto receiving_first = shared->receive(first);
    auto receiving_second = shared->receive(second);
    EXPECT_EQ(shared->posted(), 2U);
    EXPECT_TRUE((co_await to_other->send(pair.text("to the other"))).ok());
    EXPECT_TRUE((co_await to_one->send(pair.text("to the one"))).ok());
    const auto got_first = co_await std::move(receiving_first);
    const auto got_second = co_await std::move(receiving_second);
    EXPECT_TRUE(got_first.ok() && got_second.ok());
    if (!got_first.ok() || !got_second.ok()) co_return;
    EXPECT_EQ(got_first->queue_pair, other->number());
    EXPECT_EQ(text_of(first, got_first->bytes), "to the other");
    EXPECT_EQ(got_second->queue_pair, one->number());
    EXPECT_EQ(shared->posted(), 0U);
    EXPECT_EQ((co_await one->receive(first)).status().code(), StatusCode::kFailedPrecondition);
  };
  pair_.run(exchange(pair_));
}

TEST_F(VerbsFamilies, MoreOperationsThanTheQueueHoldsWaitForRoomAndKeepTheirOrder) {
  const auto exchange = [](Pair& pair) -> Task<> {
    constexpr std::size_t kCount = 200;
    const auto one = pair.make({.sends_max = 4});
    const auto other = pair.make({.receives_max = kCount});
    Pair::join(*one, *other);
    const MemoryRegion into = pair.region(kCount * 8);
    const MemoryRegion from = pair.region(kCount * 8);
    std::vector<decltype(other->receive(into.memory()))> receiving;
    std::vector<decltype(one->send(from.memory()))> sending;
    for (std::size_t i = 0; i < kCount; ++i) {
      weft::detail::store_le(from.data() + i * 8, std::uint64_t{i});
      receiving.push_back(other->receive(into.slice(i * 8, 8)));
    }
    for (std::size_t i = 0; i < kCount; ++i) sending.push_back(one->send(from.slice(i * 8, 8)));
    EXPECT_LE(one->sends_posted(), 4U);
    for (auto& each : sending) EXPECT_TRUE((co_await std::move(each)).ok());
    for (std::size_t i = 0; i < kCount; ++i) {
      EXPECT_TRUE((co_await std::move(receiving[i])).ok());
      EXPECT_EQ(weft::detail::load_le<std::uint64_t>(into.data() + i * 8), i);
    }
    EXPECT_EQ(one->sends_posted(), 0U);
  };
  pair_.run(exchange(pair_));
  EXPECT_EQ(pair_.completions->operations_out(), 0U);
}

TEST(VerbsLoop, ABusyLoopNeedsNoEventChannel) {
  Pair pair{{}, WaitMode::kBusy};
  const auto exchange = [](Pair& of) -> Task<> {
    auto silent =
        CompletionQueue::create(*of.loop, of.device, {.entries = 64, .event_channel = false}).value();
    EXPECT_EQ(silent->descriptor(), -1);
    const QueuePairOptions options{
        .port = of.device->active_port().value().number, .sends_max = 8, .receives_max = 8};
    auto one = QueuePair::create(of.domain, *silent, options).value();
    auto other = QueuePair::create(of.domain, *silent, options).value();
    Pair::join(*one, *other);
    const Memory into = of.region(16).memory();
    auto receiving = other->receive(into);
    EXPECT_TRUE((co_await one->send(of.text("polled"))).ok());
    EXPECT_TRUE((co_await std::move(receiving)).ok());
    EXPECT_EQ(text_of(into, 6), "polled");
  };
  pair.run(exchange(pair));
}

TEST(VerbsLoop, NoCompletionIsLostBetweenDrainingAndSleeping) {
  Pair pair{{}, WaitMode::kWait};
  const auto echo = [](Pair& of) -> Task<> {
    const Memory there = of.region(64).memory();
    const Memory back = of.region(64).memory();
    for (int i = 0; i < 500; ++i) {
      auto at_b = of.b->receive(there);
      auto at_a = of.a->receive(back);
      EXPECT_TRUE((co_await of.a->send(there)).ok());
      EXPECT_TRUE((co_await std::move(at_b)).ok());
      EXPECT_TRUE((co_await of.b->send(back)).ok());
      EXPECT_TRUE((co_await std::move(at_a)).ok());
    }
  };
  pair.run(echo(pair));
}

}  // namespace
}  // namespace weft::verbs
