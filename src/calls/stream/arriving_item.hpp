// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "calls/terms/getting_on.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/terms/kept_body.hpp"
#include "weft/detail/memory/arriving_buffer.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

class ArrivingItems;
class StreamSide;
struct ArrivingItemTag;

/// Item of a stream with an attachment that is arriving: the body of the item, and the progress of the
/// attachment. Belongs to the IncomingItems of its stream, or to ArrivingItems while a piece lands that is no
/// longer wanted. Thread: the stream's loop.
class ArrivingItem final : public ListHook<ArrivingItemTag>, private Timer {
 public:
  /// `items` and `side` must outlive it, or detach from it. `memory` has the length of the attachment.
  ArrivingItem(ArrivingItems& items, StreamSide& side, wire::ItemView item, KeptBody body,
               ArrivingBuffer memory) noexcept;
  ~ArrivingItem();

  /// Null when the connection is gone.
  ArrivingItems* items() const noexcept { return items_; }
  /// Null when its stream does not want it any more.
  StreamSide* side() const noexcept { return side_; }
  void forget_side() noexcept;
  /// The connection is gone.
  void forget_items() noexcept;
  Bytes body() const noexcept { return body_.bytes(); }
  /// Gives the body away, with what this record is charged.
  KeptBody take_body() noexcept { return std::move(body_); }
  std::size_t bytes() const noexcept { return bytes_; }
  /// The arrived bytes count as held by its connection.
  bool is_counted() const noexcept { return is_counted_; }
  /// Cost of the item in its stream's window.
  std::uint64_t cost() const noexcept { return cost_; }

  bool expects(wire::PieceView piece) const noexcept { return piece.fits(received_, bytes_); }
  /// The place of the next `bytes`.
  Landing place(std::size_t bytes) noexcept {
    return Landing::into(memory_.mutable_bytes().subspan(received_, bytes));
  }
  /// The first `arrived` bytes are here. False when there is no memory for them.
  bool charge(std::size_t arrived) noexcept { return memory_.charge(arrived); }
  std::size_t charged() const noexcept { return memory_.charged(); }
  std::size_t received() const noexcept { return received_; }
  void landed(std::size_t bytes) noexcept { received_ += bytes; }
  bool is_whole() const noexcept { return received_ == bytes_; }
  /// Gives the attachment, which is whole and charged. Errors: kResourceExhausted.
  Result<Buffer> take();

 private:
  void on_timer() override;
  void arm() noexcept;

  ArrivingItems* items_;
  StreamSide* side_;
  KeptBody body_;
  ArrivingBuffer memory_;
  const std::size_t bytes_;
  const std::uint64_t cost_;
  const bool is_counted_;
  std::size_t received_ = 0;
  GettingOn getting_on_;
};

}  // namespace weft::detail
