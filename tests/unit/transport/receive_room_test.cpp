// SPDX-License-Identifier: Apache-2.0
// Where a framer receives: into chunks that suit what comes, so that as little as possible is moved
// afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "support/heap_count.hpp"
#include "unit/transport/framer_rig.hpp"

namespace weft {

using namespace weft::detail;
using namespace weft::framer_testing;
namespace {

struct Keeper final : ChunkKeeper {
  void on_large_kept() noexcept override {}
};

// A framer over a pool that keeps large chunks, as a loop's does.
class KeepingFramers : public Framers {
 protected:
  static constexpr std::size_t kPieceBytes = 100'000;

  KeepingFramers() { give(wire::encode_hello({}), 100); }
  // Receives `stream`, in pieces of at most `piece`.
  void give(std::string_view stream, std::size_t piece) {
    while (!stream.empty()) {
      iovec places[2];
      ASSERT_EQ(framer_.receive_into(places), 1u);
      places_.push_back(places[0].iov_len);
      const std::size_t part = std::min({places[0].iov_len, stream.size(), piece});
      std::memcpy(places[0].iov_base, stream.data(), part);
      stream.remove_prefix(part);
      ASSERT_TRUE(framer_.received(part, sink_).ok());
    }
    framer_.park();
  }
  static std::string request(std::size_t bytes) {
    return frame_head({.type = FrameType::kRequest, .id = 1}, std::string(bytes, 'x'), false);
  }
  static std::string piece_head() {
    return frame_head(wire::PieceHead{.id = 1, .bytes = kPieceBytes, .last = true}.header(), {}, false);
  }
  // Receives the bytes of a piece into their place, behind which there is a chunk.
  void land_piece() {
    iovec places[2];
    ASSERT_EQ(framer_.receive_into(places), 2u);
    EXPECT_EQ(places[0].iov_len, kPieceBytes);
    EXPECT_EQ(places[1].iov_len, 1024u);
    std::memset(places[0].iov_base, 'x', kPieceBytes);
    ASSERT_TRUE(framer_.received(kPieceBytes, sink_).ok());
    framer_.park();
  }
  // Sizes of the places that `stream` was received into.
  std::vector<std::size_t> places_of(std::string_view stream, std::size_t piece = SIZE_MAX) {
    places_.clear();
    give(stream, piece);
    return places_;
  }

