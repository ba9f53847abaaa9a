// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/attachment_place.hpp"

#include <cstring>

#include "weft/detail/wire/crc32c.hpp"

namespace weft::detail {

void AttachmentPlace::put(Bytes from) noexcept {
  const std::byte* next = from.data();
  runs_.take(from.size(), [&next](MutableBytes run) {
    std::memcpy(run.data(), next, run.size());
    next += run.size();
  });
}

void AttachmentPlace::pass(std::size_t bytes, std::uint32_t* checksum) noexcept {
  if (checksum == nullptr) return runs_.advance(bytes);
  runs_.take(bytes, [checksum](MutableBytes run) { *checksum = wire::crc32c(run, *checksum); });
}

}  // namespace weft::detail
