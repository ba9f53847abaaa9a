// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/queued_attachment.hpp"

#include <cstring>
#include <utility>

#include "weft/detail/wire/crc32c.hpp"

namespace weft::detail {

void QueuedAttachment::add(Bytes bytes) noexcept {
  begun_ = begun_ || !bytes.empty();
  if (checksums_) checksum_ = wire::crc32c(bytes, checksum_);
  misalignment_ = static_cast<std::uint8_t>((misalignment_ + bytes.size()) & 7);
}

std::byte* QueuedAttachment::end(std::byte* to) noexcept {
  if (!std::exchange(begun_, false)) return to;
  const std::size_t padding = (8 - misalignment_) & 7;
  std::memset(to, 0, padding);
  to += padding;
  misalignment_ = 0;
  if (!checksums_) return to;
  store_le<std::uint64_t>(to, std::exchange(checksum_, 0));
  return to + 8;
}

}  // namespace weft::detail
