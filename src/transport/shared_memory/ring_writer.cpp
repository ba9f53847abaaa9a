// SPDX-License-Identifier: Apache-2.0
#include "transport/shared_memory/ring_writer.hpp"

#include <algorithm>
#include <cstring>

namespace weft::detail::shared_memory {

namespace {

// A part of a long run that is worth showing to the peer before the rest is copied.
constexpr std::size_t kPartBytes = 32 * 1024;

}  // namespace

RingWriter::RingWriter(const MappedMemory& own, const MappedMemory& peer, PeerBell& bell) noexcept
    : ring_(own.ring()),
      ours_(*reinterpret_cast<SideWords*>(own.words())),
      theirs_(*reinterpret_cast<const SideWords*>(peer.words())),
      bell_(bell) {}

// The peer may write anything into its word: a value that cannot be true is never used.
void RingWriter::look() noexcept {
  const std::uint64_t read = theirs_.read.load(std::memory_order_seq_cst);
  if (written_ - read > ring_.size()) {
    peer_lies_ = true;
  } else {
    peer_read_ = read;
  }
}

std::size_t RingWriter::write(std::span<const iovec> from) noexcept {
  std::size_t total = 0;
  for (const iovec& piece : from) {
    const auto* at = static_cast<const std::byte*>(piece.iov_base);
    for (std::size_t left = piece.iov_len; left > 0;) {
      if (free() < left) look();
      const std::size_t part = std::min({left, free(), kPartBytes - unpublished_});
      if (part == 0 || peer_lies_) {
        if (unpublished_ > 0) publish();
        return total;
      }
      copy_in(at, part);
      at += part;
      left -= part;
      total += part;
      unpublished_ += part;
      if (unpublished_ == kPartBytes) publish();
    }
  }
  if (unpublished_ > 0) publish();
  return total;
}

void RingWriter::copy_in(const std::byte* from, std::size_t bytes) noexcept {
  const auto at = static_cast<std::size_t>(written_ & (ring_.size() - 1));
  const std::size_t first = std::min(bytes, ring_.size() - at);
  std::memcpy(ring_.data() + at, from, first);
  if (first < bytes) std::memcpy(ring_.data(), from + first, bytes - first);
  written_ += bytes;
}

void RingWriter::publish(std::uint64_t flags) noexcept {
  flags_ |= flags;
  unpublished_ = 0;
  ours_.written.store((written_ & kCountMask) | flags_, std::memory_order_seq_cst);
  bell_.after_write();
}

}  // namespace weft::detail::shared_memory
