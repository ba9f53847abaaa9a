// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "calls/stream/arriving_item.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/stream/incoming_items.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

class SessionLink;
class SessionStreams;
class StreamSide;

/// The items of one connection with attachments that are arriving, at most one per stream. Arrived bytes are
/// charged; all attachments together may announce at most connection_memory_max, which takes address space
/// and no memory. An attachment without progress for RpcLimits::frame_timeout fails its stream.
///
///   begin() --pieces--> arriving --the last one--> its item may be read
///                          |  dropped
///                          '--> its memory is freed when no piece lands there any more
///
/// Thread: the connection's loop.
class ArrivingItems {
 public:
  /// `streams`, of the same connection, outlives it.
  explicit ArrivingItems(SessionStreams& streams) noexcept : streams_(streams) {}
  ArrivingItems(const ArrivingItems&) = delete;
  ArrivingItems& operator=(const ArrivingItems&) = delete;
  ~ArrivingItems();

  /// Takes `item`, which announces an attachment and belongs to `side`. Null when there is no memory for it,
  /// or when all attachments would announce more than connection_memory_max.
  OwnedArrivingItem begin(StreamSide& side, const Frame& item) noexcept;
  SessionLink& link() const noexcept;

  /// Gives the place of a piece of `item`, which is here. A failure is the peer's breach of the protocol.
  Result<Landing> on_piece(wire::PieceView piece, ArrivingItem& item);
  /// No piece lands: the following bytes belong to another attachment, or are skipped.
  void on_nothing() noexcept;
  /// `left` bytes of the current piece, if there is one, have not arrived yet.
  void on_progress(std::uint64_t left) noexcept;
  /// The piece has arrived, unless it was skipped or abandoned.
  void on_piece_end() noexcept;

  /// Its stream does not want `item` any more.
  void drop(ArrivingItem* item) noexcept;
  /// `item` is gone.
  void leave(const ArrivingItem& item) noexcept;
  /// `item` gives its attachment away, which is not arriving any more.
  void count_taken(const ArrivingItem& item) noexcept { count_held(item, item.charged(), 0); }

 private:
  /// The connection holds `now` bytes of `item`, and held `before`.
  void count_held(const ArrivingItem& item, std::size_t before, std::size_t now) noexcept;
  /// Charges the first `arrived` bytes. False when there is no room for them: its stream has failed then.
  bool charge(ArrivingItem& item, std::size_t arrived) noexcept;

  SessionStreams& streams_;
  IntrusiveList<ArrivingItem, ArrivingItemTag> arriving_;
  /// The item that a piece lands in, or null; and the same item when its stream has dropped it.
  ArrivingItem* landing_ = nullptr;
  std::unique_ptr<ArrivingItem> unwanted_;
  std::size_t landing_bytes_ = 0;
  std::uint64_t announced_ = 0;
};

}  // namespace weft::detail