  Keeper keeper_;
  ChunkPool keeping_{{}, &keeper_};
  Transcript sink_;
  StreamFramer framer_{keeping_, limits_, frames_left_};
  std::vector<std::size_t> places_;
};

TEST_F(KeepingFramers, ALargeBodyGoesToAKeptChunkAtOnceAndTheNextOneFromItsBeginning) {
  const std::string large = request(1'000'000);
  EXPECT_GE(places_of(large).size(), 3u) << "the first grows";
  EXPECT_EQ(places_of(request(10)).size(), 1u);
  ASSERT_EQ(framer_.between_frames(), true);
  EXPECT_EQ(places_of(large, 70'000).front(), 64u * 1024) << "behind a small one nothing large is expected";
  EXPECT_GE(places_of(large).front(), large.size()) << "behind a large one another one is";
  EXPECT_EQ(places_of(large).size(), 1u);
  EXPECT_EQ(keeping_.chunks_out(), 0u);
}

// Bytes that a receive brings of the next frame would be copied to a chunk of its own, on and on.
TEST_F(KeepingFramers, LongFramesBehindEachOtherAreEachReceivedWhereTheyStay) {
  const std::string large = request(1 << 20);
  std::string many;
  for (int i = 0; i < 5; ++i) many += large;
  sink_.retain = true;  // as an answer does that shows the request
  places_of(many);
  sink_.chunks.clear();  // the pool has kept as many as there were
  EXPECT_EQ(places_of(many), std::vector(5, large.size()));
  sink_.chunks.clear();
  // Cut elsewhere, each still ends with a receive.
  const std::vector<std::size_t> places = places_of(many, 300'000);
  EXPECT_EQ(places.size(), 20u);
  for (std::size_t i = 3; i < places.size(); i += 4) EXPECT_EQ(places[i], large.size() - 900'000) << i;
  sink_.chunks.clear();
  EXPECT_EQ(keeping_.chunks_out(), 0u);
}

TEST_F(KeepingFramers, WhatOnlyWasAnnouncedTakesNothingOfTheSystem) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the heap is not counted here";
  const std::string large = request(1'000'000);
  const std::size_t before = testing::heap_bytes();
  std::size_t arrived = 0;
  for (const std::size_t piece : {1000u, 40'000u, 30'000u, 200'000u}) {
    places_of(std::string_view{large}.substr(arrived, piece), piece);
    arrived += piece;
    const std::size_t taken = testing::heap_bytes() - before;
    EXPECT_LE(taken, std::max<std::size_t>(70 * 1024, arrived * 25 / 4)) << arrived;
  }
}

// A chunk that is just too small is moved once more, with all that is in it, for the last bytes.
TEST_F(KeepingFramers, ALongFrameThatIsAlmostDueGetsAllOfItsRoom) {
  const std::string large = request(1 << 20);
  EXPECT_EQ(places_of(large), (std::vector<std::size_t>{65'536, 196'608, large.size() - 262'144}));
}

TEST_F(KeepingFramers, ShorterOnesAreExpectedWhereShorterOnesCome) {
  const std::string large = request(400'000);
  std::string many = request(1 << 20);
  for (int i = 0; i < 8; ++i) many += large;
  places_of(many);
  sink_.retain = true;
  places_of(many);
  sink_.chunks.clear();
  const std::vector<std::size_t> places = places_of(many);
  const std::vector<std::size_t> last(places.end() - 4, places.end());
  EXPECT_EQ(last, std::vector(4, large.size()));
  sink_.chunks.clear();
}

// A short one between long ones shifts where these end, and they stay where they were received.
TEST_F(KeepingFramers, LongAndShortFramesInTurnAreNotMoved) {
  const std::string large = request(1 << 20);
  std::string many;
  for (int i = 0; i < 4; ++i) many += large + request(100);
  places_of(many);
  places_of(many);
  std::string_view stream{many};
  const std::byte* expected = nullptr;
  const std::uint64_t before = framer_.counters().frames.get();  // the first long one comes unexpected
  while (!stream.empty()) {
    iovec places[2];
    ASSERT_EQ(framer_.receive_into(places), 1u);
    auto* const at = static_cast<std::byte*>(places[0].iov_base);
    if (framer_.counters().frames.get() > before && !framer_.between_frames()) {
      EXPECT_EQ(at, expected) << "what is there of a frame was moved";
    }
    const std::size_t part = std::min(places[0].iov_len, stream.size());
    std::memcpy(at, stream.data(), part);
    stream.remove_prefix(part);
    expected = at + part;
    ASSERT_TRUE(framer_.received(part, sink_).ok());
  }
}

TEST_F(KeepingFramers, ManySmallFramesAreReceivedManyAtATimeWhileTheyCome) {
  std::string many;
  for (int i = 0; i < 100; ++i) many += request(4096);
  const std::vector<std::size_t> sizes = places_of(many);
  EXPECT_EQ(sizes.front(), 64u * 1024);
  EXPECT_LE(sizes.size(), 4u) << "of 400 KiB";
  EXPECT_EQ(places_of(many).front(), keeping_.roomy_bytes()) << "the last receive brought much";
  EXPECT_EQ(places_of(request(10)).size(), 1u);
  EXPECT_EQ(places_of(request(10)).front(), 64u * 1024) << "the last receive brought little";
  EXPECT_EQ(keeping_.chunks_out(), 0u);
}

// The part that waits takes room of the chunk, so that no receive fills all of one.
TEST_F(KeepingFramers, FramesOfHalfAChunkAreReceivedManyAtATimeWhileTheyCome) {
  std::string many;
  for (int i = 0; i < 30; ++i) many += request(32 * 1024);
  constexpr std::size_t kPart = 50'000;
  places_of(std::string_view{many}.substr(0, kPart));
  const std::vector<std::size_t> sizes = places_of(std::string_view{many}.substr(kPart));
  EXPECT_LT(sizes.front(), 64u * 1024) << "a part of the second frame waits in the chunk";
  EXPECT_LE(sizes.size(), 6u) << "of 910 KiB";
  EXPECT_EQ(keeping_.chunks_out(), 0u);
}

TEST_F(KeepingFramers, BehindAPieceNoMoreThanHeadsIsReceivedIntoAChunk) {
  EXPECT_EQ(places_of(piece_head()).front(), 64u * 1024) << "no piece is expected";
  for (int i = 0; i < 3; ++i) {
    land_piece();
    EXPECT_EQ(places_of(piece_head()).front(), 1024u) << "a piece is expected";
  }
  land_piece();
  EXPECT_EQ(places_of(request(10)).front(), 1024u);
  EXPECT_EQ(places_of(request(10)).front(), 64u * 1024) << "the last receive brought no piece";
  EXPECT_EQ(keeping_.chunks_out(), 0u);
}

TEST_F(KeepingFramers, APieceThatLandsNowhereComesInFullReceives) {
  sink_.skip = true;
  places_of(piece_head());
  EXPECT_EQ(places_of(std::string(kPieceBytes, 'x')).size(), 2u);
  EXPECT_TRUE(framer_.between_frames());
}

TEST_F(KeepingFramers, APartOfASmallFrameDoesNotWaitInALargeChunk) {
  std::string many;
  for (int i = 0; i < 100; ++i) many += request(4096);
  const std::string last = request(5000);
  places_of(many + last.substr(0, 3000));
  ASSERT_EQ(keeping_.chunks_out(), 1u);
  const std::size_t kept = keeping_.cached_bytes();
  EXPECT_GE(kept, keeping_.roomy_bytes()) << "the roomy one is back in the pool";
  places_of(std::string_view{last}.substr(3000));
  EXPECT_EQ(keeping_.chunks_out(), 0u);
  EXPECT_TRUE(sink_.text.ends_with("1 " + std::string(5000, 'x') + "\n"));
}

// While it is paused, more may wait than a standard chunk has room for.
TEST_F(KeepingFramers, MuchThatWaitsStaysWhereItIs) {
  std::string many;
  for (int i = 0; i < 4000; ++i) many += request(100);
  places_of(request(1'000'000));
  frames_left_ = 10;
  std::string_view rest{many};
  for (int receive = 0; receive < 2; ++receive) {
    iovec places[2];
    ASSERT_EQ(framer_.receive_into(places), 1u);
    const std::size_t part = std::min(places[0].iov_len, rest.size());
    std::memcpy(places[0].iov_base, rest.data(), part);
    rest.remove_prefix(part);
    ASSERT_TRUE(framer_.received(part, sink_).ok());
    framer_.park();
  }
  EXPECT_EQ(keeping_.chunks_out(), 1u);
  frames_left_ = SIZE_MAX;
  ASSERT_TRUE(framer_.resume(sink_).ok());
  give(rest, SIZE_MAX);
  EXPECT_EQ(framer_.counters().frames.get(), 1u + 1 + 4000);
}

}  // namespace
}  // namespace weft
