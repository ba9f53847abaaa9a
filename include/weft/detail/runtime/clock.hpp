// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/time.hpp"

namespace weft {

/// Source of a loop's "now". Must outlive the loops it is given to.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() = 0;
  /// True when time passes by itself, like a wall clock. Otherwise a loop neither spins nor sleeps until a
  /// timer: the code that moves the clock runs the loop again.
  virtual bool advances_by_itself() const = 0;
};

namespace detail {

/// The system's monotonic clock. Thread: any.
Clock& steady_clock_source();

}  // namespace detail

/// A clock that stands still until it is moved; for tests and simulations, so that a minute costs nothing.
/// Thread: the one that runs the loops that read it.
class ManualClock final : public Clock {
 public:
  /// Begins a little after zero, so that "an hour ago" is a time too.
  explicit ManualClock(TimePoint start = TimePoint{std::chrono::hours{24}}) : now_(start) {}

  TimePoint now() override { return now_; }
  bool advances_by_itself() const override { return false; }

  void advance(Duration by) { set(now_ + by); }
  /// Time never goes back.
  void set(TimePoint to) {
    WEFT_ASSERT(to >= now_, "a clock was set back");
    now_ = to;
  }

 private:
  TimePoint now_;
};

}  // namespace weft
