// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/incoming_items.hpp"

#include <algorithm>

namespace weft::detail {

std::uint64_t IncomingItems::discard() noexcept {
  discards_ = true;
  std::uint64_t granted = 0;
  while (!items_.empty()) {
    shown_ = true;
    granted = std::max(granted, take());
  }
  return granted;
}

void IncomingItems::drop() noexcept {
  ended_ = dropped_ = true;
  if (!shown_) forget();
}

void IncomingItems::forget() noexcept {
  items_.clear();
  held_ = 0;
}

}  // namespace weft::detail
