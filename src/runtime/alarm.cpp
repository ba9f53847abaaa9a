// SPDX-License-Identifier: Apache-2.0
#include "runtime/alarm.hpp"

#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>

namespace weft::detail {

void Alarm::set(TimePoint at, Clock& clock) noexcept {
  time_ = at;
  itimerspec alarm{};
  if (at != TimePoint::max()) {
    // From now on, for the loop's clock may call this moment by another name than the system's. Zero would
    // switch it off, and so a time that has passed is the next nanosecond.
    const Duration left = std::max(Deadline{at}.remaining(clock.now()), Duration{1});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    alarm.it_value = {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  }
  ::timerfd_settime(timer_.get(), 0, &alarm, nullptr);
}

}  // namespace weft::detail
