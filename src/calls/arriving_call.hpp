// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/id_table_node.hpp"
#include "weft/detail/calls/kept_body.hpp"
#include "weft/detail/memory/arriving_buffer.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

class ArrivingCalls;
struct ArrivingCallTag;

/// A request whose attachment comes in pieces, until that is whole: its frame, which it keeps, and the memory
/// that the attachment goes to, charged as far as it has come. Belongs to ArrivingCalls. Thread: the
/// connection's loop.
class ArrivingCall final : public IdTableNode<ArrivingCall>, public ListHook<ArrivingCallTag>, private Timer {
 public:
  /// `owner` hears when its time is over. The frame's body is kept in `kept`, or, when `chunk` is not null,
  /// there; `charge` bytes were taken for it.
  ArrivingCall(ArrivingCalls& owner, const Frame& frame, ChunkRef chunk, KeptBody kept, std::size_t charge,
               ArrivingBuffer attachment, Deadline deadline);
  /// Bytes that it counts in its connection, its attachment apart.
  std::size_t charge() const noexcept { return charge_; }
  ArrivingCall(const ArrivingCall&) = delete;
  ArrivingCall& operator=(const ArrivingCall&) = delete;

  std::uint64_t id() const noexcept { return frame_.header.id; }
  const Frame& frame() const noexcept { return frame_; }
  wire::RequestView request() const noexcept { return wire::RequestView{frame_.header}; }
  /// Null when the body is not kept in its chunk.
  const ChunkRef& chunk() const noexcept { return chunk_; }
  ArrivingBuffer& attachment() noexcept { return attachment_; }
  Deadline deadline() const noexcept { return deadline_; }
  Timer& timer() noexcept { return *this; }

  /// Bytes of the attachment that are whole pieces.
  std::size_t received() const noexcept { return received_; }
  /// It is the piece that comes next.
  bool expects(wire::PieceView piece) const noexcept { return piece.fits(received_, attachment_.size()); }
  MutableBytes place(wire::PieceView piece) noexcept {
    return attachment_.mutable_bytes().subspan(received_, static_cast<std::size_t>(piece.bytes()));
  }
  void landed(wire::PieceView piece) noexcept { received_ += static_cast<std::size_t>(piece.bytes()); }
  /// Since this was asked last, it has got on: by 64 KiB, or a 1024th part if that is more. Or its connection
  /// has, which received so many bytes so far, by 64 KiB: a piece is under way, or it is another's turn. That
  /// is good for a while only, so that nobody keeps memory for ever by sending a little for something else.
  bool has_got_on(std::uint64_t received_by_connection) noexcept;

 private:
  void on_timer() override;

  ArrivingCalls& owner_;
  Frame frame_;
  ChunkRef chunk_;
  KeptBody kept_;
  ArrivingBuffer attachment_;
  const std::size_t charge_;
  const Deadline deadline_;
  std::size_t received_ = 0;
  std::size_t looked_at_ = 0;
  std::uint64_t looked_at_connection_ = 0;
  /// How often only its connection got on.
  std::uint32_t waits_ = 0;
};

}  // namespace weft::detail
