// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "transport/memory/memory_carrier.hpp"
#include "transport/tcp/tcp_carrier.hpp"
#include "weft/detail/transport/stream_framer.hpp"
#include "weft/detail/wire/crc32c.hpp"
#include "weft/detail/wire/heads.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using wire::FrameHeader;
using wire::FrameType;

// Writes what it hears into a transcript, so that two ways to deliver one stream can be compared.
struct Transcript final : FrameSink {
  Status on_hello(const wire::Hello& hello) override {
    text += "hello of version " + std::to_string(hello.version) + "\n";
    if (checksums) framer->use_checksums();
    return {};
  }
  Status on_frames(std::span<const Frame> frames, const ChunkRef& chunk) override {
    EXPECT_TRUE(chunk);
    for (const Frame& frame : frames) {
      note(frame);
      if (frame.header.following_bytes() == 0) continue;
      text += "landed " + std::string{as_text(whole_attachment(frame, checksums))} + "\n";
    }
    if (retain) chunks.push_back(chunk);
    return {};
  }
  bool wants_body(const FrameHeader& header, Bytes) override { return header.id != unwanted; }
  bool takes_whole(const FrameHeader&) const override { return whole; }
  Landing on_attachment(const Frame& frame) override {
    EXPECT_TRUE(!whole || frame.header.attachment_bytes > whole_max);
    memory.assign(frame.header.attachment_bytes, '?');
    if (skip) return Landing::skip();
    if (!shape.empty()) return in_runs();
    const MutableBytes place{reinterpret_cast<std::byte*>(memory.data()), memory.size()};
    if (!shared) return Landing::into(place);
    MemoryRuns<std::byte> runs_of_others{place};
    runs_of_others.set_shared();
    return Landing::into(RunCursor{runs_of_others}, memory.size());
  }
  // Runs of the sizes in `shape`, over and over, in memory that has a byte of its own behind each.
  Landing in_runs() {
    apart.assign(memory.size() * 2 + shape.size() + 64, '!');
    runs.clear();
    std::size_t left = memory.size() + 5;  // the list goes on behind the attachment
    std::size_t at = 0;
    for (std::size_t i = 0; left > 0; ++i) {
      const std::size_t size = std::min(left, shape[i % shape.size()]);
      runs.push_back(std::as_writable_bytes(std::span{apart}).subspan(at, size));
      at += size + (size > 0 ? 1 : 0);
      left -= size;
    }
    return Landing::into(RunCursor{MemoryRuns<std::byte>{std::span<const MutableBytes>{runs}}},
                         memory.size());
  }
  // Gathers what landed in runs, and looks at what must be as it was.
  void gather() {
    std::size_t landed = 0;
    for (const MutableBytes run : runs) {
      const std::size_t part = std::min(run.size(), memory.size() - landed);
      as_text(run).copy(memory.data() + landed, part);
      landed += part;
      EXPECT_EQ(as_text(run).substr(part), std::string(run.size() - part, '!'));
      const bool kept = run.empty() || static_cast<char>(*(run.data() + run.size())) == '!';
      EXPECT_TRUE(kept);
    }
  }
  Status on_attachment_end(const Frame& frame, const ChunkRef&, bool landed) override {
    note(frame);
    if (!shape.empty()) gather();
    text += landed ? "landed " + memory + "\n" : "skipped\n";
    return {};
  }
  void on_drained() override {}
  void on_closed(Status) override {}

  void note(const Frame& frame) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame.body.data()) % 8, 0u);
    text += std::to_string(frame.header.id) + " " + std::string{as_text(frame.body)} + "\n";
  }

  StreamFramer* framer = nullptr;
  bool checksums = false;
  bool skip = false;
  /// Attachments of up to this many bytes, all that fit a chunk, come with their frames.
  bool whole = false;
  std::size_t whole_max = 4000;
  /// Others write to the memory.
  bool shared = false;
  bool retain = false;
  std::uint64_t unwanted = 0;
  /// Not empty: attachments land in runs of these sizes.
  std::vector<std::size_t> shape{};
  std::string text;
  std::string memory;
  std::string apart;
  std::vector<MutableBytes> runs;
  std::vector<ChunkRef> chunks;
};

