// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/stream/incoming_items.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "calls/stream/arriving_item.hpp"

namespace weft::detail {

std::uint64_t IncomingItems::discard() noexcept {
  discards_ = true;
  std::uint64_t granted = 0;
  while (!items_.empty()) {
    shown_ = true;
    granted = std::max(granted, take());
  }
  if (held_ != 0) granted = std::max(granted, window_.take(std::exchange(held_, 0)));
  if (const ArrivingItem* const awaited = arriving()) {
    granted = std::max(granted, window_.take(awaited->cost()));
    attached_->arriving.reset();
  }
  return granted;
}

bool IncomingItems::await(OwnedArrivingItem item) noexcept {
  try {
    if (attached_ == nullptr) {
      attached_ = std::make_unique<Attachments>();
      attached_->pushed = static_cast<std::uint32_t>(items_.count());
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  attached_->arriving = std::move(item);
  return true;
}

bool IncomingItems::keep_arrived(LocalBudget& budget, ChunkPool& chunks) noexcept {
  Attachments& its = *attached_;
  const OwnedArrivingItem item = std::move(its.arriving);
  Result<Buffer> attachment = item->take();
  if (!attachment.ok()) return false;
  const Bytes body = item->body();
  try {
    its.whole.push_back({its.pushed, item->bytes(), *std::move(attachment), item->take_body()});
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (!items_.push(body, {}, budget, chunks)) {
    its.whole.pop_back();
    return false;
  }
  ++its.pushed;
  held_ += item->cost();
  return true;
}

std::uint64_t IncomingItems::Attachments::pop() noexcept {
  std::uint64_t cost = 0;
  if (is_next()) {
    cost = wire::item_cost(0, whole.front().bytes) - wire::item_cost(0);
    whole.pop_front();
  }
  ++popped;
  return cost;
}

// Dropped or discarded items were accounted for at that time.
std::uint64_t IncomingItems::release(std::uint64_t cost) noexcept {
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
  held_ = 0;
}

}  // namespace weft::detail
