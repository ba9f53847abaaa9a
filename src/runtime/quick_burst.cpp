// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/quick_burst.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {

bool QuickBurst::measure(TimePoint now) noexcept {
  if (!std::exchange(ended_, false)) return false;
  const Duration limit = wanted();
  Duration took = now - began_;
  if (took < limit / 2) units_ = std::min(units_ * 2, kUnitsAtMost);
  for (; took > limit && units_ > 1; took /= 2) units_ /= 2;
  return brought_;
}

Duration QuickBurst::wanted() const noexcept {
  const bool descriptors = began_ - last_report_ < kLately;
  if (brought_ != descriptors) return brought_ ? kWhilePollersWork : kWhileDescriptorsWork;
  return kWhileQuiet;
}

}  // namespace weft::detail
