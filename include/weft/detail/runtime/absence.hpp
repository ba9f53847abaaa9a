// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "weft/detail/base/saturated.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Records when a loop resumed after a time in which it did not run: its process was stopped, its machine was
/// paused, or a handler blocked the thread. Actions of its peers during that time have not been seen, so code
/// that judges a peer by time first reads for a while, and then judges.
///
/// A timer that fires much too late is the sign of an absence. A loop that is late again and again still
/// judges: short absences count only once in a while, and long ones a few times more often.
class Absence {
 public:
  /// A timer that is late by this much is the sign of an absence.
  static constexpr Duration kShort = std::chrono::milliseconds{50};
  /// One absence in kSeldom counts, and so do kRepeats more that are as long as this.
  static constexpr Duration kLong = std::chrono::milliseconds{500};
  static constexpr Duration kSeldom = std::chrono::seconds{10};
  static constexpr int kRepeats = 3;
  /// Time for which peers are looked at before they are judged, or their whole timeout if that is shorter.
  static constexpr Duration kLook = std::chrono::seconds{1};

  /// Called when a timer that was due at `due` fires. Among the timers that one absence delayed, only the
  /// first brings new information: the others were due before the loop resumed.
  void fires(TimePoint due, TimePoint now) noexcept {
    if (const Duration late = saturated_difference(now, due); late >= kShort && due > back_) [[unlikely]] {
      note(late, now);
    }
  }
  /// Returns the time before which no peer with a silence limit of `timeout` is judged.
  TimePoint judge_from(Duration timeout) const noexcept {
    return saturated_sum(back_, std::min(timeout, kLook));
  }
  /// Returns whether a timer fired late within the last kLook.
  bool was_late(TimePoint now) const noexcept { return saturated_difference(now, late_at_) < kLook; }

 private:
  void note(Duration late, TimePoint now) noexcept {
    late_at_ = now;
    if (back_ == TimePoint::min() || now - back_ >= kSeldom) {
      repeats_ = 0;
    } else if (late < kLong || repeats_ == kRepeats) {
      return;
    } else {
      ++repeats_;
    }
    back_ = now;
  }

  TimePoint back_ = TimePoint::min();
  TimePoint late_at_ = TimePoint::min();
  int repeats_ = 0;
};

}  // namespace weft::detail
