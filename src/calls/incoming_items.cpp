// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/incoming_items.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {

std::uint64_t IncomingItems::discard() noexcept {
  discards_ = true;
  std::uint64_t granted = 0;
  while (!items_.empty()) {
    shown_ = true;
    granted = std::max(granted, take());
  }
  if (held_ != 0) granted = std::max(granted, window_.take(std::exchange(held_, 0)));
  return granted;
}

// What is dropped or discarded was counted then.
std::uint64_t IncomingItems::settle(std::uint64_t cost) noexcept {
  if (dropped_ || discards_) return 0;
  held_ -= cost;
  return window_.take(cost);
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
