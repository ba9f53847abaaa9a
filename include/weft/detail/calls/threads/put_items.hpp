// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/threads/exchange_state.hpp"
#include "weft/detail/calls/threads/item_blocks.hpp"

namespace weft::detail {

/// Items of a stream on their way from a thread that blocks to its loop.
///
///   thread that writes    put() --> kRoom bytes, and one post for each empty -> not empty --> take()    loop
///
///   kOpen --end_writing()--> ended; written items are sent     kOpen, ended --close()--> over, items dropped
class PutItems {
 public:
  /// Cost of queued items, as a window counts it, above which a writing thread waits.
  static constexpr std::uint64_t kRoom = 64 * 1024;
  static constexpr FixedFailure kNoMemory{
      StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
      "out of memory for an item that waits to be sent (process_memory_max)"};

  explicit PutItems(ExchangeState& state) noexcept : state_(state) {}
  PutItems(const PutItems&) = delete;
  PutItems& operator=(const PutItems&) = delete;

  /// Blocks until an item may be put. Returns false when no more are taken. Thread: a writing one, as for all
  /// functions that put items.
  bool await_room() noexcept;
  /// Returns true if a thread that puts an item now would wait. Thread: any.
  bool would_wait() const noexcept;
  enum class Put : std::uint8_t { kNotTaken, kTaken, kFull };
  /// Takes an encoded item. kFull: it was taken, and await_room() must be called before the next one.
  Put put(Bytes item) noexcept;
  /// The same for the only item in `item`.
  Put put(ItemBlocks& item) noexcept;
  /// No more items are put.
  void end_writing() noexcept;
  /// Blocks until all items have been passed to the connection. Returns the failure if some could not be.
  Status flush() noexcept;
  /// Returns true if flush() would not block. Thread: any.
  bool have_left() const noexcept;

  /// Returns the items put since the last call. `sent` is the cost of the previous batch, which has been
  /// passed to the connection. When there are no items, `ends` tells whether no more will come. Thread: the
  /// loop's.
  ItemBlocks take(std::uint64_t sent, bool& ends) noexcept;
  /// Reports that items of this cost, from the current batch, were passed to the connection. Thread: the
  /// loop's.
  void sent(std::uint64_t cost) noexcept;
  /// Refuses all further items. Thread: the loop's.
  void end(const Status& why) noexcept;

  /// Wakes the thread that waits for the stream to open. Requires the lock, as do the functions below.
  void open() noexcept { writer_.wake_now(); }
  /// Returns the dropped items, to be destroyed without the lock: their attachments may run functions of the
  /// user's.
  [[nodiscard]] ItemBlocks close() noexcept;

 private:
  bool is_over() const noexcept { return ended_ || over_; }
  bool has_room() const noexcept { return state_.is_open() && waiting_ < kRoom; }
  Put count(ExchangeState::Lock& lock, std::size_t bytes, std::size_t attachment_bytes = 0) noexcept;

  ExchangeState& state_;
  SleepingThread writer_;
  ItemBlocks items_;
  /// Cost of the items that were put and not yet passed to the connection.
  std::uint64_t waiting_ = 0;
  /// The loop is sending a batch and will look for more.
  bool in_hand_ = false;
  bool ended_ = false;
  bool over_ = false;
  /// An item that was put was not sent.
  bool lost_ = false;
};

}  // namespace weft::detail
