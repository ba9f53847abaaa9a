// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "weft/detail/calls/threads/exchange_state.hpp"
#include "weft/detail/calls/threads/item_blocks.hpp"

namespace weft::detail {

class IncomingItems;

/// Items of a stream on their way from its loop to a thread that blocks for them.
///
///   loop     deliver() --> a whole batch, and one wake-up --> take()     thread that reads
///            take_counted() <-- once for half a window --------'
///
///   kOpen --end(), close()--> over; remaining items are still read     kOpen --discard(), close()--> dropped
class ArrivedItems {
 public:
  explicit ArrivedItems(ExchangeState& state) noexcept : state_(state) {}
  ArrivedItems(const ArrivedItems&) = delete;
  ArrivedItems& operator=(const ArrivedItems&) = delete;

  /// Releases items of the cost `taken`. If `items` is empty, blocks until items have arrived and moves them
  /// there, or until no more can arrive. Returns the cumulative cost at which the caller should report the
  /// next time. Does not block if `waits` is false. Thread: a reading one.
  std::uint64_t take(std::uint64_t taken, ItemBlocks& items, bool waits) noexcept;
  /// Returns true if arrived items must not be read. Thread: any.
  bool are_dropped() const noexcept { return dropped_.load(std::memory_order_acquire) || state_.in_child(); }
  /// Returns true if take() would block. Thread: any.
  bool would_wait() const noexcept;
  /// Stops reading: drops the items that are here and all later ones. Thread: any.
  void discard() noexcept;

  /// Takes all items that wait in `items`. Returns false when there is not enough memory. Thread: the loop's.
  bool deliver(IncomingItems& items) noexcept;
  /// Ends the stream of items, because of the failure `why` or after the last one. With `drops` the items
  /// that are here are not read. Thread: the loop's.
  void end(const Status& why, bool drops) noexcept;

  /// Returns the cost taken since the last call of this. Requires the lock, as do the two functions below.
  std::uint64_t take_counted() noexcept { return std::exchange(taken_, 0); }
  bool are_discarded() const noexcept { return discarded_; }
  void close(bool drops) noexcept;

 private:
  ExchangeState& state_;
  SleepingThread reader_;
  ItemBlocks items_;
  std::uint64_t taken_ = 0;
  bool over_ = false;
  bool discarded_ = false;
  std::atomic<bool> dropped_ = false;
};

}  // namespace weft::detail
