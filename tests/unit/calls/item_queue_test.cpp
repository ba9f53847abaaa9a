// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/stream/item_queue.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/heap_count.hpp"

namespace weft::calls_testing {

using namespace weft::detail;

namespace {

std::string item_of(std::size_t size, unsigned seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(seed * 31 + i * 7);
  return text;
}

class ItemQueues : public ::testing::Test {
 protected:
  static constexpr std::size_t kLimit = std::size_t{64} << 20;

  ~ItemQueues() override {
    queue_.clear();
    EXPECT_EQ(budget_.free(), kLimit) << "all that was charged is given back";
    EXPECT_EQ(chunks_.chunks_out(), 0u);
  }
  bool push(const std::string& item, const ChunkRef& chunk = {}) {
    return queue_.push(as_bytes(item), chunk, budget_, chunks_);
  }
  /// `item` as it comes: in a chunk of `capacity` bytes.
  bool push_in_chunk(const std::string& item, std::size_t capacity) {
    const ChunkRef chunk = chunks_.acquire(capacity);
    std::memcpy(chunk->data(), item.data(), item.size());
    return queue_.push({chunk->data(), item.size()}, chunk, budget_, chunks_);
  }
  void expect_next(const std::string& item) {
    ASSERT_FALSE(queue_.empty());
    const Bytes front = queue_.front();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(front.data()) % 8, 0u);
    ASSERT_EQ(front.size(), item.size());
    EXPECT_TRUE(as_text(front) == item) << item.size();
    queue_.pop();
  }
  std::size_t charged() const { return kLimit - budget_.free(); }

