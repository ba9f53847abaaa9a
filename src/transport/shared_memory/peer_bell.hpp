// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/shared_memory/doorbell.hpp"
#include "transport/shared_memory/side_words.hpp"
#include "transport/shared_memory/wake_rules.hpp"
#include "weft/detail/base/descriptor.hpp"

namespace weft::detail::shared_memory {

/// Rings for a peer that sleeps, once for each of its sleeps. Thread: the loop's.
class PeerBell {
 public:
  /// Both outlive it.
  PeerBell(const SideWords& theirs, const Descriptor& doorbell) noexcept
      : rule_(theirs), doorbell_(doorbell) {}

  /// Called after this side's `written` was stored.
  void after_write() noexcept {
    if (rule_.is_due_for_bytes()) ring(doorbell_);
  }
  /// Called after this side's `read` was stored; the peer's ring has `ring_bytes`.
  void after_read(std::uint64_t read, std::size_t ring_bytes) noexcept {
    if (rule_.is_due_for_room(read, ring_bytes)) ring(doorbell_);
  }

 private:
  RingRule<SideWords> rule_;
  const Descriptor& doorbell_;
};

}  // namespace weft::detail::shared_memory
