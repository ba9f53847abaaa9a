// SPDX-License-Identifier: Apache-2.0
// What brings a carrier up, and what goes over it: bodies of carrier frames, and the headers of UCX messages.
// The first byte of the input says which.
#include <algorithm>
#include <array>
#include <cstring>

#include "transport/ucx/active_message.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/wire/carrier.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft {

using namespace weft::detail;
namespace {

void check_carrier_body(Bytes body) {
  const Result<wire::CarrierMessage> message = wire::decode_carrier_body(body);
  if (!message.ok()) {
    WEFT_ASSERT(!message.status().message().empty(), "a refusal says why");
    return;
  }
  WEFT_ASSERT(message->text.size() <= wire::kCarrierTextMax, "a text over the limit was accepted");
  const std::string frame = wire::encode_carrier_frame(*message);
  const wire::FrameHeader header = wire::load_header(as_bytes(frame).data());
  WEFT_ASSERT(wire::check_header(header, {}) == wire::FrameFault::kNone, "what was written is no frame");
  const Bytes again = as_bytes(frame).subspan(wire::kHeaderBytes, header.body_bytes);
  WEFT_ASSERT(std::ranges::equal(again, body), "what was read does not survive being written");
}

void check_message_header(Bytes input) {
  const auto header = ucx_carrier::load_active_message_header(input);
  if (!header) return;
  WEFT_ASSERT(header->message.kind >= MessageKind::kProbe && header->message.kind <= kLastMessageKind,
              "an unknown kind was accepted");
  std::array<std::byte, ucx_carrier::kActiveMessageHeaderBytes> again{};
  ucx_carrier::store_active_message_header(again.data(), *header);
  WEFT_ASSERT(std::ranges::equal(again, input), "what was read does not survive being written");
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const weft::Bytes input{reinterpret_cast<const std::byte*>(data) + 1, size - 1};
  data[0] % 2 == 0 ? weft::check_carrier_body(input) : weft::check_message_header(input);
  return 0;
}
