// SPDX-License-Identifier: Apache-2.0
#include "calls/sending/piece_window.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {

std::uint64_t PieceWindow::mark(TimePoint now) noexcept {
  marked_ = sent_;
  marks_[marks_made_ % kMarks] = {sent_, now};
  return kIds | marks_made_++;
}

// A pong also tells of the marks before its own, which a peer that is busy leaves out.
bool PieceWindow::on_pong(std::uint64_t id, TimePoint now, TimePoint arrived) noexcept {
  const std::uint64_t number = id & ~kIds;
  if ((id & kIds) == 0 || number < marks_known_ || number >= marks_made_) return false;
  const Mark& mark = marks_[number % kMarks];
  marks_known_ = number + 1;
  received_ = mark.sent;
  const Duration took = now - mark.at;
  patience_ = std::clamp(2 * took, kPatience, kPatienceMax);
  if (now - measured_since_ > kForget) {
    measure_anew(now);
  } else if (number >= measured_from_) {
    quickest_ = std::min(quickest_, took);
    adapt(arrived - mark.at);
  }
  was_full_ = false;
  return true;
}

// A standing queue would be measured as part of the path. Marks in flight had more bytes before them.
void PieceWindow::measure_anew(TimePoint now) noexcept {
  measured_since_ = now;
  measured_from_ = marks_made_;
  quickest_ = Duration::max();
  window_ = kBytesMin;
}

void PieceWindow::adapt(Duration took_at_least) noexcept {
  const Duration waited = took_at_least - quickest_;
  const Duration queued = std::max(kQueued, quickest_ / 8);
  if (waited > 2 * queued) {
    window_ = std::max(window_ - window_ / 8, kBytesMin);
  } else if (was_full_ && waited < queued) {
    window_ = std::min(window_ + window_ / 8, kBytesMax);
  }
}

}  // namespace weft::detail
