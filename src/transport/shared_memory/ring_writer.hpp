// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/shared_memory/mapped_memory.hpp"
#include "transport/shared_memory/peer_bell.hpp"
#include "transport/shared_memory/side_words.hpp"
#include "transport/shared_memory/wake_rules.hpp"

namespace weft::detail::shared_memory {

/// Writes bytes into the ring of this side, and rings for a peer that sleeps. Thread: the loop's.
class RingWriter {
 public:
  /// All three outlive it.
  RingWriter(const MappedMemory& own, const MappedMemory& peer, PeerBell& bell) noexcept;

  /// Tells the peer that this side has mapped its memory.
  void go_up() noexcept { publish(kUp); }
  /// Copies the beginning of `from` into the ring, as much as there is room for. Long runs become visible to
  /// the peer part by part, so that it copies while this side does. Returns the number of copied bytes.
  std::size_t write(std::span<const iovec> from) noexcept;
  /// Tells the peer that no more bytes come.
  void end() noexcept { publish(kEnded); }

  /// Loads how much the peer has read. Returns true if a side that waited for room may go on.
  bool has_room_to_go_on() noexcept {
    look();
    return free() >= room_to_go_on(ring_.size());
  }
  /// The peer says that it has read bytes that were not written. Nothing is written any more.
  bool peer_lies() const noexcept { return peer_lies_; }

 private:
  std::size_t free() const noexcept { return ring_.size() - static_cast<std::size_t>(written_ - peer_read_); }
  void look() noexcept;
  void copy_in(const std::byte* from, std::size_t bytes) noexcept;
  void publish(std::uint64_t flags = 0) noexcept;

  const MutableBytes ring_;
  SideWords& ours_;
  const SideWords& theirs_;
  PeerBell& bell_;
  /// This side's own count: what stands in its words is only for the peer.
  std::uint64_t written_ = 0;
  std::uint64_t peer_read_ = 0;
  std::uint64_t flags_ = 0;
  std::size_t unpublished_ = 0;
  bool peer_lies_ = false;
};

}  // namespace weft::detail::shared_memory
