// SPDX-License-Identifier: Apache-2.0
#include "calls/piece_window.hpp"

#include <algorithm>

namespace weft::detail {

std::uint64_t PieceWindow::mark(TimePoint now) noexcept {
  marked_ = sent_;
  marks_[marks_made_ % kMarks] = {sent_, now};
  return kIds | marks_made_++;
}

// A pong also tells of the marks before its own, which a peer that is busy leaves out.
bool PieceWindow::on_pong(std::uint64_t id, TimePoint now) noexcept {
  const std::uint64_t number = id & ~kIds;
  if ((id & kIds) == 0 || number < marks_known_ || number >= marks_made_) return false;
  const Mark& mark = marks_[number % kMarks];
  marks_known_ = number + 1;
  received_ = mark.sent;
  adapt(now - mark.at, now);
  return true;
}

void PieceWindow::adapt(Duration took, TimePoint now) noexcept {
  if (now - measured_since_ > kForget) {
    measured_since_ = now;
    quickest_ = Duration::max();
    window_ = kBytesMin;
    return;  // this one had more before it
  }
  quickest_ = std::min(quickest_, took);
  const Duration waited = took - quickest_;
  if (waited > 2 * kQueued) {
    window_ = std::max(window_ - window_ / 8, kBytesMin);
  } else if (was_full_ && waited < kQueued) {
    window_ = std::min(window_ + window_ / 4, kBytesMax);
  }
  was_full_ = false;
}

}  // namespace weft::detail
