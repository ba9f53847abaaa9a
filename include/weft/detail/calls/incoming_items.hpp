// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/item_queue.hpp"
#include "weft/detail/calls/kept_body.hpp"
#include "weft/detail/calls/stream_windows.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

class ArrivingItem;

struct DropArrivingItem {
  void operator()(ArrivingItem* item) const noexcept;
};
using OwnedArrivingItem = std::unique_ptr<ArrivingItem, DropArrivingItem>;

/// Items that the peer sends on one stream: those that wait to be read, and what it may send. Tells what is
/// to be granted, as a sum for wire::CreditHead; 0: nothing. Thread: its loop's.
class IncomingItems {
 public:
  /// Outcome of an item that came.
  enum class Arrival : std::uint8_t {
    kKept,
    kDropped,   ///< nobody reads it
    kNoCredit,  ///< the peer had no right to send it
    kNoMemory,
  };

  /// The peer may send `window` bytes before it is granted more.
  void open(std::uint32_t window) noexcept { window_ = ReceiveWindow{window}; }

  /// An item may be shown. Not before the one that is shown was taken.
  bool has_item() const noexcept { return !items_.empty() && !dropped_; }
  /// No item comes behind those that are there.
  bool have_ended() const noexcept { return ended_; }
  /// Cost of the items that are here.
  std::uint64_t held() const noexcept { return held_; }
  std::uint32_t window() const noexcept { return window_.window(); }
  /// Items that are here are not read.
  bool are_dropped() const noexcept { return dropped_; }
  /// An item that came now would be kept.
  bool are_wanted() const noexcept { return !ended_ && !discards_; }
  /// The item that was announced last and whose attachment is coming; null: none.
  ArrivingItem* arriving() const noexcept {
    return attached_ != nullptr ? attached_->arriving.get() : nullptr;
  }
  /// Returns the item that comes next; valid until take(), whatever ends meanwhile.
  Bytes show() noexcept {
    shown_ = true;
    return items_.front();
  }
  /// Attachment of the item that is shown, which may be moved from; null when it has none.
  Buffer* attachment() noexcept {
    if (attached_ == nullptr) [[likely]] {
      return nullptr;
    }
    return shown_ && attached_->is_next() ? &attached_->whole.front().attachment : nullptr;
  }
  /// The item that is shown, if one is, is not needed any more. Returns what is to be granted.
  std::uint64_t take() noexcept {
    if (!std::exchange(shown_, false)) return 0;
    if (dropped_) [[unlikely]] {
      forget();
      return 0;
    }
    std::uint64_t cost = wire::item_cost(static_cast<std::uint32_t>(items_.front().size()));
    if (attached_ != nullptr) [[unlikely]] {
      cost += attached_->pop();
    }
    items_.pop();
    held_ -= cost;
    return window_.take(cost);
  }
  /// The item that is shown goes elsewhere; it counts as held until release().
  void hand_over() noexcept {
    shown_ = false;
    if (attached_ != nullptr) [[unlikely]] {
      attached_->pop();
    }
    items_.pop();
  }
  /// Items of this cost, which were handed over, are not needed any more. Returns what is to be granted.
  std::uint64_t release(std::uint64_t cost) noexcept;
  /// Nobody reads any more: items that come are dropped, and those that are here, also the one that is shown
  /// and those that were handed over. Returns what is to be granted.
  std::uint64_t discard() noexcept;

  /// An item without attachment is here: `frame`, in `chunk`. It is kept in memory that `budget` counts, in
  /// blocks of `chunks`; `granted` grows to what is to be granted.
  Arrival arrive(const Frame& frame, const ChunkRef& chunk, LocalBudget& budget, ChunkPool& chunks,
                 std::uint64_t& granted) noexcept {
    const std::uint64_t cost = wire::item_cost(frame.header.body_bytes);
    const Arrival admitted = admit(cost, granted);
    if (admitted != Arrival::kKept) [[unlikely]] {
      return admitted;
    }
    const bool kept =
        frame.body.size() == frame.header.body_bytes && items_.push(frame.body, chunk, budget, chunks);
    if (!kept) [[unlikely]] {
      return Arrival::kNoMemory;
    }
    if (attached_ != nullptr) [[unlikely]] {
      ++attached_->pushed;
    }
    held_ += cost;
    return Arrival::kKept;
  }
  /// The same for an item that costs so much and is kept elsewhere: by await() until its attachment is here.
  Arrival admit(std::uint64_t cost, std::uint64_t& granted) noexcept {
    if (!window_.arrive(cost)) [[unlikely]] {
      return Arrival::kNoCredit;
    }
    if (ended_ || discards_) [[unlikely]] {
      if (!ended_) granted = std::max(granted, window_.take(cost));
      return Arrival::kDropped;
    }
    return Arrival::kKept;
  }
  /// Waits for the attachment of `item`, which was admitted. False when there is no memory for that.
  bool await(OwnedArrivingItem item) noexcept;
  /// The attachment that is awaited is here: its item may be read. False when there is no memory to keep it.
  bool keep_arrived(LocalBudget& budget, ChunkPool& chunks) noexcept;
  /// No more come, not even one whose attachment is awaited.
  void end() noexcept {
    ended_ = true;
    if (attached_ != nullptr) attached_->arriving.reset();
  }
  /// The same, and those that are here are not read; they stay as long as one is shown.
  void drop() noexcept;

 private:
  /// Attachments of items, since there was one.
  struct Attachments {
    /// Attachment of an item that waits to be read: the `item`-th that was pushed, modulo 2^32.
    struct Whole {
      std::uint32_t item;
      std::size_t bytes;
      Buffer attachment;
      /// Charges what is kept beside the attachment, which may be a byte, and the item in its block.
      KeptBody charge;
    };

    /// The item that comes next has one.
    bool is_next() const noexcept { return !whole.empty() && whole.front().item == popped; }
    /// The item that comes next goes, and its attachment, if it has one. Returns that one's part of the cost.
    std::uint64_t pop() noexcept;

    OwnedArrivingItem arriving{};
    /// Attachments that are whole, in the order of their items.
    std::deque<Whole> whole{};
    /// Items that were kept, from those on that were here at first; and of these, those that have gone.
    std::uint32_t pushed = 0;
    std::uint32_t popped = 0;
  };

  void forget() noexcept;

  ReceiveWindow window_{1};
  ItemQueue items_;
  /// Null until there was one.
  std::unique_ptr<Attachments> attached_;
  std::uint64_t held_ = 0;
  bool ended_ = false;
  bool discards_ = false;
  bool shown_ = false;
  bool dropped_ = false;
};

}  // namespace weft::detail
