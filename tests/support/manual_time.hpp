// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::testing {

/// Lets `time` pass for a loop of this clock: moves the clock from timer to timer, and turns the loop at
/// each.
inline void pass(Loop& loop, ManualClock& clock, Duration time) {
  const TimePoint end = clock.now() + time;
  loop.run_until_idle();
  while (loop.next_timer() && *loop.next_timer() <= end) {
    clock.set(std::max(clock.now(), *loop.next_timer()));
    loop.run_until_idle();
  }
  clock.set(end);
  loop.run_until_idle();
}

}  // namespace weft::testing
