// SPDX-License-Identifier: Apache-2.0
// An answer whose attachment arrives, and which bodies keep the chunk that they were received into.
#include "weft/detail/calls/call/arriving_answer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "weft/detail/calls/terms/chunk_keeping.hpp"

namespace weft {

using namespace weft::detail;
namespace {

TEST(ArrivingAnswers, KeepTheChunkOfTheirBodyOnlyWhereItIsMostOfThat) {
  ChunkPool chunks;
  std::byte place[8];
  const auto kept = [&](std::size_t body) {
    ChunkRef chunk = chunks.acquire(std::size_t{1} << 20);
    std::memset(chunk->data(), 'b', body);
    ArrivingAnswer answer;
    answer.begin({{}, {chunk->data(), body}}, chunk, Landing::into(place));
    chunk.reset();
    EXPECT_EQ(as_text(answer.frame().body), std::string(body, 'b'));
    return chunks.chunks_out();
  };
  EXPECT_EQ(kept(8000), 0u);
  EXPECT_EQ(kept(500'000), 0u);
  EXPECT_EQ(kept(1'000'000), 1u);
}

TEST(BodiesInChunks, StayThereWhenTheyAreLongAndMostOfTheirChunk) {
  ChunkPool chunks;
  const ChunkRef chunk = chunks.acquire();
  const auto stays = [&](std::size_t bytes) { return stays_in_chunk({chunk->data(), bytes}, chunk); };
  EXPECT_FALSE(stays(chunk->capacity() / 4 * 3 - 1));
  EXPECT_TRUE(stays(chunk->capacity() / 4 * 3));
  EXPECT_FALSE(stays_in_chunk({chunk->data(), chunk->capacity()}, {})) << "it came in memory that ends";
}

}  // namespace
}  // namespace weft
