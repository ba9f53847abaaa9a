// SPDX-License-Identifier: Apache-2.0
#include "calls/sending/piece_marks.hpp"

namespace weft::detail {

bool PieceMarks::hold_back() noexcept {
  const TimePoint now = loop_.turn_time().now();
  if (window_.has_room(now)) return false;
  window_.note_full();
  mark_if_due();
  // By then the other frames may have ended, or the peer have left a mark unanswered for too long.
  if (!armed()) loop_.arm(*this, loop_.turn_time().company().until());
  return true;
}

void PieceMarks::sent(std::size_t bytes, bool has_company) noexcept {
  window_.sent(bytes);
  if (has_company) mark_if_due();
}

void PieceMarks::mark_if_due() noexcept {
  if (!window_.wants_mark()) return;
  output_.send({.type = wire::FrameType::kPing, .id = window_.mark(loop_.turn_time().now())});
  connection_.pull_from(&source_, 1);
}

// The time that a pong waited here, behind other input from the peer, is not part of the path of the pieces.
bool PieceMarks::on_pong(std::uint64_t id) noexcept {
  if (!window_.on_pong(id, loop_.read_clock(), connection_.behind_since())) return false;
  pull();
  return true;
}

void PieceMarks::pull() noexcept {
  if (source_.has_more()) connection_.pull_from(&source_);
}

}  // namespace weft::detail
