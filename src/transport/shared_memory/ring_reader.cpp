// SPDX-License-Identifier: Apache-2.0
#include "transport/shared_memory/ring_reader.hpp"

#include <algorithm>
#include <cstring>

namespace weft::detail::shared_memory {

RingReader::RingReader(const MappedMemory& own, const MappedMemory& peer, PeerBell& bell) noexcept
    : ring_(peer.ring()),
      ours_(*reinterpret_cast<SideWords*>(own.words())),
      theirs_(*reinterpret_cast<const SideWords*>(peer.words())),
      bell_(bell) {}

std::size_t RingReader::read(std::span<const iovec> into) noexcept {
  has_news();
  if (peer_lies()) return 0;
  std::size_t total = 0;
  for (const iovec& place : into) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(place.iov_len, waiting()));
    copy_out(static_cast<std::byte*>(place.iov_base), part);
    read_ += part;
    total += part;
    if (part < place.iov_len) break;
  }
  if (total > 0) publish();
  return total;
}

std::size_t RingReader::skip(std::size_t bytes) noexcept {
  has_news();
  if (peer_lies()) return 0;
  const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, waiting()));
  read_ += part;
  if (part > 0) publish();
  return part;
}

void RingReader::copy_out(std::byte* into, std::size_t bytes) const noexcept {
  const auto at = static_cast<std::size_t>(read_ & (ring_.size() - 1));
  const std::size_t first = std::min(bytes, ring_.size() - at);
  std::memcpy(into, ring_.data() + at, first);
  if (first < bytes) std::memcpy(into + first, ring_.data(), bytes - first);
}

void RingReader::publish() noexcept {
  ours_.read.store(read_, std::memory_order_seq_cst);
  bell_.after_read(read_, ring_.size());
}

}  // namespace weft::detail::shared_memory
