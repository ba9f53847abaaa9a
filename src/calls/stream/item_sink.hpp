// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "calls/terms/refusals.hpp"
#include "weft/detail/base/counter.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/stream/stream_place.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

class SessionStreams;

/// The streams of one connection: sends their items and credits by the connection's protocol, and holds the
/// state that they share: the number of streams that the peer has opened, the memory of unread items, and the
/// sides that wait for room. Each protocol with streams derives from it, and passes the peer's items and
/// credits to StreamSide::on_item(), on_last_item() and on_credit(). All streams are closed before it is
/// destroyed. Thread: the connection's loop.
class ItemSink : private Ready {
 public:
  ItemSink(const ItemSink&) = delete;
  ItemSink& operator=(const ItemSink&) = delete;

  /// Returns the sum of item_cost() that may be sent on each stream before the peer's first credit.
  /// UINT64_MAX for a protocol without credits, where only room holds writers back.
  virtual std::uint64_t first_credit() const noexcept = 0;
  /// Returns the size of the largest item that the peer takes.
  virtual std::uint32_t item_bytes_max() const noexcept = 0;
  /// Returns true if an item may be sent. After false, the protocol calls wake_writers() when there is room.
  virtual bool has_room_for_items() noexcept = 0;
  /// Reserves memory for an item of `bytes`, more than kSmallItem, before begin_item(). Returns false when
  /// there is none.
  virtual bool reserve_item(std::size_t bytes) noexcept = 0;
  /// Returns room for the body of an item, to be written at once and followed by end_item() or
  /// take_back_item(). Null when the connection is being closed.
  virtual std::byte* begin_item(const StreamPlace& place, std::uint32_t bytes) noexcept = 0;
  /// Sends the item. After a failure, which becomes the stream's, it was not sent.
  virtual Status end_item(const StreamPlace& place) noexcept = 0;
  /// Nothing is sent of the item with this body, the last one that was begun.
  virtual void take_back_item(const std::byte* body) noexcept = 0;
  /// This side sends no more items on the stream. Its call may go on.
  virtual void end_items(const StreamPlace& place) noexcept = 0;
  /// The reader has taken items: the peer may send until the sum of item_cost() is `granted`.
  virtual void send_credit(const StreamPlace& place, std::uint64_t granted) noexcept = 0;
  /// Returns the reason why the peer may not open one more stream.
  virtual std::optional<Refusal> refusal() const;
  /// Returns this object if it is of Weft's own protocol, whose items are sent without virtual calls.
  virtual SessionStreams* session() noexcept { return nullptr; }

  /// An item of more bytes needs reserve_item().
  static constexpr std::size_t kSmallItem = 16 * 1024;

  /// Returns the number of bytes that the peer may send on a stream before this side's first credit.
  std::uint32_t window() const noexcept { return limits_.stream_window; }
  LocalBudget& memory() const noexcept { return memory_; }

  /// Items of all streams of the connection. Thread: any.
  std::uint64_t items_received() const noexcept { return items_received_.get(); }
  std::uint64_t items_sent() const noexcept { return items_sent_.get(); }
  void count_received(std::size_t items) noexcept { items_received_.add(static_cast<std::int64_t>(items)); }
  void count_sent(std::size_t items) noexcept { items_sent_.add(static_cast<std::int64_t>(items)); }

  /// A stream that the peer opened has begun.
  void enter() noexcept { ++served_; }
  /// A stream has ended; `held` of its items are counted.
  void leave(bool peer_opened, std::uint64_t held) noexcept {
    if (peer_opened) --served_;
    held_ -= held;
  }
  /// Returns true if items of such streams count: streams that the peer opened, and on a server also its own.
  /// A client has one server and gives it all its memory.
  bool counts(bool peer_opened) const noexcept { return peer_opened || counts_opened_; }
  /// Returns true if an item of this cost may be kept on a stream with counted items: all of them together
  /// are limited to a connection's share of the memory.
  bool may_hold(std::uint64_t cost) const noexcept {
    return held_ + cost <= kHeldAlways || has_share_for(cost);
  }
  /// A stream whose items count holds some of the cost `now`, and held `before`.
  void count_held(std::uint64_t before, std::uint64_t now) noexcept { held_ += now - before; }

  /// Makes `side` wait until there is room for its items.
  void wait_for_room(StreamSide& side) noexcept {
    if (!side.linked()) waiting_.push_back(side);
  }
  /// There may be room: wakes some of the waiting writers, in order, and then others if there is still room.
  void wake_writers() noexcept;

 protected:
  /// All outlive it.
  ItemSink(Loop& loop, const RpcLimits& limits, LocalBudget& memory) noexcept
      : Ready(&wake_rest), loop_(loop), limits_(limits), memory_(memory) {}
  ~ItemSink() = default;

  void count_opened() noexcept { counts_opened_ = true; }

 private:
  /// Number of bytes of items that a connection may hold without a check of its share.
  static constexpr std::uint64_t kHeldAlways = 1u << 20;

  /// Wakes the remaining waiters, after the ones before them have written.
  static void wake_rest(Ready* node) noexcept;

  bool has_share_for(std::uint64_t cost) const noexcept;

  Loop& loop_;
  const RpcLimits& limits_;
  LocalBudget& memory_;
  IntrusiveList<StreamSide, StreamRoomTag> waiting_;
  std::uint64_t held_ = 0;
  std::uint32_t served_ = 0;
  Counter items_received_;
  Counter items_sent_;
  /// Items of streams that this side opened count too.
  bool counts_opened_ = false;
};

inline constexpr FixedFailure kNoMemoryForItem{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "out of memory for the items of a stream that were not read yet (process_memory_max)"};

}  // namespace weft::detail
