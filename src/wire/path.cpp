// SPDX-License-Identifier: Apache-2.0
#include "weft/wire/path.hpp"

#include "weft/base/assert.hpp"
#include "weft/wire/frame.hpp"

namespace weft::wire {

namespace {

constexpr std::size_t kTextAt = 8;

Status malformed(std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kWire, "a path frame: " + std::string{why}};
}

}  // namespace

std::string encode_path_frame(const PathMessage& message) {
  WEFT_ASSERT(message.text.size() <= kPathTextMax, "a path frame has room for kPathTextMax bytes of text");
  FrameHeader header;
  header.type = FrameType::kPath;
  header.body_bytes = static_cast<std::uint32_t>(kTextAt + message.text.size());
  std::string frame(static_cast<std::size_t>(head_bytes(header.body_bytes, false)), '\0');
  auto* const at = reinterpret_cast<std::byte*>(frame.data());
  store_header(at, header);
  std::byte* const body = at + kHeaderBytes;
  store_le(body, message.step);
  store_le(body + 1, message.path);
  if (!message.text.empty()) std::memcpy(body + kTextAt, message.text.data(), message.text.size());
  return frame;
}

Result<PathMessage> decode_path_body(Bytes body) {
  if (body.size() < kTextAt) return malformed("cut short");
  if (body.size() > kPathBodyMax) return malformed("longer than it may be");
  PathMessage message;
  const auto step = load_le<std::uint8_t>(body.data());
  if (step < static_cast<unsigned>(PathStep::kAddress) || step > static_cast<unsigned>(PathStep::kReady)) {
    return malformed("step " + std::to_string(step) + " is not known");
  }
  message.step = static_cast<PathStep>(step);
  message.path = load_le<DataPath>(body.data() + 1);
  if (load_le<std::uint64_t>(body.data()) >> 16 != 0) return malformed("reserved bytes are not zero");
  message.text = as_text(body.subspan(kTextAt));
  return message;
}

}  // namespace weft::wire
