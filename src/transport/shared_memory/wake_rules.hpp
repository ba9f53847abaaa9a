// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/shared_memory/side_words.hpp"

/// The rules by which a side sleeps, and by which the other side wakes it.
///
///   side that sleeps                     side that writes, or reads
///   ----------------                     --------------------------
///   1. stores its `sleep`                1. stores its `written` or `read`
///   2. loads the other's `written`       2. loads the other's `sleep`
///      and `read`: if there is news,     3. rings if that is a sleep for which it has not rung
///      it stays awake
///
/// All four accesses are sequentially consistent, so they have one order that both sides agree on. Either the
/// store of `sleep` comes before the load in step 2 on the right, and the other side rings; or it comes after
/// that load, so after the store of the news, which step 2 on the left then sees. A side never sleeps without
/// a ring that is due. For each sleep the other side rings at most once, however many bytes it writes: the
/// number of the sleep tells it that it has rung. Later news are seen when the side looks before its next
/// sleep.
namespace weft::detail::shared_memory {

/// Part of a ring that must be free before a side that waited for room goes on: it then writes much at once.
constexpr std::size_t room_to_go_on(std::size_t ring_bytes) {
  return ring_bytes / 2;
}

/// Announces the sleeps of a side in its words.
template <typename Words>
class SleepRule {
 public:
  explicit SleepRule(Words& ours) noexcept : ours_(ours) {}

  /// Announces a sleep. The caller looks for news afterwards, and calls awake() if there are any.
  void announce(bool wants_room) noexcept {
    ++sleeps_;
    ours_.sleep.store(sleeps_ * 2 + (wants_room ? kWantsRoom : 0), std::memory_order_seq_cst);
  }
  /// The other side need not ring: news are looked for before the next sleep.
  void awake() noexcept { ours_.sleep.store(0, std::memory_order_relaxed); }

 private:
  Words& ours_;
  std::uint64_t sleeps_ = 0;
};

/// Decides when to ring for the other side.
template <typename Words>
class RingRule {
 public:
  explicit RingRule(const Words& theirs) noexcept : theirs_(theirs) {}

  /// Called after a store of `written`. True: the caller must ring.
  bool is_due_for_bytes() noexcept { return is_new(theirs_.sleep.load(std::memory_order_seq_cst), true); }
  /// Called after a store of `read`, up to which this side has taken bytes from the other's ring. True: the
  /// caller must ring.
  bool is_due_for_room(std::uint64_t read, std::size_t ring_bytes) noexcept {
    const std::uint64_t sleep = theirs_.sleep.load(std::memory_order_seq_cst);
    if ((sleep & kWantsRoom) == 0) return false;
    const std::uint64_t written = theirs_.written.load(std::memory_order_seq_cst) & kCountMask;
    return is_new(sleep, written - read <= ring_bytes - room_to_go_on(ring_bytes));
  }

 private:
  bool is_new(std::uint64_t sleep, bool wanted) noexcept {
    if (sleep == 0 || sleep == rung_for_ || !wanted) return false;
    rung_for_ = sleep;
    return true;
  }

  const Words& theirs_;
  std::uint64_t rung_for_ = 0;
};

}  // namespace weft::detail::shared_memory
