// SPDX-License-Identifier: Apache-2.0
// Peers announce frames and do not send them, beside others who send: the memory that a loop holds for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/heap_count.hpp"
#include "unit/transport/framer_rig.hpp"

namespace weft::announced_testing {

using namespace weft::detail;
using namespace weft::framer_testing;
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

struct Keeper final : ChunkKeeper {
  void on_large_kept() noexcept override {}
};

// One peer's stream, as a loop receives it.
class Peer {
 public:
  Peer(ChunkPool& chunks, const wire::FrameLimits& limits) : framer_(chunks, limits, frames_left_) {
    send(wire::encode_hello({}));
  }
  // Receives `stream`, and looks in vain whether there is more.
  void send(std::string_view stream) {
    places_.clear();
    iovec places[2];
    while (!stream.empty()) {
      const std::size_t count = framer_.receive_into(places);
      ASSERT_GT(count, 0u);
      std::size_t received = 0;
      for (const iovec& place : std::span{places}.first(count)) {
        places_.push_back(place.iov_len);
        const std::size_t part = std::min(place.iov_len, stream.size());
        std::memcpy(place.iov_base, stream.data(), part);
        stream.remove_prefix(part);
        received += part;
      }
      ASSERT_TRUE(framer_.received(received, sink_).ok());
    }
    ASSERT_GT(framer_.receive_into(places), 0u);
    framer_.park();
    if (!keeps_text) std::string{}.swap(sink_.text);
  }
  StreamFramer& framer() { return framer_; }
  Transcript& sink() { return sink_; }
  std::size_t frames() const { return framer_.counters().frames.get() - 1; }
  // Sizes of the places into which send() received.
  const std::vector<std::size_t>& places() const { return places_; }

  bool keeps_text = false;

 private:
  std::size_t frames_left_ = SIZE_MAX;
  std::vector<std::size_t> places_;
  Transcript sink_;
  StreamFramer framer_;
};

using Peers = std::vector<std::unique_ptr<Peer>>;

class AnnouncedFrames : public ::testing::Test {
 protected:
  static constexpr std::size_t kMost = ChunkPoolOptions{}.large_bytes_max;

  static std::string request(std::size_t bytes) {
    return frame_head({.type = FrameType::kRequest, .id = 1}, std::string(bytes, 'x'), false);
  }
  std::unique_ptr<Peer> make_peer() { return std::make_unique<Peer>(chunks_, limits_); }
  Peers make_peers(std::size_t count) {
    Peers peers;
    for (std::size_t i = 0; i < count; ++i) peers.push_back(make_peer());
    return peers;
  }
  // Peers of whom each sends `part` behind a long frame of somebody else.
  Peers silent_behind(std::size_t count, std::string_view part) {
    const std::unique_ptr<Peer> honest = make_peer();
    Peers peers;
    for (std::size_t i = 0; i < count; ++i) {
      honest->send(large_);
      peers.push_back(make_peer());
      peers.back()->send(part);
    }
    EXPECT_EQ(honest->frames(), count);
    return peers;
  }
  // Memory of chunks that are out since `before`.
  std::size_t held_since(std::size_t before) const {
    return testing::heap_bytes() - before - chunks_.cached_bytes();
  }
  void expect_nothing_is_left() {
    EXPECT_EQ(chunks_.unfilled_bytes(), 0u);
    EXPECT_EQ(chunks_.chunks_out(), 0u);
  }

  Keeper keeper_;
  ChunkPool chunks_{{}, &keeper_};
  wire::FrameLimits limits_{.body_bytes_max = 16 << 20, .attachment_bytes_max = 1 << 20};
  const std::string large_ = request(3 * kMiB);
};

// While honest frames fill the pool anew, each of the others would take what the last frame gave back.
TEST_F(AnnouncedFrames, HoldABoundedPartOfTheMemoryThatFramesOfOthersGiveBack) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the heap is not counted here";
  const std::size_t before = testing::heap_bytes();
  const Peers silent = silent_behind(100, std::string_view{large_}.substr(0, 64 * kKiB));
  EXPECT_EQ(chunks_.chunks_out(), silent.size());
  const std::size_t due = silent.size() * 64 * kKiB * 25 / 4;
  EXPECT_LE(held_since(before), kMost + due);
  EXPECT_LE(chunks_.unfilled_bytes(), kMost);
  EXPECT_GE(chunks_.unfilled_bytes(), kMost - 5 * kMiB) << "what was kept is given as long as it may be";
}

