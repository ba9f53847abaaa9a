// SPDX-License-Identifier: Apache-2.0
#include "calls/call/exchange_table.hpp"

#include <algorithm>
#include <new>

namespace weft::detail {

void ExchangeTable::free_abandoned(Slot& slot, std::uint32_t index) noexcept {
  --abandoned_;
  ++size_;  // as if it were in the table still
  free(slot, index);
}

bool ExchangeTable::add_slot() noexcept {
  if (slots_.size() == slots_.capacity() && !grow()) return false;
  slots_.emplace_back();
  first_free_ = static_cast<std::uint32_t>(slots_.size() - 1);
  return true;
}

// The table never shrinks: a peer that answers nothing keeps its slots taken. It begins small, because most
// connections of a fleet have few calls in flight.
bool ExchangeTable::grow() noexcept {
  const std::size_t slots = std::max<std::size_t>(4, 2 * slots_.capacity());
  const std::size_t wanted = (slots - std::min(slots, kUnchargedSlots)) * sizeof(Slot);
  const std::size_t more = wanted - std::min(wanted, charged_);
  if (process_ != nullptr && !process_->try_reserve(more)) return false;
  try {
    slots_.reserve(slots);
  } catch (const std::bad_alloc&) {
    if (process_ != nullptr) process_->release(more);
    return false;
  }
  if (process_ != nullptr) charged_ += more;
  return true;
}

}  // namespace weft::detail
