// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/detail/memory/budget.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft {

using namespace weft::detail;
namespace {

TEST(MemoryBudget, GivesUpToItsLimitAndNoByteMore) {
  MemoryBudget budget{100};
  EXPECT_TRUE(budget.try_reserve(60));
  EXPECT_FALSE(budget.try_reserve(41));
  EXPECT_TRUE(budget.try_reserve(40));
  EXPECT_FALSE(budget.try_reserve(1));
  EXPECT_TRUE(budget.try_reserve(0));
  EXPECT_EQ(budget.used(), 100u);
  budget.release(100);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudget, ASumThatOverflowsIsRefused) {
  MemoryBudget budget{MemoryBudget::kUnlimited};
  EXPECT_TRUE(budget.try_reserve(10));
  EXPECT_FALSE(budget.try_reserve(std::numeric_limits<std::size_t>::max() - 5));
  EXPECT_EQ(budget.used(), 10u);
  budget.release(10);
}

TEST(MemoryBudget, CountsInEveryBudgetAboveAndInNoneWhenOneRefuses) {
  MemoryBudget process{100};
  MemoryBudget connection{80, &process};
  MemoryBudget other{80, &process};
  EXPECT_TRUE(connection.try_reserve(70));
  EXPECT_EQ(process.used(), 70u);
  EXPECT_FALSE(other.try_reserve(31));
  EXPECT_EQ(other.used(), 0u);
  EXPECT_EQ(process.used(), 70u);
  EXPECT_FALSE(connection.try_reserve(11));
  EXPECT_EQ(process.used(), 70u);
  connection.release(70);
  EXPECT_TRUE(other.try_reserve(80));
  other.release(80);
  EXPECT_EQ(process.used(), 0u);
}

TEST(MemoryBudget, ThreadsThatCompeteNeverExceedTheLimit) {
  MemoryBudget process{10};
  std::atomic<int> granted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      MemoryBudget own{8, &process};
      for (int i = 0; i < 20'000; ++i) {
        if (!own.try_reserve(3)) continue;
        EXPECT_LE(process.used(), process.limit());
        ++granted;
        own.release(3);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GT(granted.load(), 0);
  EXPECT_EQ(process.used(), 0u);
}

TEST(MemoryBudgetDeathTest, ReleasingMoreThanWasReservedIsAProgrammingError) {
  EXPECT_DEATH(
      {
        MemoryBudget budget{10};
        budget.release(1);
      },
      "more was released");
}

TEST(MemoryBudgetDeathTest, MayNotEndWhileBytesAreReserved) {
  EXPECT_DEATH(
      {
        MemoryBudget budget{10};
        [[maybe_unused]] const bool taken = budget.try_reserve(1);
      },
      "still reserved");
}

TEST(Buffer, ReservesBeforeItAllocatesAndReleasesWhenItEnds) {
  MemoryBudget budget{1000};
  {
    auto buffer = Buffer::try_allocate(600, &budget);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->size(), 600u);
    EXPECT_EQ(budget.used(), 600u);
    auto refused = Buffer::try_allocate(401, &budget);
    EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
    EXPECT_NE(refused.status().message().find("401"), std::string_view::npos) << refused.status().to_string();
    EXPECT_EQ(budget.used(), 600u);
    const Buffer moved = std::move(*buffer);
    EXPECT_EQ(budget.used(), 600u);
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST(Buffer, MayKeepItsBudgetAlive) {
  auto budget = std::make_shared<MemoryBudget>(1000);
  auto buffer = Buffer::try_allocate(600, budget);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(budget->used(), 600u);
  EXPECT_EQ(Buffer::try_allocate(401, budget).status().code(), StatusCode::kResourceExhausted);
  std::weak_ptr<MemoryBudget> seen = budget;
  budget.reset();
  ASSERT_FALSE(seen.expired()) << "the buffer is still to be released there";
  *buffer = Buffer{};
  EXPECT_TRUE(seen.expired());
}

TEST(Buffer, AnImpossibleSizeIsAFailureThatReservesNothing) {
  MemoryBudget budget{MemoryBudget::kUnlimited};
  auto buffer = Buffer::try_allocate(std::numeric_limits<std::size_t>::max() / 2 + 2, &budget);
  EXPECT_EQ(buffer.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(Buffer, AShortBlockReleasesWhatWasReservedForItOnceAndKeepsItsBudgetAlive) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{16384}}) {
    auto budget = std::make_shared<MemoryBudget>(100'000);
    ASSERT_TRUE(budget->try_reserve(size + 1));
    Buffer buffer = Buffer::short_block(size, budget);
    ASSERT_EQ(buffer.size(), size);
    std::memset(buffer.data(), 1, size);
    Buffer moved = std::move(buffer);
    EXPECT_EQ(budget->used(), size + 1);
    moved = Buffer{};
    EXPECT_EQ(budget->used(), 1u);
    ASSERT_TRUE(budget->try_reserve(size));
    moved = Buffer::short_block(size, budget);
    moved.leave_budget();
    moved.leave_budget();
    EXPECT_EQ(budget->used(), 1u);
    moved = Buffer{};
    EXPECT_EQ(budget->used(), 1u);
    ASSERT_TRUE(budget->try_reserve(size));
    moved = Buffer::short_block(size, budget);
    budget->release(1);
    const std::weak_ptr<MemoryBudget> seen = budget;
    budget.reset();
    EXPECT_FALSE(seen.expired());
    moved = Buffer{};
    EXPECT_TRUE(seen.expired());
  }
}

TEST(Buffer, OfNoBytesIsEmpty) {
  auto buffer = Buffer::try_allocate(0);
  ASSERT_TRUE(buffer.ok());
  EXPECT_TRUE(buffer->empty());
  EXPECT_TRUE(Buffer::copy_of({}).empty());
  EXPECT_TRUE(Buffer::adopt(std::string{}).empty());
}

TEST(Buffer, ACopyIsIndependentOfItsSource) {
  std::string source = "weft";
  Buffer buffer = Buffer::copy_of(as_bytes(source));
  source = "gone";
  EXPECT_EQ(as_text(buffer.bytes()), "weft");
  buffer.mutable_bytes()[0] = std::byte{'l'};
  EXPECT_EQ(as_text(buffer.bytes()), "left");
}

TEST(Buffer, AdoptsContainersWithoutMovingTheirBytes) {
  std::vector<std::byte> bytes(100, std::byte{7});
  const std::byte* const address = bytes.data();
  const Buffer buffer = Buffer::adopt(std::move(bytes));
  EXPECT_EQ(buffer.data(), address);
  EXPECT_EQ(buffer.size(), 100u);

  std::string text(100, 'x');
  const void* const text_address = text.data();
  const Buffer text_buffer = Buffer::adopt(std::move(text));
  EXPECT_EQ(text_buffer.data(), text_address);
  const Buffer short_text = Buffer::adopt(std::string{"abc"});
  EXPECT_EQ(as_text(short_text.bytes()), "abc");
}

TEST(Buffer, GivesForeignMemoryBackExactlyOnce) {
  int released = 0;
  std::byte memory[4]{};
  const auto release = [](void* owner) noexcept { ++*static_cast<int*>(owner); };
  {
    Buffer buffer = Buffer::adopt(MutableBytes{memory}, &released, release);
    Buffer moved = std::move(buffer);
    EXPECT_TRUE(buffer.empty());  // NOLINT(bugprone-use-after-move): what a move leaves is promised
    EXPECT_EQ(moved.data(), memory);
    moved = Buffer::copy_of(as_bytes("other"));
    EXPECT_EQ(released, 1);
  }
  EXPECT_EQ(released, 1);
}

// As in a list of blocks, each of which owns the next one: what is assigned must outlive its old place.
TEST(Buffer, IsAssignedAlsoWhatLivesInWhatItOwns) {
  struct Block {
    Buffer next;
    std::byte memory[4]{};
  };
  int released = 0;
  std::byte last[4]{};
  auto* const first = new Block{Buffer::adopt(MutableBytes{last}, &released,
                                              [](void* owner) noexcept { ++*static_cast<int*>(owner); })};
  Buffer list = Buffer::adopt(MutableBytes{first->memory}, first,
                              [](void* owner) noexcept { delete static_cast<Block*>(owner); });
  list = std::move(first->next);
  EXPECT_EQ(released, 0) << "it went with the block that it was in";
  EXPECT_EQ(list.data(), last);
  list = Buffer{};
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace weft
