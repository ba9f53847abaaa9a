// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/stream/item_queue.hpp"
#include "weft/detail/calls/stream/stream_windows.hpp"
#include "weft/detail/calls/terms/kept_body.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

class ArrivingItem;

struct DropArrivingItem {
  void operator()(ArrivingItem* item) const noexcept;
};
using OwnedArrivingItem = std::unique_ptr<ArrivingItem, DropArrivingItem>;

/// The items of one stream that the peer sent and that wait to be read, and the window for more. Several
/// functions return a grant, a sum for wire::CreditHead; 0: no grant is due. Thread: its loop's.
class IncomingItems {
 public:
  /// Outcome of the arrival of an item.
  enum class Arrival : std::uint8_t {
    kKept,
    kDropped,   ///< reading has stopped
    kNoCredit,  ///< the item exceeds the peer's credit
    kNoMemory,
    kAfterLast,  ///< the peer has ended its items before
  };

  /// Allows the peer to send `window` bytes before the next grant.
  void open(std::uint32_t window) noexcept { window_ = ReceiveWindow{window}; }

  /// Returns true if an item may be shown. The shown item must be taken first.
  bool has_item() const noexcept { return !items_.empty() && !dropped_; }
  /// No item follows the ones that are here.
  bool have_ended() const noexcept { return ended_; }
  /// Cost of the items that are here.
  std::uint64_t held() const noexcept { return held_; }
  std::uint32_t window() const noexcept { return window_.window(); }
  /// The peer has credit for one more item.
  bool has_credit() const noexcept { return window_.is_open(); }
  /// Items that are here must not be read.
  bool are_dropped() const noexcept { return dropped_; }
  /// An item that arrives now would be kept.
  bool are_wanted() const noexcept { return !ended_ && !discards_; }
  /// The last announced item, while its attachment is arriving; null: none.
  ArrivingItem* arriving() const noexcept {
    return attached_ != nullptr ? attached_->arriving.get() : nullptr;
  }
  /// Returns the next item; valid until take(), even if the stream ends meanwhile.
  Bytes show() noexcept {
    shown_ = true;
    return items_.front();
  }
  /// Attachment of the shown item, which may be moved from; null when it has none.
  Buffer* attachment() noexcept {
    if (attached_ == nullptr) [[likely]] {
      return nullptr;
    }
    return shown_ && attached_->is_next() ? &attached_->whole.front().attachment : nullptr;
  }
  /// Removes the shown item, if there is one. Returns the grant.
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
  /// Passes the shown item to another thread; it counts as held until release().
  void hand_over() noexcept {
    shown_ = false;
    if (attached_ != nullptr) [[unlikely]] {
      attached_->pop();
    }
    items_.pop();
  }
  /// Releases items of this cost that were handed over. Returns the grant.
  std::uint64_t release(std::uint64_t cost) noexcept;
  /// Stops reading: drops all items that are here, including the shown one and those handed over, and later
  /// ones. Returns the grant.
  std::uint64_t discard() noexcept;

  /// Receives an item of `bytes` without attachment, in `chunk` if that is not null. There was no memory for
  /// `body` if it is shorter. Keeps the item in blocks from `chunks`, charged to `budget`. Sets `granted` to
  /// the grant if that grows.
  Arrival arrive(Bytes body, std::uint32_t bytes, const ChunkRef& chunk, LocalBudget& budget,
                 ChunkPool& chunks, std::uint64_t& granted) noexcept {
    const std::uint64_t cost = wire::item_cost(bytes);
    const Arrival admitted = admit(cost, granted);
    if (admitted != Arrival::kKept) [[unlikely]] {
      return admitted;
    }
    const bool kept = body.size() == bytes && items_.push(body, chunk, budget, chunks);
    if (!kept) [[unlikely]] {
      return Arrival::kNoMemory;
    }
    if (attached_ != nullptr) [[unlikely]] {
      ++attached_->pushed;
    }
    held_ += cost;
    return Arrival::kKept;
  }
  /// The same for an item with the given cost that is stored elsewhere: by await() until its attachment has
  /// arrived.
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
  /// Waits for the attachment of `item`, which was admitted. Returns false when memory is exhausted.
  bool await(OwnedArrivingItem item) noexcept;
  /// The awaited attachment has arrived: its item may be read. Returns false when memory is exhausted.
  bool keep_arrived(LocalBudget& budget, ChunkPool& chunks) noexcept;
  /// No more items arrive, not even the one that waits for its attachment.
  void end() noexcept {
    ended_ = true;
    if (attached_ != nullptr) attached_->arriving.reset();
  }
  /// The same, and drops the items that are here; their memory stays valid while one is shown.
  void drop() noexcept;

 private:
  /// Attachments of items, from the first item with an attachment on.
  struct Attachments {
    /// Attachment of an item that waits to be read: the `item`-th pushed one, modulo 2^32.
    struct Whole {
      std::uint32_t item;
      std::size_t bytes;
      Buffer attachment;
      /// Charge for the stored item and for memory beside the attachment, which may be a single byte.
      KeptBody charge;
    };

    /// The next item has an attachment.
    bool is_next() const noexcept { return !whole.empty() && whole.front().item == popped; }
    /// Removes the next item and its attachment, if any. Returns the attachment's part of the cost.
    std::uint64_t pop() noexcept;

    OwnedArrivingItem arriving{};
    /// Complete attachments, in the order of their items.
    std::deque<Whole> whole{};
    /// Number of items pushed, counted from the first one present when this was made, and number of these
    /// that were popped.
    std::uint32_t pushed = 0;
    std::uint32_t popped = 0;
  };

  void forget() noexcept;

  ReceiveWindow window_{1};
  ItemQueue items_;
  /// Null until the first item with an attachment.
  std::unique_ptr<Attachments> attached_;
  std::uint64_t held_ = 0;
  bool ended_ = false;
  bool discards_ = false;
  bool shown_ = false;
  bool dropped_ = false;
};

}  // namespace weft::detail