// Behind a long frame the next one is received into a kept chunk from its first byte.
TEST_F(AnnouncedFrames, BehindAFrameThatWasSentHoldNoMoreTogether) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the heap is not counted here";
  const std::size_t before = testing::heap_bytes();
  const Peers silent = make_peers(60);
  for (const auto& peer : silent) {
    peer->send(large_);
    peer->send(std::string_view{large_}.substr(0, 3000));
  }
  EXPECT_LE(held_since(before), kMost + silent.size() * 128 * kKiB);
}

// The chunk was full, but what filled it has been handed up, and is held by nobody.
TEST_F(AnnouncedFrames, BehindManySmallFramesInALargeChunkHoldNoMoreTogether) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the heap is not counted here";
  std::string many;
  for (int i = 0; i < 1300; ++i) many += request(2000);
  many += large_.substr(0, 3000);
  const std::size_t before = testing::heap_bytes();
  const Peers silent = make_peers(40);
  for (const auto& peer : silent) {
    peer->send(large_);
    peer->send(many);
  }
  EXPECT_EQ(silent.front()->places().size(), 1u) << "a long frame was expected";
  EXPECT_LE(held_since(before), kMost + silent.size() * 128 * kKiB);
}

// Chunks of 256 KiB are taken of the system where a receive has just brought much.
TEST_F(AnnouncedFrames, OfMiddleSizesMoveToSmallerChunksWhereTooMuchIsUnfilled) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the heap is not counted here";
  std::string many;
  for (int i = 0; i < 40; ++i) many += request(4000);
  const std::string middle = request(100'000);
  const std::size_t before = testing::heap_bytes();
  const Peers silent = make_peers(600);
  for (const auto& peer : silent) {
    peer->send(many);
    peer->send(std::string_view{middle}.substr(0, 3000));
    EXPECT_EQ(peer->places().front(), chunks_.roomy_bytes());
  }
  EXPECT_LE(held_since(before), kMost + silent.size() * 72 * kKiB);
  EXPECT_GE(chunks_.unfilled_bytes(), kMost - 256 * kKiB);
  for (const auto& peer : silent) {
    peer->send(std::string_view{middle}.substr(3000));
    EXPECT_EQ(peer->frames(), 41u);
  }
  expect_nothing_is_left();
}

TEST_F(AnnouncedFrames, BeyondTheBoundGrowAsIfNothingWereKept) {
  Peers silent = silent_behind(20, std::string_view{large_}.substr(0, 64 * kKiB));
  const std::unique_ptr<Peer> late = make_peer();
  ASSERT_GE(chunks_.cached_bytes(), large_.size());
  late->send(large_);
  const std::vector<std::size_t> grown{64 * kKiB, 192 * kKiB, 768 * kKiB, large_.size() - kMiB};
  EXPECT_EQ(late->places(), grown);
  silent.clear();
  late->send(large_);
  EXPECT_EQ(late->places(), std::vector{large_.size()}) << "there is room again";
  expect_nothing_is_left();
}

// A byte now and then changes nothing: the connection's frame_timeout ends this.
TEST_F(AnnouncedFrames, ThatTrickleHoldWhatTheyHeldAndCountIt) {
  const Peers silent = silent_behind(20, std::string_view{large_}.substr(0, 64 * kKiB));
  const std::size_t unfilled = chunks_.unfilled_bytes();
  for (const auto& peer : silent) {
    for (int i = 0; i < 10; ++i) peer->send("x");
  }
  EXPECT_LE(chunks_.unfilled_bytes(), unfilled);
  EXPECT_GE(chunks_.unfilled_bytes(), unfilled - silent.size() * 10);
}

