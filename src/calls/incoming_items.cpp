// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/incoming_items.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "calls/arriving_item.hpp"

namespace weft::detail {

std::uint64_t IncomingItems::discard() noexcept {
  discards_ = true;
  std::uint64_t granted = 0;
  while (!items_.empty()) {
    shown_ = true;
    granted = std::max(granted, take());
  }
  if (held_ != 0) granted = std::max(granted, window_.take(std::exchange(held_, 0)));
  if (arriving_ != nullptr) {
    granted = std::max(granted, window_.take(arriving_->cost()));
    arriving_.reset();
  }
  return granted;
}

bool IncomingItems::keep_arrived(LocalBudget& budget, ChunkPool& chunks) noexcept {
  const OwnedArrivingItem item = std::move(arriving_);
  Result<Buffer> attachment = item->take();
  if (!attachment.ok()) return false;
  try {
    if (attached_ == nullptr) attached_ = std::make_unique<std::deque<Attached>>();
    attached_->push_back({pushed_, item->bytes(), *std::move(attachment)});
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (!items_.push(item->body(), {}, budget, chunks)) {
    attached_->pop_back();
    return false;
  }
  ++pushed_;
  held_ += item->cost();
  return true;
}

std::uint64_t IncomingItems::drop_attachment() noexcept {
  if (!front_is_attached()) return 0;
  const std::uint64_t cost = wire::item_cost(0, attached_->front().bytes) - wire::item_cost(0);
  attached_->pop_front();
  return cost;
}

// What is dropped or discarded was counted then.
std::uint64_t IncomingItems::settle(std::uint64_t cost) noexcept {
  if (dropped_ || discards_) return 0;
  held_ -= cost;
  return window_.take(cost);
}

void IncomingItems::drop() noexcept {
  end();
  dropped_ = true;
  if (!shown_) forget();
}

void IncomingItems::forget() noexcept {
  items_.clear();
  attached_.reset();
  popped_ = pushed_;
  held_ = 0;
}

}  // namespace weft::detail
