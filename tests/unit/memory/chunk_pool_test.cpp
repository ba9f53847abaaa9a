// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/memory/chunk_pool.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

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

struct Keeper final : ChunkKeeper {
  void on_large_kept() noexcept override { ++told; }
  int told = 0;
};

constexpr std::size_t kKiB = 1024;

TEST(LargeChunks, AreKeptForTheNextOfTheirSize) {
  Keeper keeper;
  ChunkPool pool{{}, &keeper};
  ChunkRef large = pool.acquire(300 * kKiB);
  const std::size_t capacity = large->capacity();
  EXPECT_EQ(keeper.told, 0);
  Chunk* const first = large.get();
  large.reset();
  EXPECT_EQ(keeper.told, 1);
  EXPECT_EQ(pool.cached_bytes(), capacity);
  EXPECT_EQ(pool.chunks_out(), 0u);
  large = pool.acquire(capacity);
  EXPECT_EQ(large.get(), first);
  EXPECT_EQ(large->references(), 1u);
  EXPECT_EQ(pool.cached_bytes(), 0u);
  EXPECT_NE(pool.acquire(300 * kKiB).get(), first);
}

TEST(LargeChunks, OfNoSizeIsMoreThanAFifthUnused) {
  Keeper keeper;
  ChunkPool pool{{.large_bytes_max = LargeChunks::kLargest}, &keeper};
  std::size_t sizes = 0;
  for (std::size_t bytes = LargeChunks::kAbove + 1; bytes < 9 * kKiB * kKiB; bytes += bytes / 37) {
    const ChunkRef chunk = pool.acquire(bytes);
    ASSERT_GE(chunk->capacity(), bytes);
    ASSERT_LE(chunk->capacity() - bytes, chunk->capacity() / 5 + 1) << bytes;
    ASSERT_EQ(LargeChunks::rounded(chunk->capacity()), chunk->capacity());
    ++sizes;
  }
  EXPECT_GT(sizes, 100u);
}

TEST(LargeChunks, AreKeptUpToTheirMost) {
  Keeper keeper;
  ChunkPool pool{{.large_bytes_max = 512 * kKiB}, &keeper};
  std::vector<ChunkRef> chunks;
  for (int i = 0; i < 5; ++i) chunks.push_back(pool.acquire(224 * kKiB));
  chunks.clear();
  EXPECT_EQ(pool.cached_bytes(), 2 * 224 * kKiB);
  pool.acquire(513 * kKiB).reset();
  EXPECT_EQ(pool.acquire(513 * kKiB)->capacity(), 513 * kKiB) << "to measure, for it is never kept";
  EXPECT_EQ(pool.cached_bytes(), 2 * 224 * kKiB);
  pool.trim();
  EXPECT_EQ(pool.cached_bytes(), 0u);
}

TEST(LargeChunks, OnlyTheUnusedGoBack) {
  Keeper keeper;
  ChunkPool pool{{}, &keeper};
  const auto use = [&](int count) {
    std::vector<ChunkRef> chunks;
    for (int i = 0; i < count; ++i) chunks.push_back(pool.acquire(256 * kKiB));
  };
  use(3);
  EXPECT_TRUE(pool.release_unused()) << "they were used since the last time, which never was";
  EXPECT_EQ(pool.cached_bytes(), 3 * 256 * kKiB);
  use(2);
  use(1);
  EXPECT_TRUE(pool.release_unused());
  EXPECT_EQ(pool.cached_bytes(), 2 * 256 * kKiB) << "never were more than two in use";
  EXPECT_FALSE(pool.release_unused());
  EXPECT_EQ(pool.cached_bytes(), 0u);
}

TEST(LargeChunks, ThoseThatAreKeptCanBeHadAlone) {
  Keeper keeper;
  ChunkPool pool{{}, &keeper};
  EXPECT_FALSE(pool.acquire_kept(100 * kKiB, 0));
  pool.acquire(100 * kKiB).reset();
  EXPECT_FALSE(pool.acquire_kept(200 * kKiB, 0)) << "none of this size is kept";
  EXPECT_TRUE(pool.acquire_kept(100 * kKiB, 0));
  EXPECT_FALSE(pool.acquire_kept(10, 0)) << "a standard one";
  EXPECT_FALSE(pool.acquire_kept(std::numeric_limits<std::size_t>::max(), 0));
}