TEST_F(AnnouncedFrames, ThatAreSentTakeKeptChunksThoughManyArriveAtOnce) {
  const std::string million = request(kMiB);
  const std::string_view half = std::string_view{million}.substr(0, kMiB / 2);
  const Peers honest = make_peers(16);
  for (const auto& peer : honest) {
    peer->sink().retain = true;
    peer->send(million);
  }
  EXPECT_EQ(chunks_.unfilled_bytes(), 0u) << "chunks that are looked at are filled";
  for (int round = 0; round < 3; ++round) {
    for (const auto& peer : honest) peer->sink().chunks.clear();
    const std::size_t kept = chunks_.cached_bytes();
    for (const auto& peer : honest) {
      peer->send(half);
      EXPECT_EQ(peer->places(), std::vector{million.size()});
    }
    EXPECT_LE(chunks_.cached_bytes() + 16 * kMiB, kept);
    EXPECT_GE(chunks_.unfilled_bytes(), 16 * kMiB / 2);
    for (const auto& peer : honest) {
      peer->send(std::string_view{million}.substr(half.size()));
      EXPECT_EQ(peer->places(), std::vector{million.size() - half.size()});
    }
    EXPECT_EQ(chunks_.unfilled_bytes(), 0u);
  }
  for (const auto& peer : honest) peer->sink().chunks.clear();
  expect_nothing_is_left();
}

TEST_F(AnnouncedFrames, ThatEndHalfWayGiveTheirPartBack) {
  const std::string_view part = std::string_view{large_}.substr(0, kMiB);
  Peers peers = silent_behind(6, part);
  EXPECT_GE(chunks_.unfilled_bytes(), 6 * 2 * kMiB);
  peers[0].reset();
  peers[1]->framer().release();
  for (std::size_t i = 2; i < 4; ++i) peers[i]->send(std::string_view{large_}.substr(part.size()));
  EXPECT_LE(chunks_.unfilled_bytes(), 2 * 5 * kMiB);
  // The rest of a frame that is no longer wanted is dropped as it comes.
  for (std::size_t i = 4; i < 6; ++i) {
    peers[i]->sink().unwanted = 1;
    peers[i]->send(std::string_view{large_}.substr(part.size(), kMiB));
  }
  expect_nothing_is_left();
}

// So that nobody holds for hours what is neither counted nor charged.
TEST_F(AnnouncedFrames, WhoseAttachmentsAreDroppedLeaveTheirBodiesNoMoreThanTheyNeed) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the heap is not counted here";
  constexpr std::size_t kAttachment = 1 * kMiB;
  const std::string body = "a body that is handed up in the end";
  const FrameHeader header{.type = FrameType::kRequest,
                           .flags = wire::FrameFlags::kAttachment,
                           .id = 7,
                           .attachment_bytes = kAttachment};
  std::string many;
  for (int i = 0; i < 30; ++i) many += request(100'000);
  many += frame_head(header, body, false);
  const std::size_t before = testing::heap_bytes();
  const std::unique_ptr<Peer> peer = make_peer();
  peer->sink().skip = true;
  peer->send(large_);
  peer->send(many + "aa");
  EXPECT_EQ(peer->places(), std::vector{large_.size()}) << "all came into one chunk";
  EXPECT_LE(held_since(before), kAttachment + 160 * kKiB) << "the sink has memory for the attachment";
  peer->keeps_text = true;
  peer->send(std::string(kAttachment - 2, 'a'));
  EXPECT_EQ(peer->sink().text, "7 " + body + "\nskipped\n");
  expect_nothing_is_left();
}

// A handler's body is charged only as long as the handler keeps it.
TEST_F(AnnouncedFrames, BehindABodyThatIsKeptDoNotHoldItsChunkWhenThatEnds) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the heap is not counted here";
  const std::size_t before = testing::heap_bytes();
  const std::unique_ptr<Peer> peer = make_peer();
  peer->send(request(3 * kMiB + 300 * kKiB));
  peer->sink().retain = true;
  peer->send(large_ + large_.substr(0, 3000));
  EXPECT_EQ(peer->places().size(), 1u) << "a longer frame was expected";
  EXPECT_EQ(peer->frames(), 2u);
  peer->sink().chunks.clear();
  EXPECT_LE(held_since(before), 160 * kKiB);
  EXPECT_EQ(chunks_.unfilled_bytes(), 0u);
  peer->send(std::string_view{large_}.substr(3000));
  EXPECT_EQ(peer->frames(), 3u);
  peer->sink().chunks.clear();
  expect_nothing_is_left();
}

