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
#include "calls/stream/item_sink.hpp"
#include "calls/terms/refusals.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
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
  /// Items that it sends on streams of this side count too: see ItemSink::counts().
  bool counts_opened = false;
};

/// The streams of one session, in both directions: writes their items and credits as frames, knows the limits
/// from both hellos, and places the attachments of items. The functions of ItemSink are inline, because a
/// StreamSide of a session calls them directly. Thread: the connection's loop.
class SessionStreams final : public ItemSink {
 public:
  /// `link` outlives it.
  explicit SessionStreams(SessionLink& link)
      : ItemSink(link.loop(), link.limits(), link.memory()), link_(link) {}
  ~SessionStreams() { release_begun(); }

  /// Sets the peer's limits for streams; the peer supports streams.
  void allow(const PeerStreams& peer) {
    peer_ = peer;
    if (peer.counts_opened) count_opened();
  }
  bool are_allowed() const { return peer_.knows_streams; }
  const PeerStreams& peer() const { return peer_; }

  std::uint64_t first_credit() const noexcept override { return peer_.window; }
  std::uint32_t item_bytes_max() const noexcept override { return peer_.item_bytes_max; }
  /// Returns the size of the largest attachment of an item that the peer takes; 0: its build knows none.
  std::uint64_t attachment_bytes_max() const noexcept {
    return peer_.knows_attachments ? link_.peer().attachment_bytes_max : 0;
  }
  bool has_room_for_items() noexcept override { return output().has_room_for_items(); }
  bool reserve_item(std::size_t bytes) noexcept override {
    static_assert(kSmallItem == FrameOutput::kSmallBytes);
    return output().reserve(bytes + wire::kHeaderBytes);
  }
  [[gnu::always_inline]] std::byte* begin_item(const StreamPlace& place,
                                               std::uint32_t bytes) noexcept override {
    const wire::ItemHead head{.body_bytes = bytes, .id = place.id, .of_answer = place.answers};
    return output().begin(head.header());
  }
  Status end_item(const StreamPlace&) noexcept override {
    output().end();
    return {};
  }
  void take_back_item(const std::byte* body) noexcept override { output().take_back(body); }
  void end_items(const StreamPlace& place) noexcept override;
  void send_credit(const StreamPlace& place, std::uint64_t granted) noexcept override;
  std::optional<Refusal> refusal() const override;
  SessionStreams* session() noexcept override { return this; }

  /// Does as begin_item() for an item with an attachment, which follows in pieces. Out of line, so that items
  /// without attachment need not pay for a second way.
  std::byte* begin_attached_item(const StreamPlace& place, std::uint32_t bytes,
                                 std::uint64_t attachment_bytes) noexcept;

  /// Returns those of `frames` from the first on, which is an item, that are items of the same stream.
  static std::span<const Frame> items_at_front_of(std::span<const Frame> frames);
  /// Takes items from the peer for `stream`; a failure is a protocol violation. A null `stream` has ended on
  /// this side: items for it may be in flight, and are dropped.
  Status on_items(StreamSide* stream, std::span<const Frame> items, const ChunkRef& chunk);
  /// An item of `stream` that is larger than a chunk is arriving, with `arrived` bytes so far. Returns false
  /// when the item would be dropped, or when there is no memory for it.
  bool wants_item(StreamSide* stream, std::size_t arrived);
  /// Takes a credit from the peer for `stream`, which may be null. A failure is a protocol violation.
  static Status on_credit(StreamSide* stream, wire::CreditView credit);
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

 private:
  void release_begun();

  SessionLink& link_;
  PeerStreams peer_;
  /// Bytes charged for an item that has arrived only partly.
  std::size_t begun_ = 0;
  /// Null until there was one; destroyed first, because its records release their charges.
  std::unique_ptr<ArrivingItems> arriving_;
};

/// The failure that ends a connection whose peer sent an item or a credit that its stream does not allow.
Status misplaced_item(std::string_view why);

}  // namespace weft::detail
