// SPDX-License-Identifier: Apache-2.0
// UX-5: what an operation takes from the heap once everything is warm: nothing.
#include <gtest/gtest.h>

#include "support/heap_count.hpp"
#include "unit/ucx/pair.hpp"
#include "weft/detail/coro/scope.hpp"

namespace weft::ucx {
namespace {

using testing::Pair;
using testing::Way;

constexpr int kWarm = 200;
constexpr int kRounds = 2000;

class UcxAllocations : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (!weft::testing::kHeapIsCounted) GTEST_SKIP() << "a sanitizer brings its own operator new";
  }
};

Task<> tag_echo(Pair* pair, MemoryPool* pool, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Memory into = pool->allocate(64);
    auto received = co_await tag_receive(*pair->b, 1, kWholeTag, into);
    EXPECT_TRUE(received.ok());
    auto sent = co_await tag_send(pair->to_a, 2, into);
    EXPECT_TRUE(sent.ok());
  }
}

Task<> tag_ask(Pair* pair, MemoryPool* pool, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Memory memory = pool->allocate(64);
    auto sent = co_await tag_send(pair->to_b, 1, memory);
    EXPECT_TRUE(sent.ok());
    auto received = co_await tag_receive(*pair->a, 2, kWholeTag, memory);
    EXPECT_TRUE(received.ok());
  }
}

struct AmPair {
  Pair pair;
  MemoryPool pool{4096};
  AmReceiver at_a{*pair.a, 1};
  AmReceiver at_b{*pair.b, 1};
};

Task<> am_echo(AmPair* both, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    auto message = co_await both->at_b.receive();
    EXPECT_TRUE(message.ok());
    const Memory answer = both->pool.allocate(message->size());
    auto sent = co_await am_send(both->pair.to_a, 1, message->header(), answer);
    EXPECT_TRUE(sent.ok());
  }
}

Task<> am_ask(AmPair* both, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    MemoryVector pieces;
    pieces.add(both->pool.allocate(100));
    pieces.add(both->pool.allocate(28));
    auto sent = co_await am_send(both->pair.to_b, 1, as_bytes("header"), pieces);
    EXPECT_TRUE(sent.ok());
    auto message = co_await both->at_a.receive();
    EXPECT_TRUE(message.ok() && message->size() == 128);
  }
}

template <typename Echo, typename Ask, typename... Args>
Task<> both_sides(Echo echo, Ask ask, int rounds, Args... args) {
  Scope scope;
  scope.spawn(echo, args..., rounds);
  co_await ask(args..., rounds);
  co_await scope.join();
}

TEST_P(UcxAllocations, ATagPingPongTakesNothingFromTheHeap) {
  Pair pair{GetParam()};
  MemoryPool pool{64};
  pair.run(both_sides(&tag_echo, &tag_ask, kWarm, &pair, &pool));
  const std::size_t before = weft::testing::heap_allocations();
  pair.run(both_sides(&tag_echo, &tag_ask, kRounds, &pair, &pool));
  EXPECT_EQ(weft::testing::heap_allocations() - before, 0U);
}

TEST_P(UcxAllocations, AnActiveMessagePingPongTakesNothingFromTheHeap) {
  AmPair both{.pair = Pair{GetParam()}};
  both.pair.run(both_sides(&am_echo, &am_ask, kWarm, &both));
  const std::size_t before = weft::testing::heap_allocations();
  both.pair.run(both_sides(&am_echo, &am_ask, kRounds, &both));
  EXPECT_EQ(weft::testing::heap_allocations() - before, 0U);
}

INSTANTIATE_TEST_SUITE_P(Ways, UcxAllocations, ::testing::ValuesIn(testing::ways()), testing::way_name);

}  // namespace
}  // namespace weft::ucx
