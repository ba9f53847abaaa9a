// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "transport/verbs/limits.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail::verbs_carrier {

/// The time for which a loop may stand still because its carriers take memory back, all of them together.
/// Each may wait for half of what is left: so peers that do not answer cost the loop kReclaimInAll however
/// many they are, and one that answers at once finds some time yet. Time that passes makes up for it slowly.
/// Thread: its loop's.
class ReclaimTime {
 public:
  /// Returns until when somebody may wait who begins to, `now`. Then end() follows, before another begins.
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
