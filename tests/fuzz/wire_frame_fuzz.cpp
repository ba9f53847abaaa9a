// SPDX-License-Identifier: Apache-2.0
// Frame headers: whatever they say, the verdict comes from the header alone, and what passes is bounded.
#include <algorithm>
#include <cstring>
#include <vector>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/wire/carrier.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail::wire {
namespace {

constexpr FrameLimits kLimits{.body_bytes_max = 4096, .attachment_bytes_max = 1 << 20};

void check_checksum(Bytes body, const FrameHeader& header) {
  std::vector<std::byte> frame(head_bytes(header.body_bytes, true));
  store_header(frame.data(), header);
  const std::size_t bytes = std::min<std::size_t>(body.size(), header.body_bytes);
  std::copy_n(body.begin(), bytes, frame.begin() + kHeaderBytes);
  finish_frame(frame.data(), header.body_bytes, true);
  WEFT_ASSERT(checksum_matches(frame.data(), header.body_bytes), "a finished frame has a wrong checksum");
  const std::size_t flipped = static_cast<std::size_t>(header.id % (kHeaderBytes + header.body_bytes));
  frame[flipped] ^= std::byte{1};
  WEFT_ASSERT(!checksum_matches(frame.data(), header.body_bytes), "a flipped bit went unnoticed");
}

void check_frame(Bytes input) {
  if (input.size() < kHeaderBytes) return;
  const FrameHeader header = load_header(input.data());
  const FrameFault fault = check_header(header, kLimits);
  WEFT_ASSERT(!to_string(header.type).empty() && !to_string(fault).empty(), "everything has a name");
  if (fault != FrameFault::kNone) {
    const Status status = fault_status(fault, header, kLimits);
    WEFT_ASSERT(!status.ok() && !status.message().empty(), "a refusal says why");
    return;
  }
  const std::size_t most = header.type == FrameType::kCarrier ? kCarrierBodyMax : kLimits.body_bytes_max;
  WEFT_ASSERT(header.body_bytes <= most, "a body over the limit was accepted");
  WEFT_ASSERT(header.attachment_bytes <= kLimits.attachment_bytes_max,
              "an attachment over the limit was accepted");
  check_checksum(input.subspan(kHeaderBytes), header);
}

}  // namespace
}  // namespace weft::detail::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::detail::wire::check_frame({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
