// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "calls/sending/frame_output.hpp"
#include "calls/sending/piece_window.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/transport/outbox_source.hpp"

namespace weft::detail {

/// Marks behind the pieces that one connection sends: pings, whose pongs tell how much the peer has received.
/// Holds pieces back while a window of them is in flight and other frames would wait behind more. Sending
/// goes on after a pong, or when no other frames are sent any more, or when the peer has left a mark
/// unanswered for too long; a timer checks these two. Thread: the connection's loop.
class PieceMarks final : private Timer {
 public:
  /// All outlive it. `source` is what gives `connection` the pieces.
  PieceMarks(Loop& loop, Connection& connection, FrameOutput& output, OutboxSource& source) noexcept
      : loop_(loop),
        connection_(connection),
        output_(output),
        source_(source),
        window_(loop.turn_time().now()) {}

  /// Returns true if the next piece has to wait while other frames are sent; the source is pulled again then.
  bool hold_back() noexcept;
  /// A piece of this many bytes was queued.
  void sent(std::size_t bytes, bool has_company) noexcept;
  /// The peer has received everything sent before the ping with this id. Returns false if that was no mark.
  bool on_pong(std::uint64_t id) noexcept;

 private:
  void on_timer() override { pull(); }
  void pull() noexcept;
  void mark_if_due() noexcept;

  Loop& loop_;
  Connection& connection_;
  FrameOutput& output_;
  OutboxSource& source_;
  PieceWindow window_;
};

}  // namespace weft::detail
