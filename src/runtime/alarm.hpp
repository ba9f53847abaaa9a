// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "runtime/descriptor.hpp"
#include "runtime/internal_watch.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/fd_watch.hpp"

namespace weft::detail {

/// A timer of the system's, whose descriptor ends the loop's wait at a time.
class Alarm final : public FdWatch {
 public:
  /// `timer` is a timerfd, and off.
  explicit Alarm(Descriptor timer) noexcept : FdWatch(Internal{}), timer_(std::move(timer)) {}

  int descriptor() const noexcept { return timer_.get(); }
  /// Returns the time it was last set to, and max() when it is off or went off.
  TimePoint time() const noexcept { return time_; }
  /// Sets it to `at` by `clock`; max() switches it off.
  void set(TimePoint at, Clock& clock) noexcept;

  /// Reports once that it went off: a timer that was not due yet by our clock sets it again.
  void on_ready(Readiness) override { time_ = TimePoint::max(); }

 private:
  Descriptor timer_;
  TimePoint time_ = TimePoint::max();
};

}  // namespace weft::detail
