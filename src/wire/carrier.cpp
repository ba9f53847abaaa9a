// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/wire/carrier.hpp"

#include "weft/detail/base/assert.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail::wire {

namespace {

constexpr std::size_t kTextAt = 8;

Status malformed(std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kWire, "a carrier frame: " + std::string{why}};
}

}  // namespace

std::string encode_carrier_frame(const CarrierMessage& message) {
  WEFT_ASSERT(message.text.size() <= kCarrierTextMax,
              "a carrier frame has room for kCarrierTextMax bytes of text");
  FrameHeader header;
  header.type = FrameType::kCarrier;
  header.body_bytes = static_cast<std::uint32_t>(kTextAt + message.text.size());
  std::string frame(static_cast<std::size_t>(head_bytes(header.body_bytes, false)), '\0');
  auto* const at = reinterpret_cast<std::byte*>(frame.data());
  store_header(at, header);
  std::byte* const body = at + kHeaderBytes;
  store_le(body, message.step);
  store_le(body + 1, message.kind);
  if (!message.text.empty()) std::memcpy(body + kTextAt, message.text.data(), message.text.size());
  return frame;
}

Result<CarrierMessage> decode_carrier_body(Bytes body) {
  if (body.size() < kTextAt) return malformed("cut short");
  if (body.size() > kCarrierBodyMax) return malformed("longer than it may be");
  CarrierMessage message;
  const auto step = load_le<std::uint8_t>(body.data());
  if (step < static_cast<unsigned>(CarrierStep::kAddress) ||
      step > static_cast<unsigned>(CarrierStep::kReady)) {
    return malformed("step " + std::to_string(step) + " is not known");
  }
  message.step = static_cast<CarrierStep>(step);
  message.kind = load_le<CarrierKind>(body.data() + 1);
  if (load_le<std::uint64_t>(body.data()) >> 16 != 0) return malformed("reserved bytes are not zero");
  message.text = as_text(body.subspan(kTextAt));
  return message;
}

}  // namespace weft::detail::wire
