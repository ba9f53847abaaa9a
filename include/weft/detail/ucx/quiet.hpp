// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "weft/detail/base/time.hpp"

namespace weft::ucx::detail {

/// Measures how long UCX has been idle, and how long it may be left alone.
///
/// Over shared memory UCX refuses to be armed as long as something waits to be sent, because it is not
/// notified when the peer has made room. A live peer makes room within microseconds, and is polled all the
/// time; a stopped one may never make room, and must not cost a processor. So a worker that was idle for a
/// while is polled after pauses, which grow with that time.
class Quiet {
 public:
  /// A pause is this part of the time for which there was nothing.
  static constexpr int kPauseFraction = 8;
  /// A shorter one is not worth the sleep.
  static constexpr Duration kPauseMin = std::chrono::microseconds{20};
  /// Others over the same worker, whose messages do not wake it either meanwhile, wait no longer than this.
  static constexpr Duration kPauseMax = std::chrono::milliseconds{2};

  /// UCX did something.
  void broken() noexcept {
    holds_ = false;
    refused_since_ = {};
  }
  /// It was asked and found nothing.
  void goes_on() noexcept { holds_ = true; }
  /// The last time that it was asked it found nothing.
  bool holds() const noexcept { return holds_; }

  /// It can be armed: its descriptor tells of everything.
  void armed() noexcept {
    refused_since_ = {};
    patience_ = Duration::max();
  }
  /// It refuses to be armed. Returns whether it can be left alone all the same, for patience().
  bool refused(TimePoint now) noexcept {
    if (refused_since_ == TimePoint{}) refused_since_ = now;
    const Duration pause = (now - refused_since_) / kPauseFraction;
    patience_ = std::min(pause, kPauseMax);
    return pause >= kPauseMin;
  }
  Duration patience() const noexcept { return patience_; }

 private:
  bool holds_ = false;
  TimePoint refused_since_{};
  Duration patience_ = Duration::max();
};

}  // namespace weft::ucx::detail
