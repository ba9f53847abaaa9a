// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "weft/detail/calls/exchange_state.hpp"
#include "weft/detail/calls/item_blocks.hpp"

namespace weft::detail {

class IncomingItems;

/// Items of a stream on their way from its loop to a thread that blocks for them.
///
///   loop     deliver() --> a whole batch, and one wake-up --> take()     thread that reads
///            take_counted() <-- once for half a window --------'
///
///   kOpen --end(), close()--> over, what is here is read still     kOpen --discard(), close()--> dropped
class ArrivedItems {
 public:
  explicit ArrivedItems(ExchangeState& state) noexcept : state_(state) {}
  ArrivedItems(const ArrivedItems&) = delete;
  ArrivedItems& operator=(const ArrivedItems&) = delete;

  /// Items of the cost `taken` are not needed any more. If `items` is empty it blocks until some have
  /// arrived, which are there then, or none come any more. Returns the cost of which to tell the next time.
  /// Without `waits` it does all of this but block. Thread: one that reads.
  std::uint64_t take(std::uint64_t taken, ItemBlocks& items, bool waits) noexcept;
  /// Says whether all that has arrived is not to be read. Thread: any.
  bool are_dropped() const noexcept { return dropped_.load(std::memory_order_acquire) || state_.in_child(); }
  /// A thread that took some now would wait. Thread: any.
  bool would_wait() const noexcept;
  /// Nobody reads any more: what is here is dropped, and what comes. Thread: any.
  void discard() noexcept;

  /// Takes all that waits in `items`. False when there is no memory for all of it. Thread: the loop's.
  bool deliver(IncomingItems& items) noexcept;
  /// No more come, for the reason `why` or because that was all; what is here is not read if it `drops` that.
  /// Thread: the loop's.
  void end(const Status& why, bool drops) noexcept;

  /// Cost that was taken since the last time, and discard() was called. Under the lock, like what follows.
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
