// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/shared_memory/mapped_memory.hpp"
#include "transport/shared_memory/peer_bell.hpp"
#include "transport/shared_memory/side_words.hpp"

namespace weft::detail::shared_memory {

/// Copies bytes out of the peer's ring. The peer may change the ring and its words at any time: each word is
/// loaded once, checked, and used, and bytes are parsed only in the copy. Thread: the loop's.
class RingReader {
 public:
  /// All three outlive it.
  RingReader(const MappedMemory& own, const MappedMemory& peer, PeerBell& bell) noexcept;

  /// Loads what the peer says. Returns whether that has changed since the last call of this, and of read()
  /// and skip().
  bool has_news() noexcept {
    const std::uint64_t word = theirs_.written.load(std::memory_order_seq_cst);
    if (word == seen_) return false;
    seen_ = word;
    return true;
  }
  /// The peer has mapped this side's memory.
  bool peer_is_up() const noexcept { return (seen_ & kUp) != 0; }
  /// Everything that the peer sent before its end was read.
  bool has_ended() const noexcept { return (seen_ & kEnded) != 0 && waiting() == 0; }
  /// The peer says that it has written more than its ring holds. Nothing is read any more.
  bool peer_lies() const noexcept { return waiting() > ring_.size(); }

  /// Fills `into` from its beginning. Returns the number of bytes; less than `into` has room for: nothing is
  /// left for now.
  std::size_t read(std::span<const iovec> into) noexcept;
  /// Passes over up to `bytes` bytes. Returns their number.
  std::size_t skip(std::size_t bytes) noexcept;

 private:
  /// Number of bytes in the ring, as far as the peer can be believed. A peer that goes back says a huge one.
  std::uint64_t waiting() const noexcept { return (seen_ & kCountMask) - read_; }
  void copy_out(std::byte* into, std::size_t bytes) const noexcept;
  void publish() noexcept;

  const Bytes ring_;
  SideWords& ours_;
  const SideWords& theirs_;
  PeerBell& bell_;
  std::uint64_t read_ = 0;
  std::uint64_t seen_ = 0;
};

}  // namespace weft::detail::shared_memory