// While nothing is received nobody ends a frame that takes too long.
TEST_F(AnnouncedFrames, OfAPausedPeerCountNothing) {
  const std::unique_ptr<Peer> peer = make_peer();
  peer->send(large_);
  peer->send(std::string_view{large_}.substr(0, 3000));
  EXPECT_GE(chunks_.unfilled_bytes(), 3 * kMiB);
  peer->framer().pause(true);
  peer->framer().park();
  EXPECT_EQ(chunks_.unfilled_bytes(), 0u);
  peer->framer().pause(false);
  EXPECT_TRUE(peer->framer().resume(peer->sink()).ok());
  peer->send(std::string_view{large_}.substr(3000));
  EXPECT_EQ(peer->frames(), 2u);
  expect_nothing_is_left();
}

TEST_F(AnnouncedFrames, ThatCannotFillTheChunkMoveAndCountNothing) {
  const std::string middle = request(100'000);
  const std::unique_ptr<Peer> peer = make_peer();
  peer->send(large_);
  peer->send(std::string_view{middle}.substr(0, 3000));
  EXPECT_EQ(peer->places(), std::vector{large_.size()}) << "a long frame was expected";
  EXPECT_EQ(chunks_.unfilled_bytes(), 0u);
  peer->send(std::string_view{middle}.substr(3000));
  EXPECT_EQ(peer->frames(), 2u);
  expect_nothing_is_left();
}

// Where little may be unfilled, parts move to smaller chunks and on to larger ones again and again.
TEST_F(AnnouncedFrames, ArriveWholeInWhateverPartsAndNeverLeaveMoreUnfilledThanMayBe) {
  constexpr std::size_t kFew = 1 * kMiB;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    ChunkPool chunks{{.large_bytes_max = kFew}, &keeper_};
    Peers peers;
    std::vector<std::string> streams(8);
    std::vector<std::string> texts(streams.size());
    for (std::size_t i = 0; i < streams.size(); ++i) {
      constexpr std::size_t kSizes[] = {10, 3000, 50'000, 100'000, 300'000, 700'000};
      peers.push_back(std::make_unique<Peer>(chunks, limits_));
      peers.back()->sink().text.clear();
      peers.back()->keeps_text = true;
      peers.back()->sink().retain = random() % 4 == 0;
      const bool skip = peers.back()->sink().skip = random() % 2 == 0;
      for (std::uint64_t id = 1; id <= 6; ++id) {
        const std::string body(kSizes[random() % 6], static_cast<char>('a' + random() % 26));
        FrameHeader header{.type = FrameType::kRequest, .id = id};
        texts[i] += std::to_string(id) + " " + body + "\n";
        std::string attachment;
        if (random() % 3 == 0) {
          attachment.assign(1 + random() % 400'000, static_cast<char>('A' + random() % 26));
          header.flags = wire::FrameFlags::kAttachment;
          header.attachment_bytes = attachment.size();
          texts[i] += skip ? "skipped\n" : "landed " + attachment + "\n";
        }
        streams[i] += frame_head(header, body, false) + attachment_bytes(attachment, false);
      }
    }
    std::vector<std::size_t> sent(streams.size());
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = 0; i < streams.size(); ++i) {
        const std::string_view part = std::string_view{streams[i]}.substr(sent[i], random() % 150'000);
        peers[i]->send(part);
        sent[i] += part.size();
        more = more || sent[i] < streams[i].size();
        ASSERT_LE(chunks.unfilled_bytes(), kFew) << seed;
      }
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      EXPECT_TRUE(peers[i]->sink().text == texts[i]) << seed;
      peers[i]->sink().chunks.clear();
    }
    EXPECT_EQ(chunks.unfilled_bytes(), 0u) << seed;
    EXPECT_EQ(chunks.chunks_out(), 0u) << seed;
  }
}

}  // namespace
}  // namespace weft::announced_testing
