// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/exchange_state.hpp"
#include "weft/detail/calls/item_blocks.hpp"

namespace weft::detail {

/// Items of a stream on their way from a thread that blocks to its loop.
///
///   thread that writes    put() --> kRoom bytes, and one post for each empty -> not empty --> take()    loop
///
///   kOpen --end_writing()--> ended, what was put leaves     kOpen, ended --close()--> over, what is here too
class PutItems {
 public:
  /// Cost of items, as a window counts it, behind which a thread that writes waits.
  static constexpr std::uint64_t kRoom = 64 * 1024;
  static constexpr FixedFailure kNoMemory{
      StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
      "out of memory for an item that waits to be sent (process_memory_max)"};

  explicit PutItems(ExchangeState& state) noexcept : state_(state) {}
  PutItems(const PutItems&) = delete;
  PutItems& operator=(const PutItems&) = delete;

  /// Blocks until an item may be put. False when none is taken any more. Thread: one that writes, as for all
  /// that puts.
  bool await_room() noexcept;
  /// A thread that put one now would wait. Thread: any.
  bool would_wait() const noexcept;
  enum class Put : std::uint8_t { kNotTaken, kTaken, kFull };
  /// Takes an item that was encoded. kFull: it was taken, and await_room() comes before the next one.
  Put put(Bytes item) noexcept;
  /// The same for one that is alone in `item`.
  Put put(ItemBlocks& item) noexcept;
  /// No more items are put.
  void end_writing() noexcept;
  /// Blocks until all that was put is on its way. Says why, if something is not.
  Status flush() noexcept;
  /// flush() would not wait. Thread: any.
  bool have_left() const noexcept;

  /// Gives the items that were put since the last time. Those that it gave then are on their way, and their
  /// cost is `sent`; when there are none, `ends` says whether no more come. Thread: the loop's.
  ItemBlocks take(std::uint64_t sent, bool& ends) noexcept;
  /// Some of those that it gave are on their way, of this cost. Thread: the loop's.
  void sent(std::uint64_t cost) noexcept;
  /// No item is taken any more. Thread: the loop's.
  void end(const Status& why) noexcept;

  /// The stream is open: a thread that waited for that goes on. Called under the lock, like what follows.
  void open() noexcept { writer_.wake_now(); }
  /// Returns what was put and is dropped: attachments among it are given back by functions of the user's, and
  /// none of these runs under the lock.
  [[nodiscard]] ItemBlocks close() noexcept;

 private:
  bool is_over() const noexcept { return ended_ || over_; }
  bool has_room() const noexcept { return state_.is_open() && waiting_ < kRoom; }
  Put count(ExchangeState::Lock& lock, std::size_t bytes, std::size_t attachment_bytes = 0) noexcept;

  ExchangeState& state_;
  SleepingThread writer_;
  ItemBlocks items_;
  /// Cost of what was put and is not on its way.
  std::uint64_t waiting_ = 0;
  /// The loop has some of it in hand, and will look for more.
  bool in_hand_ = false;
  bool ended_ = false;
  bool over_ = false;
  /// Something that was put did not leave.
  bool lost_ = false;
};

}  // namespace weft::detail