// Makes `pool` keep `count` chunks of `bytes`.
void make_kept(ChunkPool& pool, std::size_t bytes, int count) {
  std::vector<ChunkRef> chunks;
  for (int i = 0; i < count; ++i) chunks.push_back(pool.acquire(bytes));
}

TEST(LargeChunks, ThatAreKeptCountAsUnfilledUntilAllButAQuarterHasArrivedOrTheyComeBack) {
  Keeper keeper;
  ChunkPool pool{{}, &keeper};
  make_kept(pool, 1024 * kKiB, 2);
  ChunkRef chunk = pool.acquire_kept(1000 * kKiB, 100 * kKiB);
  EXPECT_EQ(pool.unfilled_bytes(), 924 * kKiB);
  pool.fill(*chunk, 500 * kKiB);
  EXPECT_EQ(pool.unfilled_bytes(), 424 * kKiB);
  ChunkRef other = pool.acquire_kept(1000 * kKiB, 0);
  EXPECT_EQ(pool.unfilled_bytes(), 1448 * kKiB);
  pool.fill(*chunk, 300 * kKiB);
  EXPECT_EQ(pool.unfilled_bytes(), 1024 * kKiB) << "of the first no more is used by its frame";
  pool.fill(*chunk, 400 * kKiB);
  other.reset();
  EXPECT_EQ(pool.unfilled_bytes(), 0u);
  other = pool.acquire(1000 * kKiB);
  EXPECT_EQ(pool.unfilled_bytes(), 0u) << "of what has arrived nothing counts";
}

TEST(LargeChunks, AreNotGivenForWhatIsAnnouncedBeyondWhatMayBeUnfilled) {
  Keeper keeper;
  ChunkPool pool{{.large_bytes_max = 2048 * kKiB}, &keeper};
  make_kept(pool, 1024 * kKiB, 2);
  make_kept(pool, 512 * kKiB, 1);  // beyond what may be kept
  ChunkRef first = pool.acquire_kept(1024 * kKiB, 0);
  make_kept(pool, 512 * kKiB, 2);
  const ChunkRef second = pool.acquire_kept(1024 * kKiB, 100 * kKiB);
  EXPECT_EQ(pool.unfilled_bytes(), 1948 * kKiB);
  EXPECT_FALSE(pool.acquire_kept(512 * kKiB, 0));
  EXPECT_TRUE(pool.acquire(512 * kKiB)) << "what has arrived is no matter of this";
  EXPECT_TRUE(pool.acquire_kept(512 * kKiB, 412 * kKiB));
  first.reset();
  EXPECT_TRUE(pool.acquire_kept(512 * kKiB, 0));
}

TEST(LargeChunks, InWhichLessWaitsThanBeforeCountAsUnfilledAgainIfTheyMay) {
  Keeper keeper;
  ChunkPool pool{{.large_bytes_max = 2048 * kKiB}, &keeper};
  const ChunkRef chunk = pool.acquire(1024 * kKiB);
  EXPECT_TRUE(pool.count_unfilled(*chunk, 24 * kKiB));
  EXPECT_EQ(pool.unfilled_bytes(), 1000 * kKiB);
  EXPECT_TRUE(pool.count_unfilled(*chunk, 500 * kKiB));
  EXPECT_EQ(pool.unfilled_bytes(), 1000 * kKiB) << "only fill() makes it less";
  const ChunkRef other = pool.acquire(1536 * kKiB);
  EXPECT_FALSE(pool.count_unfilled(*other, 24 * kKiB));
  EXPECT_EQ(pool.unfilled_bytes(), 1000 * kKiB);
  EXPECT_TRUE(pool.count_unfilled(*other, 1000 * kKiB));
}

// A page that the system gives anew is cleared, and costs a fault, both more than copying it.
TEST(LargeChunks, UsedAgainAndAgainFaultNoPages) {
  Keeper keeper;
  ChunkPool pool{{}, &keeper};
  const auto use = [&] {
    const ChunkRef one = pool.acquire(1024 * kKiB);
    const ChunkRef other = pool.acquire(1024 * kKiB);
    std::memset(one->data(), 1, one->capacity());
    std::memset(other->data(), 1, other->capacity());
  };
  const auto faults = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  use();
  const auto before = faults();
  for (int i = 0; i < 50; ++i) use();
  EXPECT_LT(faults() - before, 100) << "512 pages in each of 50 rounds";
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
