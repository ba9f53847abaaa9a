// SPDX-License-Identifier: Apache-2.0
#include "calls/exchange_table.hpp"

namespace weft {

void ExchangeTable::add_slot() {
  slots_.emplace_back();
  first_free_ = static_cast<std::uint32_t>(slots_.size() - 1);
}

}  // namespace weft
