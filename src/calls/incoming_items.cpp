// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/incoming_items.hpp"

#include <algorithm>
#include <utility>

#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

std::uint64_t IncomingItems::take() noexcept {
  if (!std::exchange(shown_, false)) return 0;
  if (dropped_) {
    items_.clear();
    held_ = 0;
    return 0;
  }
  const std::uint64_t cost = wire::item_cost(static_cast<std::uint32_t>(items_.front().size()));
  items_.pop();
  held_ -= cost;
  return window_.take(cost);
}

std::uint64_t IncomingItems::discard() noexcept {
  discards_ = true;
  std::uint64_t granted = 0;
  while (!items_.empty()) {
    shown_ = true;
    granted = std::max(granted, take());
  }
  return granted;
}

IncomingItems::Arrival IncomingItems::arrive(const Frame& frame, const ChunkRef& chunk, LocalBudget& budget,
                                             ChunkPool& chunks, std::uint64_t& granted) noexcept {
  const std::uint64_t cost = wire::ItemView{frame.header}.cost();
  granted = 0;
  if (!window_.arrive(cost)) return Arrival::kNoCredit;
  if (ended_) return Arrival::kDropped;
  if (discards_) {
    granted = window_.take(cost);
    return Arrival::kDropped;
  }
  const bool kept =
      frame.body.size() == frame.header.body_bytes && items_.push(frame.body, chunk, budget, chunks);
  if (!kept) return Arrival::kNoMemory;
  held_ += cost;
  return Arrival::kKept;
}

void IncomingItems::drop() noexcept {
  ended_ = dropped_ = true;
  if (shown_) return;
  items_.clear();
  held_ = 0;
}

}  // namespace weft::detail
