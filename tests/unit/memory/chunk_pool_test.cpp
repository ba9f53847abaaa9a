// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/memory/chunk_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace weft {

using namespace weft::detail;
namespace {

constexpr ChunkPoolOptions kSmall{.chunk_bytes = 1024, .cached_bytes_max = 2048};

TEST(ChunkPool, GivesWritableAlignedMemoryOfTheStandardSize) {
  ChunkPool pool{kSmall};
  ChunkRef chunk = pool.acquire();
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->capacity(), 1024u);
  EXPECT_EQ(chunk->memory().size(), 1024u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(chunk->data()) % 64, 0u);
  std::memset(chunk->data(), 0x5a, chunk->capacity());
  EXPECT_EQ(pool.chunks_out(), 1u);
}

TEST(ChunkPool, ReusesTheChunkThatCameBackLast) {
  ChunkPool pool{kSmall};
  ChunkRef first = pool.acquire();
  ChunkRef second = pool.acquire();
  Chunk* const last_back = first.get();
  second.reset();
  first.reset();
  EXPECT_EQ(pool.cached_bytes(), 2048u);
  ChunkRef again = pool.acquire();
  EXPECT_EQ(again.get(), last_back);
  EXPECT_EQ(again->references(), 1u);
  EXPECT_EQ(pool.cached_bytes(), 1024u);
}

TEST(ChunkPool, KeepsNoMoreFreeMemoryThanItMay) {
  ChunkPool pool{kSmall};
  std::vector<ChunkRef> chunks;
  for (int i = 0; i < 5; ++i) chunks.push_back(pool.acquire());
  EXPECT_EQ(pool.chunks_out(), 5u);
  chunks.clear();
  EXPECT_EQ(pool.chunks_out(), 0u);
  EXPECT_EQ(pool.cached_bytes(), 2048u);
  pool.trim();
  EXPECT_EQ(pool.cached_bytes(), 0u);
  EXPECT_TRUE(pool.acquire());
}

TEST(ChunkPool, MakesLargerChunksToMeasureAndDoesNotKeepThem) {
  ChunkPool pool{kSmall};
  ChunkRef standard = pool.acquire(1000);
  EXPECT_EQ(standard->capacity(), 1024u);
  ChunkRef large = pool.acquire(1025);
  EXPECT_EQ(large->capacity(), 1025u);
  std::memset(large->data(), 1, large->capacity());
  large.reset();
  EXPECT_EQ(pool.cached_bytes(), 0u);
  EXPECT_EQ(pool.chunks_out(), 1u);
}

TEST(ChunkPool, AnImpossibleSizeGivesNothing) {
  ChunkPool pool{kSmall};
  EXPECT_FALSE(pool.acquire(std::numeric_limits<std::size_t>::max()));
  EXPECT_FALSE(pool.acquire(std::numeric_limits<std::size_t>::max() - 63));
  EXPECT_EQ(pool.chunks_out(), 0u);
}

TEST(ChunkRef, TheLastReferenceGivesTheChunkBack) {
  ChunkPool pool{kSmall};
  ChunkRef first = pool.acquire();
  ChunkRef second = first;
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->references(), 2u);
  first.reset();
  EXPECT_FALSE(first);
  EXPECT_EQ(pool.chunks_out(), 1u);
  ChunkRef third = std::move(second);
  EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move): what a move leaves is promised
  EXPECT_EQ(third->references(), 1u);
  third = pool.acquire();
  EXPECT_EQ(pool.chunks_out(), 1u);
  third = ChunkRef{};
  EXPECT_EQ(pool.chunks_out(), 0u);
}

TEST(ChunkRef, AssigningItToItselfKeepsTheChunk) {
  ChunkPool pool{kSmall};
  ChunkRef chunk = pool.acquire();
  ChunkRef& same = chunk;
  chunk = same;
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->references(), 1u);
}

TEST(ChunkPoolDeathTest, AChunkMayNotOutliveItsPool) {
  EXPECT_DEATH(
      {
        ChunkRef outliving;
        ChunkPool pool{kSmall};
        outliving = pool.acquire();
      },
      "a chunk outlives its pool");
}

}  // namespace
}  // namespace weft
