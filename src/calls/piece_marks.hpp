// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "calls/frame_output.hpp"
#include "calls/piece_window.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/transport/outbox_source.hpp"

namespace weft::detail {

/// Marks behind the pieces that one connection sends: pings whose pongs tell how far the peer has received.
/// Holds pieces back while a window of them is on its way and others would wait behind more. What ends that
/// is a pong, or that nobody is there any more, which a timer looks at. Thread: the connection's loop.
class PieceMarks final : private Timer {
 public:
  /// All outlive it. `source` is what gives `connection` the pieces.
  PieceMarks(Loop& loop, Connection& connection, FrameOutput& output, OutboxSource& source) noexcept
      : loop_(loop),
        connection_(connection),
        output_(output),
        source_(source),
        window_(loop.turn_time().now()) {}

  /// Says whether the next piece has to wait, while others are there; then the source is pulled again.
  bool hold_back() noexcept;
  /// A piece of so many bytes was queued.
  void sent(std::size_t bytes, bool has_company) noexcept;
  /// The peer has received what was sent before the ping with this id. False if that was no mark.
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
