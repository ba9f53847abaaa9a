// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/peer_watch.hpp"

#include <algorithm>

#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

void PeerWatch::blocked(bool some) noexcept {
  if (some || blocked_since_ == TimePoint{}) blocked_since_ = loop_.now();
  arm_by(Deadline::after(blocked_since_, limits_.stall).at());
}

void PeerWatch::owed(std::uint64_t progress) noexcept {
  if (progress != progress_) {
    progress_ = progress;
    owed_since_ = loop_.now();
  }
  arm_by(Deadline::after(owed_since_, limits_.frame).at());
}

void PeerWatch::stop() noexcept {
  loop_.disarm(*this);
}

void PeerWatch::arm_by(TimePoint at) noexcept {
  if (at == TimePoint::max() || (Timer::armed() && Timer::at() <= at)) return;
  loop_.arm(*this, at);
}

void PeerWatch::on_timer() {
  arm_by(std::min(check_stall(), check_frame()));
}

TimePoint PeerWatch::check_stall() {
  if (!owner_.waits_to_send()) return TimePoint::max();
  const TimePoint due = std::max(Deadline::after(blocked_since_, limits_.stall).at(),
                                 loop_.turn_time().absence().judge_from(limits_.stall));
  if (due > loop_.now()) return due;
  if (loop_.turn_time().reported() < due) return due;  // there may be room already
  owner_.on_peer_stalled();
  return TimePoint::max();
}

TimePoint PeerWatch::check_frame() {
  if (!owner_.peer_owes()) return TimePoint::max();
  const TimePoint due = std::max(Deadline::after(owed_since_, limits_.frame).at(),
                                 loop_.turn_time().absence().judge_from(limits_.frame));
  if (due > loop_.now()) return due;
  if (!owner_.has_looked(due)) return due;
  owner_.on_peer_late();
  return TimePoint::max();
}

}  // namespace weft::detail
