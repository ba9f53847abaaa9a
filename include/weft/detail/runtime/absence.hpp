// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Knows when a loop was back after a time in which it did not run: its process was stopped, its machine was
/// paused, or a handler kept the thread. Whatever its peers have done meanwhile has not been looked at, so
/// whoever judges a peer by time first looks for a while, and then judges.
///
/// A timer that fires much too late is the sign of it. A loop that is late again and again still judges:
/// short absences count once in a while only, and of long ones a few more.
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

  /// A timer that was due at `due` fires. Of those that one absence made late only the first says something
  /// new: the others were due before the loop was back.
  void fires(TimePoint due, TimePoint now) noexcept {
    if (now - due >= kShort && due > back_) [[unlikely]] {
      note(now - due, now);
    }
  }
  /// Returns the time before which nobody is judged who may be silent for `timeout`.
  TimePoint judge_from(Duration timeout) const noexcept { return back_ + std::min(timeout, kLook); }

 private:
  void note(Duration late, TimePoint now) noexcept {
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
  int repeats_ = 0;
};

}  // namespace weft::detail
