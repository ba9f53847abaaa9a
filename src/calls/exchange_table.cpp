// SPDX-License-Identifier: Apache-2.0
#include "calls/exchange_table.hpp"

#include <new>

namespace weft::detail {

void ExchangeTable::free_abandoned(Slot& slot, std::uint32_t index) noexcept {
  --abandoned_;
  ++size_;  // as if it were in the table still
  free(slot, index);
}

bool ExchangeTable::add_slot() noexcept {
  try {
    slots_.emplace_back();
  } catch (const std::bad_alloc&) {
    return false;
  }
  first_free_ = static_cast<std::uint32_t>(slots_.size() - 1);
  return true;
}

}  // namespace weft::detail
