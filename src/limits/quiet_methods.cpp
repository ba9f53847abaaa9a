// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/limits/quiet_methods.hpp"

#include <algorithm>

namespace weft::detail {

TimePoint QuietMethods::search(std::uint64_t method, TimePoint now) const noexcept {
  TimePoint until = std::max(now, whole_server_);
  for (const Told& told : told_) {
    if (told.method == method) until = std::max(until, told.until);
  }
  return until;
}

void QuietMethods::tell(std::uint64_t method, TimePoint until, TimePoint now) noexcept {
  if (until <= now) return;
  until = std::min(until, now + kLongest);
  last_ = std::max(last_, until);
  Told* place = nullptr;
  for (Told& told : told_) {
    if (told.until > now && told.method == method) {
      told.until = std::max(told.until, until);
      return;
    }
    if (told.until <= now) place = &told;
  }
  if (place != nullptr) {
    *place = {method, until};
  } else {
    whole_server_ = std::max(whole_server_, until);
  }
}

}  // namespace weft::detail
