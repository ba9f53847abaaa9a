// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/wire_bytes.hpp"
#include "weft/detail/transport/stream_framer.hpp"
#include "weft/detail/wire/heads.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::framer_testing {

using namespace weft::detail;
using testing::attachment_bytes;
using testing::frame_head;
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

inline std::string stream_text(bool checksum) {
  std::string text = wire::encode_hello({});
  for (std::uint64_t id = 1; id < 90; ++id) {
    text += frame_head({.type = FrameType::kRequest, .id = id}, std::string(id * 7 % 50, 'b'), checksum);
  }
  for (const std::size_t size : {1u, 5u, 8u, 300u, 9001u}) {
    text += frame_head({.type = FrameType::kAnswer,
                        .flags = wire::FrameFlags::kAttachment,
                        .id = size,
                        .attachment_bytes = size},
                       "with attachment", checksum);
    std::string attachment(size, '\0');
    for (std::size_t i = 0; i < size; ++i) attachment[i] = static_cast<char>('0' + (i * 31 + i / 97) % 43);
    text += attachment_bytes(attachment, checksum);
    text += frame_head({.type = FrameType::kPing, .id = 7}, {}, checksum);
  }
  text += frame_head({.type = FrameType::kRequest, .id = 99}, std::string(20'000, 'l'), checksum);
  return text + frame_head({.type = FrameType::kGoaway}, "bye", checksum);
}

// Where frames begin and end in a byte stream, and the hello ends.
inline std::vector<std::size_t> borders_of(std::string_view stream, bool checksum) {
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

}  // namespace weft::framer_testing
