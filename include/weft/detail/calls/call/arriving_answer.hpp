// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

/// An answer with an attachment that arrives in pieces: its frame, which it keeps, and the progress of the
/// attachment. Thread: the loop of the call.
class ArrivingAnswer {
 public:
  /// `frame` came, in `chunk`, and its attachment goes to `landing`, which is a place. Throws std::bad_alloc.
  void begin(const Frame& frame, const ChunkRef& chunk, const Landing& landing);
  /// It has begun, and is not whole.
  bool is_under_way() const noexcept { return landing_.bytes != 0; }
  /// It is the piece that comes next.
  bool expects(wire::PieceView piece) const noexcept {
    return is_under_way() && piece.fits(received_, landing_.bytes);
  }
  /// The place of `piece`, which was expected.
  Landing place(wire::PieceView piece) const noexcept {
    return Landing::into(landing_.place, static_cast<std::size_t>(piece.bytes()));
  }
  void landed(wire::PieceView piece) noexcept {
    landing_.place.advance(static_cast<std::size_t>(piece.bytes()));
    received_ += static_cast<std::size_t>(piece.bytes());
  }
  /// The answer, until end().
  const Frame& frame() const noexcept { return frame_; }
  /// Moves everything out, and is as after end().
  ArrivingAnswer take() noexcept { return std::exchange(*this, {}); }
  /// Keeps nothing any more.
  void end() noexcept;

 private:
  Frame frame_{};
  ChunkRef chunk_;
  std::vector<std::byte> copied_;
  /// The place of the piece that comes next, and how much there is in all.
  Landing landing_;
  std::size_t received_ = 0;
};

}  // namespace weft::detail
