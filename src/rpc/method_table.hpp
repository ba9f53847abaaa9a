// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/result.hpp"
#include "weft/rpc/handler.hpp"

namespace weft {

/// The registered methods by id: open addressing at half load, built once, then only read, from every loop.
class MethodTable {
 public:
  MethodTable() = default;
  /// Errors: kAlreadyExists for two methods of one name or id, kInvalidArgument for options that cannot be.
  static Result<MethodTable> build(std::vector<MethodEntry> entries);

  const MethodEntry* find(std::uint64_t id) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = home(id);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at] == nullptr || slots_[at]->key.id == id) return slots_[at];
    }
  }
  bool has_blocking() const;

 private:
  std::size_t home(std::uint64_t id) const { return static_cast<std::size_t>(id >> 7) & (slots_.size() - 1); }

  std::vector<MethodEntry> entries_;
  std::vector<const MethodEntry*> slots_;
};

}  // namespace weft