  LocalBudget budget_{std::make_shared<MemoryBudget>(kLimit)};
  ChunkPool chunks_;
  ItemQueue queue_;
};

TEST_F(ItemQueues, KeepItemsOfEverySizeInTheirOrder) {
  const std::size_t sizes[] = {0,      1,      7,       8,        9,    400,  504,    1000,
                               4000,   4096,   8191,    8192,     8193, 9000, 49'152, 65'000,
                               65'536, 70'000, 300'000, 1u << 20, 0,    5};
  for (const std::size_t first : sizes) {
    for (const std::size_t second : sizes) {
      ASSERT_TRUE(push(item_of(first, 1)));
      ASSERT_TRUE(push_in_chunk(item_of(second, 2), second));
      ASSERT_TRUE(push(item_of(3, 3)));
      expect_next(item_of(first, 1));
      expect_next(item_of(second, 2));
      expect_next(item_of(3, 3));
      ASSERT_TRUE(queue_.empty());
      ASSERT_EQ(charged(), 0u) << "an empty queue keeps nothing";
    }
  }
}

TEST_F(ItemQueues, KeepTheirOrderWhateverIsPushedAndPopped) {
  std::mt19937 random{17};
  for (int round = 0; round < 30; ++round) {
    std::deque<std::string> expected;
    const std::size_t most = std::size_t{1} << (random() % 18);
    for (int step = 0; step < 2000; ++step) {
      if (random() % 5 < 3 && expected.size() < 100) {
        expected.push_back(item_of(random() % most, static_cast<unsigned>(random())));
        if (random() % 2 == 0) {
          ASSERT_TRUE(push(expected.back()));
        } else {
          ASSERT_TRUE(push_in_chunk(expected.back(), expected.back().size() * (1 + random() % 3)));
        }
      } else if (!expected.empty()) {
        expect_next(expected.front());
        expected.pop_front();
      }
      ASSERT_EQ(queue_.empty(), expected.empty());
    }
    queue_.clear();
    ASSERT_EQ(charged(), 0u);
  }
}

TEST_F(ItemQueues, ShowTheFirstWhereItStaysWhileOthersCome) {
  ASSERT_TRUE(push(item_of(100, 1)));
  const Bytes front = queue_.front();
  for (unsigned i = 0; i < 1000; ++i) ASSERT_TRUE(push(item_of(i, i)));
  EXPECT_EQ(queue_.front().data(), front.data());
  EXPECT_TRUE(as_text(front) == item_of(100, 1));
}

TEST_F(ItemQueues, LeaveALargeItemInItsChunkIfItIsMostOfThat) {
  const std::string most = item_of(50'000, 1);
  const ChunkRef chunk = chunks_.acquire();
  std::memcpy(chunk->data(), most.data(), most.size());
  ASSERT_TRUE(queue_.push({chunk->data(), most.size()}, chunk, budget_, chunks_));
  EXPECT_EQ(queue_.front().data(), chunk->data());
  EXPECT_EQ(chunk->references(), 2u);
  EXPECT_GE(charged(), chunk->capacity());
  queue_.pop();
  EXPECT_EQ(chunk->references(), 1u);
  // A small part of one is copied: it would keep the chunk from being received into.
  ASSERT_TRUE(queue_.push({chunk->data(), 20'000}, chunk, budget_, chunks_));
  EXPECT_NE(queue_.front().data(), chunk->data());
  EXPECT_EQ(chunk->references(), 1u);
}

// The chunk behind it is the connection's, which receives into it.
TEST_F(ItemQueues, PutNothingBehindAnItemThatStaysInItsChunk) {
  const std::string most = item_of(50'000, 1);
  const ChunkRef chunk = chunks_.acquire();
  std::memset(chunk->data(), 0x55, chunk->capacity());
  std::memcpy(chunk->data(), most.data(), most.size());
  ASSERT_TRUE(queue_.push({chunk->data(), most.size()}, chunk, budget_, chunks_));
  for (unsigned i = 0; i < 10; ++i) ASSERT_TRUE(push(item_of(i * 8, i)));
  for (std::size_t at = most.size(); at < chunk->capacity(); ++at) {
    ASSERT_EQ(chunk->data()[at], std::byte{0x55}) << at;
  }
  expect_next(most);
  for (unsigned i = 0; i < 10; ++i) expect_next(item_of(i * 8, i));
}

TEST_F(ItemQueues, TakeLittleForLittle) {
  ASSERT_TRUE(push(item_of(8, 1)));
  EXPECT_LE(charged(), 512u);
  for (unsigned i = 0; i < 1000; ++i) ASSERT_TRUE(push(item_of(60, i)));
  // 72 bytes each with their lengths; a chunk is charged whole.
  EXPECT_LE(charged(), 2u * 65536 + 3 * 4096);
}

TEST_F(ItemQueues, RefuseAnItemForWhichThereIsNoMemoryAndKeepWhatTheyHave) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{3000}, std::size_t{9000},
                                 std::size_t{50'000}, std::size_t{200'000}}) {
    for (const bool whole : {false, true}) {
      ASSERT_TRUE(push(item_of(10, 1)));
      unsigned taken = 0;
      // All but a little of the budget is somebody else's, and more of it each time.
      const std::size_t others = budget_.free() - 300'000;
      ASSERT_TRUE(budget_.try_reserve(others));
      const auto one_more = [&] {
        return whole ? push_in_chunk(item_of(size, 2), size) : push(item_of(size, 2));
      };
      while (taken < 20'000 && one_more()) ++taken;
      EXPECT_TRUE(size == 0 || taken < 20'000u) << size;
      const std::size_t before = charged();
      EXPECT_FALSE(size != 0 && one_more());
      EXPECT_EQ(charged(), before) << "a refused item is charged nothing";
      expect_next(item_of(10, 1));
      for (unsigned i = 0; i < taken; ++i) expect_next(item_of(size, 2));
      EXPECT_TRUE(queue_.empty());
      budget_.release(others);
      ASSERT_EQ(charged(), 0u);
    }
  }
}

TEST_F(ItemQueues, SurviveEachAllocationThatFails) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  for (const std::size_t size : {std::size_t{1}, std::size_t{600}, std::size_t{3500}, std::size_t{5000},
                                 std::size_t{60'000}, std::size_t{500'000}}) {
    for (std::size_t position = 1;; ++position) {
      ChunkPool chunks;
      ItemQueue queue;
      const std::string item = item_of(size, 5);
      int kept = 0;
      testing::fail_allocation(position);
      for (int i = 0; i < 40; ++i) {
        if (queue.push(as_bytes(item), {}, budget_, chunks)) ++kept;
      }
      const bool unused = testing::allocation_still_to_fail();
      testing::fail_allocation(0);
      EXPECT_GE(kept, 39);
      for (; kept > 0; --kept) {
        ASSERT_EQ(as_text(queue.front()), item);
        queue.pop();
      }
      EXPECT_TRUE(queue.empty());
      EXPECT_EQ(charged(), 0u);
      if (unused) break;
      ASSERT_LT(position, 1000u);
    }
  }
}

}  // namespace
}  // namespace weft::calls_testing