std::string frame_text(FrameHeader header, std::string_view body, bool checksum) {
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  std::string text(wire::head_bytes(header.body_bytes, checksum), '\0');
  auto* at = reinterpret_cast<std::byte*>(text.data());
  wire::store_header(at, header);
  body.copy(text.data() + wire::kHeaderBytes, body.size());
  wire::finish_frame(at, header.body_bytes, checksum);
  return text;
}

std::string attachment_text(const std::string& attachment, bool checksum) {
  std::string text = attachment;
  text.resize(wire::padded(text.size()), '\0');
  if (!checksum) return text;
  const std::uint64_t sum = wire::crc32c(as_bytes(attachment));
  return text.append(reinterpret_cast<const char*>(&sum), sizeof sum);
}

std::string stream_text(bool checksum) {
  std::string text = wire::encode_hello({});
  for (std::uint64_t id = 1; id < 90; ++id) {
    text += frame_text({.type = FrameType::kRequest, .id = id}, std::string(id * 7 % 50, 'b'), checksum);
  }
  for (const std::size_t size : {1u, 5u, 8u, 300u, 9001u}) {
    text += frame_text({.type = FrameType::kAnswer,
                        .flags = wire::FrameFlags::kAttachment,
                        .id = size,
                        .attachment_bytes = size},
                       "with attachment", checksum);
    std::string attachment(size, '\0');
    for (std::size_t i = 0; i < size; ++i) attachment[i] = static_cast<char>('0' + (i * 31 + i / 97) % 43);
    text += attachment_text(attachment, checksum);
    text += frame_text({.type = FrameType::kPing, .id = 7}, {}, checksum);
  }
  text += frame_text({.type = FrameType::kRequest, .id = 99}, std::string(20'000, 'l'), checksum);
  return text + frame_text({.type = FrameType::kGoaway}, "bye", checksum);
}

// Where frames begin and end in a stream, and the hello ends.
std::vector<std::size_t> borders_of(std::string_view stream, bool checksum) {
  std::vector<std::size_t> borders{0, wire::hello_length(as_bytes(stream)).value()};
  while (borders.back() < stream.size()) {
    const FrameHeader header = wire::load_header(as_bytes(stream).data() + borders.back());
    std::size_t size = wire::head_bytes(header.body_bytes, checksum) + wire::padded(header.attachment_bytes);
    if (checksum && header.attachment_bytes != 0) size += 8;
    borders.push_back(borders.back() + size);
  }
  return borders;
}

class Framers : public ::testing::Test {
 protected:
  struct Run {
    Status status;
    std::string text;
    bool inside = false;
    // After each piece: how much was delivered, and how much of it handed up.
    std::vector<std::pair<std::size_t, std::uint64_t>> handed_up;
  };

  // Delivers `stream` in pieces of `piece` bytes, parking after each when `park`.
  Run deliver(std::string_view stream, std::size_t piece, bool park, Transcript sink = {}) {
    Run run;
    const std::size_t whole = stream.size();
    {
      StreamFramer framer{pool_, limits_, frames_left_};
      sink.framer = &framer;
      while (!stream.empty() && run.status.ok()) {
        std::vector<iovec> places(places_max_);
        const std::size_t count = framer.receive_into(places);
        EXPECT_GT(count, 0u);
        EXPECT_LE(count, places_max_);
        largest_place_ = std::max(largest_place_, places[count - 1].iov_len);
        std::size_t given = 0;
        for (std::size_t at = 0; at < count && given < piece; ++at) {
          const std::size_t part = std::min({piece - given, places[at].iov_len, stream.size()});
          std::memcpy(places[at].iov_base, stream.data(), part);
          stream.remove_prefix(part);
          given += part;
        }
        EXPECT_GT(given, 0u);
        run.status = framer.received(given, sink);
        if (park) framer.park();
        run.handed_up.emplace_back(whole - stream.size(), framer.handed_up());
        most_chunks_ = std::max(most_chunks_, pool_.chunks_out());
      }
      run.inside = framer.inside();
    }
    run.text = sink.text;
    return run;
  }

  ChunkPool pool_{{.chunk_bytes = 4096, .cached_bytes_max = 1 << 20}};
  wire::FrameLimits limits_{.body_bytes_max = 1 << 20, .attachment_bytes_max = 1 << 20};
  std::size_t frames_left_ = SIZE_MAX;
  std::size_t most_chunks_ = 0;
  std::size_t largest_place_ = 0;
  std::size_t places_max_ = 2;
};

TEST_F(Framers, WhatWasHandedUpEndsWhereTheFirstFrameBeginsThatIsNotWhole) {
  for (const bool checksum : {false, true}) {
    const std::string stream = stream_text(checksum);
    const std::vector<std::size_t> borders = borders_of(stream, checksum);
    ASSERT_EQ(borders.back(), stream.size());
    for (const std::uint64_t unwanted : {0u, 99u}) {
      for (const bool skip : {false, true}) {
        Transcript sink;
        sink.checksums = checksum;
        sink.skip = skip;
        sink.unwanted = unwanted;
        const Run run = deliver(stream, 7, !skip, sink);
        ASSERT_TRUE(run.status.ok());
        for (const auto& [delivered, handed_up] : run.handed_up) {
          const auto behind = std::upper_bound(borders.begin(), borders.end(), delivered);
          ASSERT_EQ(handed_up, *(behind - 1)) << "of " << delivered << " bytes";
        }
      }
    }
  }
}

TEST_F(Framers, HowAStreamIsCutIntoPiecesMakesNoDifference) {
  for (const bool checksum : {false, true}) {
    const std::string stream = stream_text(checksum);
    Transcript sink;
    sink.checksums = checksum;
    const Run whole = deliver(stream, stream.size(), false, sink);
    ASSERT_TRUE(whole.status.ok()) << whole.status.to_string();
    EXPECT_NE(whole.text.find("landed 0OC7V\n"), std::string::npos) << "no: " << whole.text.substr(0, 300);
    EXPECT_NE(whole.text.find("0 bye"), std::string::npos);
    for (const std::size_t piece :
         {1u, 2u, 3u, 7u, 39u, 40u, 41u, 63u, 64u, 100u, 1000u, 4095u, 4096u, 5000u}) {
      for (const bool park : {false, true}) {
        for (const bool retain : {false, true}) {
          sink.retain = retain;
          const Run run = deliver(stream, piece, park, sink);
          ASSERT_TRUE(run.status.ok()) << run.status.to_string();
          ASSERT_EQ(run.text, whole.text) << piece << park << retain;
          ASSERT_FALSE(run.inside);
        }
      }
    }
  }
  EXPECT_EQ(pool_.chunks_out(), 0u);
}

TEST_F(Framers, AttachmentsLandInRunsAsTheyDoInOnePlace) {
  for (const bool checksum : {false, true}) {
    const std::string stream = stream_text(checksum);
    Transcript sink;
    sink.checksums = checksum;
    const Run whole = deliver(stream, stream.size(), false, sink);
    ASSERT_TRUE(whole.status.ok()) << whole.status.to_string();
    for (const std::vector<std::size_t>& shape : std::vector<std::vector<std::size_t>>{
             {1}, {7}, {0, 3, 0, 0, 500}, {4096}, {1, 1, 2000}, {100'000}}) {
      sink.shape = shape;
      for (const std::size_t piece : {1u, 2u, 7u, 8u, 63u, 299u, 301u, 4096u, 100'000u}) {
        for (const std::size_t places : {std::size_t{2}, std::size_t{3}, AttachmentPlace::kPlacesMax}) {
          places_max_ = places;
          const Run run = deliver(stream, piece, piece % 2 == 1, sink);
          ASSERT_TRUE(run.status.ok()) << run.status.to_string();
          ASSERT_EQ(run.text, whole.text) << piece << " " << shape.front() << " " << places;
          ASSERT_FALSE(run.inside);
        }
      }
    }
  }
}

// Every place where two receives may be cut, by runs that are about as long.
TEST_F(Framers, ALandingInRunsIsFilledHoweverReceivesAreCut) {
  places_max_ = AttachmentPlace::kPlacesMax;
  for (const bool checksum : {false, true}) {
    std::string stream = wire::encode_hello({});
    const std::size_t begins = stream.size();
    stream += frame_text(
        {.type = FrameType::kAnswer, .flags = wire::FrameFlags::kAttachment, .id = 5, .attachment_bytes = 45},
        {}, checksum);
    stream += attachment_text("forty-five bytes that are not all of one kind", checksum);
    stream += frame_text({.type = FrameType::kPing, .id = 7}, {}, checksum);
    Transcript sink;
    sink.checksums = checksum;
    const Run whole = deliver(stream, stream.size(), false, sink);
    ASSERT_NE(whole.text.find("landed forty-five bytes that are not all of one kind"), std::string::npos);
    for (std::size_t run_bytes = 1; run_bytes <= 46; ++run_bytes) {
      sink.shape = {run_bytes};
      for (std::size_t piece = 1; piece <= stream.size() - begins; ++piece) {
        ASSERT_EQ(deliver(stream, piece, piece % 2 == 0, sink).text, whole.text) << run_bytes << " " << piece;
      }
    }
  }
}

TEST_F(Framers, ALandingInRunsThatIsAbandonedIsNotWrittenToAnyMore) {
  std::string stream = wire::encode_hello({});
  stream += frame_text(
      {.type = FrameType::kAnswer, .flags = wire::FrameFlags::kAttachment, .id = 5, .attachment_bytes = 9000},
      {}, false);
  const std::size_t head = stream.size();
  stream += attachment_text(std::string(9000, 'a'), false);
  StreamFramer framer{pool_, limits_, frames_left_};
  Transcript sink;
  sink.shape = {100};
  std::size_t at = 0;
  std::string seen;
  while (at < stream.size()) {
    iovec places[AttachmentPlace::kPlacesMax];
    const std::size_t count = framer.receive_into(places);
    ASSERT_GT(count, 0u);
    // The head alone first, and then half of the runs that are offered.
    std::size_t limit = at < head ? head - at : places[0].iov_len * count / 2;
    std::size_t given = 0;
    for (std::size_t i = 0; i < count && limit > 0; ++i) {
      const std::size_t part = std::min({places[i].iov_len, limit, stream.size() - at});
      std::memcpy(places[i].iov_base, stream.data() + at, part);
      at += part;
      given += part;
      limit -= part;
    }
    ASSERT_TRUE(framer.received(given, sink).ok());
    if (given > 0 && at > head && seen.empty()) {
      framer.abandon_landing();
      EXPECT_EQ(framer.attachment_left(true), 0u);
      seen = sink.apart;
      EXPECT_NE(seen.find('a'), std::string::npos);
    }
  }
  EXPECT_EQ(sink.apart, seen);
  EXPECT_NE(sink.text.find("skipped"), std::string::npos);
}

// The memory changes after each receive, as if somebody wrote there: what is checked is what has come.
TEST_F(Framers, AChecksumIsNotMadeOfMemoryThatOthersWriteTo) {
  std::string stream = wire::encode_hello({});
  stream += frame_text(
      {.type = FrameType::kAnswer, .flags = wire::FrameFlags::kAttachment, .id = 5, .attachment_bytes = 9000},
      {}, true);
  const std::size_t head = stream.size();
  stream += attachment_text(std::string(9000, 'a'), true);
  for (const bool shared : {false, true}) {
    StreamFramer framer{pool_, limits_, frames_left_};
    Transcript sink;
    sink.framer = &framer;
    sink.checksums = true;
    sink.shared = shared;
    Status outcome;
    for (std::size_t at = 0; at < stream.size() && outcome.ok();) {
      iovec places[AttachmentPlace::kPlacesMax];
      ASSERT_GT(framer.receive_into(places), 0u);
      const auto* const memory = reinterpret_cast<const std::byte*>(sink.memory.data());
      const bool straight = places[0].iov_base == memory + (at - std::min(at, head));
      EXPECT_EQ(straight, !shared && at >= head && at < head + 9000) << at;
      const std::size_t limit = at < head ? head - at : std::size_t{1000};
      const std::size_t part = std::min({places[0].iov_len, limit, stream.size() - at});
      std::memcpy(places[0].iov_base, stream.data() + at, part);
      // Somebody writes where it has just landed, before anything is made of it.
      if (straight) std::memset(places[0].iov_base, 'b', part);
      at += part;
      outcome = framer.received(part, sink);
      std::ranges::fill(sink.memory, 'c');
    }
    EXPECT_EQ(outcome.ok(), shared) << outcome.to_string();
    EXPECT_EQ(sink.text.find("landed") != std::string::npos, shared);
    framer.release();
  }
}

TEST_F(Framers, SkippingLeavesTheSameFrames) {
  const std::string stream = stream_text(true);
  Transcript sink;
  sink.checksums = sink.skip = true;
  const Run whole = deliver(stream, stream.size(), false, sink);
  for (const std::size_t piece : {1u, 50u, 4000u})
    EXPECT_EQ(deliver(stream, piece, true, sink).text, whole.text);
  EXPECT_EQ(whole.text.find("landed"), std::string::npos);
}

TEST_F(Framers, ShortAttachmentsAreHandedUpWithTheirFramesAndLongOnesLand) {
  for (const bool checksum : {false, true}) {
    const std::string stream = stream_text(checksum);
    Transcript sink;
    sink.checksums = checksum;
    const Run landed = deliver(stream, stream.size(), false, sink);
    sink.whole = true;
    for (const std::size_t piece : {1u, 7u, 40u, 57u, 63u, 100u, 1000u, 4096u, 5000u}) {
      for (const bool retain : {false, true}) {
        sink.retain = retain;
        const Run run = deliver(stream, piece, !retain, sink);
        ASSERT_TRUE(run.status.ok()) << run.status.to_string();
        EXPECT_EQ(run.text, landed.text) << piece;
        EXPECT_FALSE(run.inside);
      }
    }
  }
  EXPECT_EQ(pool_.chunks_out(), 0u);
}

TEST_F(Framers, ThePaddingOfAShortAttachmentIsLookedAt) {
  std::string stream = wire::encode_hello({});
  stream += frame_text({.type = FrameType::kAnswer, .flags = 1, .id = 5, .attachment_bytes = 3}, {}, false);
  stream += attachment_text("abc", false);
  Transcript sink;
  sink.whole = true;
  EXPECT_TRUE(deliver(stream, stream.size(), false, sink).status.ok());
  stream.back() = '!';
  const Run run = deliver(stream, stream.size(), false, sink);
  EXPECT_NE(run.status.message().find("padding is not zero"), std::string_view::npos)
      << run.status.to_string();
  EXPECT_EQ(run.text.find("abc"), std::string::npos);
}

TEST_F(Framers, EveryFlippedBitIsFoundWhileChecksumsAreOn) {
  std::string stream = wire::encode_hello({});
  stream +=
      frame_text({.type = FrameType::kRequest, .flags = 1, .id = 5, .attachment_bytes = 13}, "body", true);
  stream += attachment_text("thirteen byte", true);
  stream += frame_text({.type = FrameType::kPing, .id = 7}, {}, true);
  Transcript sink;
  sink.checksums = true;
  const Run good = deliver(stream, stream.size(), false, sink);
  ASSERT_TRUE(good.status.ok() && !good.inside);
  for (std::size_t bit = 0; bit < stream.size() * 8; ++bit) {
    sink.whole = bit % 2 == 0 || bit % 7 == 0;
    const auto mask = static_cast<char>(1u << (bit % 8));
    stream[bit / 8] = static_cast<char>(stream[bit / 8] ^ mask);
    if (bit / 8 >= 64) {  // the hello is checked whole by who decodes it
      const Run run = deliver(stream, stream.size(), false, sink);
      // A length that grew may also leave the framer waiting for more than there is.
      EXPECT_TRUE(!run.status.ok() || run.inside) << bit;
      EXPECT_EQ(run.text.find("7 \n"), std::string::npos) << "the frame behind was accepted, bit " << bit;
    }
    stream[bit / 8] = static_cast<char>(stream[bit / 8] ^ mask);
  }
}

TEST_F(Framers, ALargeBodyGrowsItsChunkOnlyAsItArrives) {
  const std::string hello = wire::encode_hello({});
  const std::string frame =
      frame_text({.type = FrameType::kRequest, .id = 1}, std::string(1 << 20, 'x'), false);
  StreamFramer framer{pool_, limits_, frames_left_};
  Transcript sink;
  std::string stream = hello + frame;
  std::size_t arrived = 0;
  while (arrived < stream.size()) {
    iovec places[2];
    const std::size_t count = framer.receive_into(places);
    ASSERT_EQ(count, 1u);
    EXPECT_LE(places[0].iov_len, 4096 + 5 * arrived) << "after " << arrived;
    const std::size_t part = std::min({places[0].iov_len, stream.size() - arrived, std::size_t{3000}});
    std::memcpy(places[0].iov_base, stream.data() + arrived, part);
    arrived += part;
    ASSERT_TRUE(framer.received(part, sink).ok());
    EXPECT_LE(pool_.chunks_out(), 1u);
  }
  EXPECT_GT(sink.text.size(), std::size_t{1 << 20});
  framer.park();
  EXPECT_EQ(pool_.chunks_out(), 0u);
}

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
    return frame_text({.type = FrameType::kRequest, .id = 1}, std::string(bytes, 'x'), false);
  }
  static std::string piece_head() {
    return frame_text(wire::PieceHead{.id = 1, .bytes = kPieceBytes, .last = true}.header(), {}, false);
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

// What a receive brought of the next one would be copied to a chunk of its own, on and on.
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
  const std::string large = request(1'000'000);
  std::size_t arrived = 0;
  for (const std::size_t piece : {1000u, 40'000u, 30'000u, 200'000u}) {
    const std::size_t held = places_of(std::string_view{large}.substr(arrived, piece), piece).back();
    EXPECT_LE(held, std::max<std::size_t>(64 * 1024, 6 * (arrived + piece))) << arrived;
    arrived += piece;
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

TEST_F(Framers, ABodyThatTheSinkDoesNotWantIsDroppedAsItComes) {
  for (const bool checksum : {false, true}) {
    for (const std::size_t size : {29'999u, 30'000u}) {
      const FrameHeader plain{.type = FrameType::kRequest, .id = 2};
      FrameHeader attached = plain;
      attached.flags = wire::FrameFlags::kAttachment;
      attached.attachment_bytes = 13;
      std::string stream = wire::encode_hello({});
      stream += frame_text({.type = FrameType::kRequest, .id = 1}, "small", checksum);
      stream += frame_text(plain, std::string(size, 'x'), checksum);
      stream += frame_text(attached, std::string(size, 'x'), checksum);
      stream += attachment_text("thirteen byte", checksum);
      stream += frame_text({.type = FrameType::kPing, .id = 7}, {}, checksum);
      Transcript sink;
      sink.checksums = checksum;
      sink.unwanted = 2;
      for (const std::size_t piece : {1u, 39u, 40u, 41u, 1000u, 4096u, 100'000u}) {
        const Run run = deliver(stream, piece, piece % 2 == 0, sink);
        ASSERT_TRUE(run.status.ok()) << run.status.to_string();
        EXPECT_EQ(run.text, "hello of version 1\n1 small\n2 \n2 \nlanded thirteen byte\n7 \n") << piece;
      }
    }
  }
  EXPECT_LE(largest_place_, pool_.roomy_bytes());
}

TEST_F(Framers, AFaultInABodyThatIsDroppedIsFoundAllTheSame) {
  std::string stream = wire::encode_hello({});
  stream += frame_text({.type = FrameType::kRequest, .id = 2}, std::string(30'001, 'x'), true);
  Transcript sink;
  sink.checksums = true;
  sink.unwanted = 2;
  for (const std::size_t at : {64u + 16u, 64u + 20'000u, 64u + 40u + 30'003u}) {
    std::string spoilt = stream;
    spoilt[at] = static_cast<char>(spoilt[at] ^ 1);
    const Run run = deliver(spoilt, 5000, false, sink);
    EXPECT_FALSE(run.status.ok()) << at;
    EXPECT_EQ(run.text, "hello of version 1\n") << "nothing of it was handed up";
  }
}

TEST_F(Framers, OnlyPartsOfAnAttachmentAreProgressAndNoTrickle) {
  limits_.attachment_bytes_max = std::uint64_t{1} << 30;
  for (const std::uint64_t length : {std::uint64_t{1} << 20, std::uint64_t{1} << 30}) {
    const std::uint64_t part = std::max<std::uint64_t>(64 * 1024, length / 1024);
    StreamFramer framer{pool_, limits_, frames_left_};
    Transcript sink;
    sink.skip = true;
    FrameHeader header{.type = FrameType::kRequest, .flags = 1, .id = 1, .attachment_bytes = length};
    const std::string head = wire::encode_hello({}) + frame_text(header, "", false);
    std::size_t given = 0;
    const auto give = [&](std::size_t bytes) {
      iovec places[2];
      ASSERT_EQ(framer.receive_into(places), 1u);
      given = std::min(bytes, places[0].iov_len);
      std::memset(places[0].iov_base, 'x', given);
      if (framer.progress() == 0) std::memcpy(places[0].iov_base, head.data(), given);
      ASSERT_TRUE(framer.received(given, sink).ok());
    };
    give(head.size());
    give(1);  // the part that is not a whole one
    std::uint64_t before = framer.progress();
    for (std::uint64_t came = 1; came < part; came += given) {
      EXPECT_EQ(framer.progress(), before) << came << " of " << length;
      give(std::min<std::uint64_t>(came < 1000 ? 1 : 4096, part - came));
    }
    give(1);
    EXPECT_NE(framer.progress(), before) << length;
  }
}

TEST_F(Framers, ABodyThatIsDroppedIsProgressHoweverLongItsAttachmentIs) {
  limits_.body_bytes_max = 1u << 20;
  limits_.attachment_bytes_max = std::uint64_t{1} << 40;
  FrameHeader header{
      .type = FrameType::kRequest, .flags = 1, .id = 2, .attachment_bytes = std::uint64_t{1} << 40};
  const std::string stream = wire::encode_hello({}) + frame_text(header, std::string(1u << 20, 'x'), false);
  StreamFramer framer{pool_, limits_, frames_left_};
  Transcript sink;
  sink.unwanted = 2;
  std::uint64_t grown = 0;
  for (std::size_t at = 0; at < stream.size();) {
    const std::uint64_t before = framer.progress();
    iovec places[2];
    ASSERT_EQ(framer.receive_into(places), 1u);
    const std::size_t part = std::min({places[0].iov_len, stream.size() - at, pool_.chunk_bytes()});
    std::memcpy(places[0].iov_base, stream.data() + at, part);
    ASSERT_TRUE(framer.received(part, sink).ok());
    grown += framer.progress() != before ? 1 : 0;
    at += part;
    if (at > stream.size() - 4096) break;  // before the attachment is asked for
  }
  EXPECT_GE(grown, (1u << 20) / (64 * 1024) / 2);
}

TEST_F(Framers, RefuseASpoiltHelloBeforeAnybodyHearsOfIt) {
  for (const std::size_t spoilt : {std::size_t{17}, std::size_t{45}, std::size_t{60}}) {
    std::string stream = wire::encode_hello({}) + frame_text({.type = FrameType::kPing, .id = 7}, {}, false);
    stream[spoilt] = static_cast<char>(stream[spoilt] + 1);
    for (const std::size_t piece : {std::size_t{1}, stream.size()}) {
      const Run run = deliver(stream, piece, false);
      EXPECT_FALSE(run.status.ok()) << spoilt;
      EXPECT_EQ(run.status.layer(), Layer::kWire);
      EXPECT_EQ(run.text, "") << spoilt;
    }
  }
}

TEST_F(Framers, CountBytesFramesAndReceivesExactly) {
  for (const bool skip : {false, true}) {
    for (const std::size_t piece : {1u, 100u, 70'000u}) {
      const std::string stream = stream_text(false);
      StreamFramer framer{pool_, limits_, frames_left_};
      Transcript sink;
      sink.skip = skip;
      std::uint64_t receives = 0;
      for (std::size_t at = 0; at < stream.size();) {
        iovec places[2];
        const std::size_t count = framer.receive_into(places);
        std::size_t given = 0;
        for (std::size_t i = 0; i < count && given < piece; ++i) {
          const std::size_t part = std::min({places[i].iov_len, piece - given, stream.size() - at});
          std::memcpy(places[i].iov_base, stream.data() + at, part);
          at += part;
          given += part;
        }
        ASSERT_TRUE(framer.received(given, sink).ok());
        ++receives;
      }
      EXPECT_EQ(framer.counters().bytes.get(), stream.size());
      EXPECT_EQ(framer.counters().receives.get(), receives);
      // The hello, 89 requests, five attachments with a ping behind each, and two more.
      EXPECT_EQ(framer.counters().frames.get(), 1u + 89 + 5 * 2 + 2) << piece;
    }
  }
}

TEST_F(Framers, RandomBytesNeverGetPastTheirVerdict) {
  unsigned state = 12345;
  const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 16; };
  std::string good = stream_text(false);
  for (int round = 0; round < 3000; ++round) {
    std::string stream = good.substr(0, 65 + next() % 4000);
    for (unsigned hits = next() % 6; hits > 0; --hits) {
      stream[64 + next() % (stream.size() - 64)] = static_cast<char>(next());
    }
    const bool park = next() % 2 == 0;
    const Run in_pieces = deliver(stream, 1 + next() % 5000, park);
    const Run whole = deliver(stream, stream.size(), false);
    EXPECT_EQ(in_pieces.text, whole.text);
    EXPECT_EQ(in_pieces.status.native(), whole.status.native());
  }
  EXPECT_LE(most_chunks_, 3u);
  EXPECT_EQ(pool_.chunks_out(), 0u);
}

TEST(ConnectionSize, IdleConnectionsAreSmall) {
  EXPECT_LE(sizeof(Connection) + sizeof(tcp::TcpCarrier), 1032u);  // 56 of them for landings in lists
  RecordProperty("tcp_connection_bytes", static_cast<int>(sizeof(Connection) + sizeof(tcp::TcpCarrier)));
  EXPECT_LE(sizeof(StreamFramer), 264u);
}

}  // namespace
}  // namespace weft
