// SPDX-License-Identifier: Apache-2.0
#include "calls/method_table.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace weft {

namespace {

Status registered_already(const MethodEntry& entry, const MethodEntry& other) {
  std::string text = "method '" + std::string{entry.key.name} + "' is registered already";
  if (entry.key.name != other.key.name) text += " (as '" + std::string{other.key.name} + "')";
  if (!entry.keyed || !other.keyed) {
    text += "; give one of them a key: register_handler<weft::method<f, \"key\">>()";
  }
  return {StatusCode::kAlreadyExists, Layer::kRpc, std::move(text)};
}

}  // namespace

Result<MethodTable> MethodTable::build(std::vector<MethodEntry> entries) {
  MethodTable table;
  table.entries_ = std::move(entries);
  table.slots_.resize(std::bit_ceil(table.entries_.size() * 2 + 2), nullptr);
  for (const MethodEntry& entry : table.entries_) {
    const std::string name{entry.key.name};
    if (entry.options.blocking && entry.on_loop_only) {
      return Status{StatusCode::kInvalidArgument, Layer::kRpc,
                    "method '" + name +
                        "' is a coroutine and cannot be blocking: it runs on a loop; let it be an "
                        "ordinary function, or not blocking"};
    }
    const MethodEntry* other = table.find_any(entry.key.id);
    if (other != nullptr && !entry.keyed && !other->keyed) other = table.find(entry.key.id, entry.key.schema);
    if (other != nullptr) {
      return registered_already(entry, *other);
    }
    std::size_t at = table.home(entry.key.id);
    while (table.slots_[at] != nullptr) at = (at + 1) & (table.slots_.size() - 1);
    table.slots_[at] = &entry;
  }
  return table;
}

bool MethodTable::has_blocking() const {
  return std::ranges::any_of(entries_, [](const MethodEntry& entry) { return entry.options.blocking; });
}

}  // namespace weft
