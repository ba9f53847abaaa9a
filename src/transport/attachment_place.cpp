// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/attachment_place.hpp"

#include <algorithm>
#include <cstring>

#include "weft/detail/wire/crc32c.hpp"

namespace weft::detail {

MutableBytes AttachmentPlace::next_run(std::uint64_t left) noexcept {
  const MutableBytes run = runs_.rest();
  return run.first(static_cast<std::size_t>(std::min<std::uint64_t>(run.size(), left)));
}

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
