// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "calls/sending/session_link.hpp"
#include "calls/stream/arriving_items.hpp"
#include "calls/terms/refusals.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/memory/local_budget.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

/// Limits from the peer's hello for items sent to it on streams.
struct PeerStreams {
  /// Number of bytes that the peer accepts on each stream before it grants more.
  std::uint32_t window = 0;
  std::uint32_t item_bytes_max = 0;
  bool knows_streams = false;
  /// Its build knows attachments of items.
  bool knows_attachments = false;
  /// Items that it sends on streams of this side count too: see SessionStreams::counts().
  bool counts_opened = false;
};

/// State shared by the streams of one connection, in both directions: the limits from both hellos, the number
/// of streams that the peer has opened, and the sides that wait for room to send. Thread: the connection's
/// loop.
class SessionStreams : private Ready {
 public:
  /// `link` outlives it.
  explicit SessionStreams(SessionLink& link) : Ready(&wake_rest), link_(link) {}
  SessionStreams(const SessionStreams&) = delete;
  SessionStreams& operator=(const SessionStreams&) = delete;
  ~SessionStreams() { release_begun(); }

  /// Sets the peer's limits for streams; the peer supports streams.
  void allow(const PeerStreams& peer) { peer_ = peer; }
  bool are_allowed() const { return peer_.knows_streams; }
  const PeerStreams& peer() const { return peer_; }
  std::uint32_t window() const;

  /// One that the peer opened has begun.
  void enter() { ++served_; }
  /// One has ended; `held` of its items are counted.
  void leave(bool peer_opened, std::uint64_t held) {
    if (peer_opened) --served_;
    held_ -= held;
  }
  /// Returns true if items of such streams count: streams that the peer opened, and on a server also its own.
  /// A client has one server and gives it all its memory.
  bool counts(bool peer_opened) const { return peer_opened || peer_.counts_opened; }
  /// Returns true if an item of this cost may be kept on a stream with counted items: all of them together
  /// are limited to a connection's share of the memory.
  bool may_hold(std::uint64_t cost) const { return held_ + cost <= kHeldAlways || has_share_for(cost); }
  /// A stream whose items count holds some of the cost `now`, and held `before`.
  void count_held(std::uint64_t before, std::uint64_t now) { held_ += now - before; }

  /// Says why the peer may not open one more.
  std::optional<Refusal> refusal() const;

  /// Returns those of `frames` from the first on, which is an item, that are items of the same stream.
  static std::span<const Frame> items_at_front_of(std::span<const Frame> frames);
  /// Takes items from the peer for `stream`; a failure is a protocol violation. A null `stream` has ended on
  /// this side: items for it may be in flight, and are dropped.
  Status on_items(StreamSide* stream, std::span<const Frame> items, const ChunkRef& chunk);
  /// An item of `stream` that is larger than a chunk is arriving, with `arrived` bytes so far. Returns false
  /// when the item would be dropped, or when there is no memory for it.
  bool wants_item(StreamSide* stream, std::size_t arrived);
  /// Returns the place of a piece of an item's attachment; a null `stream` has ended on this side. A failure
  /// is the peer's breach of the protocol.
  Result<Landing> on_piece(StreamSide* stream, wire::PieceView piece);
  /// The next bytes belong to no piece of an item that arrives.
  void on_no_piece() noexcept {
    if (arriving_ != nullptr) arriving_->on_nothing();
  }
  /// Items whose attachments are coming; null when there was none so far.
  ArrivingItems* arriving() { return arriving_.get(); }
  /// The same, and makes place for the first. Null when there is no memory.
  ArrivingItems* make_arriving() noexcept;

  SessionLink& link() const { return link_; }
  FrameOutput& output() const { return link_.output(); }
  LocalBudget& memory() const { return link_.memory(); }

  /// Makes `side` wait until there is room for its items.
  void wait_for_room(StreamSide& side) {
    if (!side.linked()) waiting_.push_back(side);
  }
  /// There may be room: wakes some of the waiting writers, in order, and then others if there is still room.
  void wake_writers();

 private:
  /// Number of bytes of items that a connection may hold without a check of its share.
  static constexpr std::uint64_t kHeldAlways = 1u << 20;

  /// Wakes the remaining waiters, after the ones before them have written.
  static void wake_rest(Ready* node) noexcept;

  bool has_share_for(std::uint64_t cost) const;
  void release_begun();

  SessionLink& link_;
  IntrusiveList<StreamSide, StreamRoomTag> waiting_;
  std::uint64_t held_ = 0;
  PeerStreams peer_;
  std::uint32_t served_ = 0;
  /// Bytes charged for an item that has arrived only partly.
  std::size_t begun_ = 0;
  /// Null until there was one; destroyed first, because its records release their charges.
  std::unique_ptr<ArrivingItems> arriving_;
};

inline constexpr FixedFailure kNoMemoryForItem{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "out of memory for the items of a stream that were not read yet (process_memory_max)"};

/// The failure that ends a connection whose peer sent an item or a credit that its stream does not allow.
Status misplaced_item(std::string_view why);

}  // namespace weft::detail
