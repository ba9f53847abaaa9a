// SPDX-License-Identifier: Apache-2.0
// The framer of byte streams: whatever a peer sends, and however its byte stream is cut into pieces, the same
// is handed up, nothing is touched that was not received, and memory grows only with what has arrived.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/transport/stream_framer.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft {

using namespace weft::detail;
namespace {

constexpr wire::FrameLimits kLimits{.body_bytes_max = 200'000, .attachment_bytes_max = 100'000};
constexpr std::size_t kChunkBytes = 1024;

// How one input is to be treated; from its first two bytes.
struct Plan {
  bool checksums;
  bool skip;
  bool retain;
  bool park;
  bool drop_bodies;
  std::size_t piece;
};

struct Transcript final : FrameSink {
  explicit Transcript(const Plan& its) : plan(its) {}
  Status on_hello(const wire::Hello&) override {
    if (plan.checksums) framer->use_checksums();
    return {};
  }
  Status on_frames(std::span<const Frame> frames, const ChunkRef& chunk) override {
    WEFT_ASSERT(!frames.empty() && frames.size() <= StreamFramer::kBatchMax, "a batch has a bounded size");
    for (const Frame& frame : frames) note(frame);
    if (plan.retain && chunks.size() < 8) chunks.push_back(chunk);
    return {};
  }
  bool wants_body(const wire::FrameHeader&, Bytes) override { return !plan.drop_bodies; }
  Landing on_attachment(const Frame& frame) override {
    WEFT_ASSERT(frame.header.attachment_bytes <= kLimits.attachment_bytes_max,
                "an attachment over the limit");
    memory.assign(frame.header.attachment_bytes, '?');
    if (plan.skip) return Landing::skip();
    return Landing::into({reinterpret_cast<std::byte*>(memory.data()), memory.size()});
  }
  Status on_attachment_end(const Frame& frame, const ChunkRef&, bool landed) override {
    note(frame);
    text += memory;
    WEFT_ASSERT(landed != plan.skip, "an attachment lands where it was told");
    return {};
  }
  void on_drained() override {}
  void on_closed(Status) override {}

  void note(const Frame& frame) {
    WEFT_ASSERT(frame.body.size() == frame.header.body_bytes || (plan.drop_bodies && frame.body.empty()),
                "a body is as long as its header says");
    WEFT_ASSERT(reinterpret_cast<std::uintptr_t>(frame.body.data()) % 8 == 0, "a body is aligned");
    WEFT_ASSERT(wire::check_header(frame.header, kLimits) == wire::FrameFault::kNone,
                "a bad header was handed up");
    text.append(reinterpret_cast<const char*>(&frame.header), sizeof frame.header);
    // Which bodies are whole in a chunk, and not dropped, depends on how the byte stream was cut.
    if (!plan.drop_bodies) text += as_text(frame.body);
  }

  const Plan plan;
  StreamFramer* framer = nullptr;
  std::string text;
  std::string memory;
  std::vector<ChunkRef> chunks;
};

// Not the message: another protocol is named only where enough of its beginning arrived at once.
std::string outcome(const Status& status) {
  return std::string{to_string(status.code())} + std::to_string(status.native());
}

std::string deliver(std::string_view stream, const Plan& plan) {
  ChunkPool pool{{.chunk_bytes = kChunkBytes, .cached_bytes_max = 1 << 20}};
  Transcript sink{plan};
  std::size_t frames_left = SIZE_MAX;
  StreamFramer framer{pool, kLimits, frames_left};
  sink.framer = &framer;
  std::size_t arrived = 0;
  while (arrived < stream.size()) {
    iovec places[2];
    const std::size_t count = framer.receive_into(places);
    WEFT_ASSERT(count > 0, "there is memory");
    WEFT_ASSERT(places[count - 1].iov_len <= 2 * kChunkBytes + 4 * arrived,
                "memory grows with what has arrived");
    std::size_t given = 0;
    for (std::size_t at = 0; at < count && given < plan.piece; ++at) {
      const std::size_t part = std::min({plan.piece - given, places[at].iov_len, stream.size() - arrived});
      std::memcpy(places[at].iov_base, stream.data() + arrived, part);
      arrived += part;
      given += part;
    }
    const Status status = framer.received(given, sink);
    if (!status.ok()) return sink.text + outcome(status);
    if (plan.park) framer.park();
  }
  return sink.text + outcome(framer.ended());
}

void check(std::string_view input) {
  if (input.size() < 2) return;
  const auto flags = static_cast<unsigned char>(input[0]);
  Plan plan{(flags & 1) != 0, (flags & 2) != 0,  (flags & 4) != 0,
            (flags & 8) != 0, (flags & 32) != 0, 1 + std::size_t{static_cast<unsigned char>(input[1])} * 3};
  std::string stream = (flags & 16) != 0 ? std::string{} : wire::encode_hello({});
  stream += input.substr(2);
  const std::string in_pieces = deliver(stream, plan);
  plan.piece = stream.size() + 1;
  plan.park = plan.retain = false;
  WEFT_ASSERT(deliver(stream, plan) == in_pieces, "how a stream was cut made a difference");
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
