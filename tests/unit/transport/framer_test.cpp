// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/fewer_steps.hpp"
#include "transport/memory/memory_carrier.hpp"
#include "transport/tcp/tcp_carrier.hpp"
#include "unit/transport/framer_rig.hpp"

namespace weft {

using namespace weft::detail;
using namespace weft::framer_testing;
namespace {

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

TEST_F(Framers, HowAByteStreamIsCutIntoPiecesMakesNoDifference) {
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
  const std::vector<std::size_t> pieces =
      testing::kFewerSteps > 0 ? std::vector<std::size_t>{7, 299, 100'000}
                               : std::vector<std::size_t>{1, 2, 7, 8, 63, 299, 301, 4096, 100'000};
  for (const bool checksum : {false, true}) {
    const std::string stream = stream_text(checksum);
    Transcript sink;
    sink.checksums = checksum;
    const Run whole = deliver(stream, stream.size(), false, sink);
    ASSERT_TRUE(whole.status.ok()) << whole.status.to_string();
    for (const std::vector<std::size_t>& shape : std::vector<std::vector<std::size_t>>{
             {1}, {7}, {0, 3, 0, 0, 500}, {4096}, {1, 1, 2000}, {100'000}}) {
      sink.shape = shape;
      for (const std::size_t piece : pieces) {
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
    stream += frame_head(
        {.type = FrameType::kAnswer, .flags = wire::FrameFlags::kAttachment, .id = 5, .attachment_bytes = 45},
        {}, checksum);
    stream += attachment_bytes("forty-five bytes that are not all of one kind", checksum);
    stream += frame_head({.type = FrameType::kPing, .id = 7}, {}, checksum);
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
  stream += frame_head(
      {.type = FrameType::kAnswer, .flags = wire::FrameFlags::kAttachment, .id = 5, .attachment_bytes = 9000},
      {}, false);
  const std::size_t head = stream.size();
  stream += attachment_bytes(std::string(9000, 'a'), false);
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
  stream += frame_head(
      {.type = FrameType::kAnswer, .flags = wire::FrameFlags::kAttachment, .id = 5, .attachment_bytes = 9000},
      {}, true);
  const std::size_t head = stream.size();
  stream += attachment_bytes(std::string(9000, 'a'), true);
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
  stream += frame_head({.type = FrameType::kAnswer, .flags = 1, .id = 5, .attachment_bytes = 3}, {}, false);
  stream += attachment_bytes("abc", false);
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
      frame_head({.type = FrameType::kRequest, .flags = 1, .id = 5, .attachment_bytes = 13}, "body", true);
  stream += attachment_bytes("thirteen byte", true);
  stream += frame_head({.type = FrameType::kPing, .id = 7}, {}, true);
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
      frame_head({.type = FrameType::kRequest, .id = 1}, std::string(1 << 20, 'x'), false);
  StreamFramer framer{pool_, limits_, frames_left_};
  Transcript sink;
  std::string stream = hello + frame;
  std::size_t arrived = 0;
  while (arrived < stream.size()) {
    iovec places[2];
    const std::size_t count = framer.receive_into(places);
    ASSERT_EQ(count, 1u);
    EXPECT_LE(places[0].iov_len, 4096 + 4 * arrived) << "after " << arrived;
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

TEST_F(Framers, ABodyThatTheSinkDoesNotWantIsDroppedAsItComes) {
  for (const bool checksum : {false, true}) {
    for (const std::size_t size : {29'999u, 30'000u}) {
      const FrameHeader plain{.type = FrameType::kRequest, .id = 2};
      FrameHeader attached = plain;
      attached.flags = wire::FrameFlags::kAttachment;
      attached.attachment_bytes = 13;
      std::string stream = wire::encode_hello({});
      stream += frame_head({.type = FrameType::kRequest, .id = 1}, "small", checksum);
      stream += frame_head(plain, std::string(size, 'x'), checksum);
      stream += frame_head(attached, std::string(size, 'x'), checksum);
      stream += attachment_bytes("thirteen byte", checksum);
      stream += frame_head({.type = FrameType::kPing, .id = 7}, {}, checksum);
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
  stream += frame_head({.type = FrameType::kRequest, .id = 2}, std::string(30'001, 'x'), true);
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
    const std::string head = wire::encode_hello({}) + frame_head(header, "", false);
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
  const std::string stream = wire::encode_hello({}) + frame_head(header, std::string(1u << 20, 'x'), false);
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
    std::string stream = wire::encode_hello({}) + frame_head({.type = FrameType::kPing, .id = 7}, {}, false);
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
  // 56 of them for landings in lists, 8 for the time at which there was nothing to receive.
  EXPECT_LE(sizeof(Connection) + sizeof(tcp::TcpCarrier), 1032u);
  RecordProperty("tcp_connection_bytes", static_cast<int>(sizeof(Connection) + sizeof(tcp::TcpCarrier)));
  EXPECT_LE(sizeof(StreamFramer), 264u);
}

}  // namespace
}  // namespace weft
