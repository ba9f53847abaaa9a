// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "transport/verbs/limits.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail::verbs_carrier {

/// Budget of time for which the carriers of one loop together may block the loop while they reclaim memory
/// from devices. Each wait may use half of the remaining budget: unresponsive peers cost the loop at most
/// kReclaimInAll in total, and a responsive peer still finds some budget. The budget refills slowly with
/// time. Thread: the loop's.
class ReclaimTime {
 public:
  /// Returns the deadline of a wait that begins at `now`. The caller calls end() before the next begin().
  TimePoint begin(TimePoint now) noexcept {
    left_ = std::min(kReclaimInAll, left_ + (now - since_) / kReclaimRest);
    since_ = now;
    return now + left_ / 2;
  }
  void end(TimePoint now) noexcept {
    left_ -= std::min(left_, now - since_);
    since_ = now;
  }

 private:
  Duration left_ = kReclaimInAll;
  /// The time that was looked at last.
  TimePoint since_{};
};

}  // namespace weft::detail::verbs_carrier
