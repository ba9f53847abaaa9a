// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "weft/detail/base/bytes.hpp"

namespace weft::detail {

/// Finds equal keys of maps and sets by their encoding, for containers within containers. Costs one
/// comparison for each key as long as keys come in ascending order, and sorts them otherwise.
class KeyCheck {
 public:
  struct Key {
    std::size_t at;
    std::size_t size;
  };
  /// The keys of one container, from its first to its last.
  struct Mark {
    std::size_t first;
    bool ascending = true;
  };

  Mark begin() const { return {keys_.size()}; }
  void add(Mark& mark, const std::byte* bytes, Key key) {
    if (mark.ascending && keys_.size() > mark.first) mark.ascending = is_less(bytes, keys_.back(), key);
    keys_.push_back(key);
  }
  /// Returns false if two keys since `mark` are equal. Forgets these keys.
  bool end(const Mark& mark, const std::byte* bytes) {
    const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(mark.first);
    bool good = true;
    if (!mark.ascending) {
      std::sort(first, keys_.end(), [&](const Key& a, const Key& b) { return is_less(bytes, a, b); });
      good = std::adjacent_find(first, keys_.end(), [&](const Key& a, const Key& b) {
               return !is_less(bytes, a, b);
             }) == keys_.end();
    }
    keys_.erase(first, keys_.end());
    return good;
  }

 private:
  static bool is_less(const std::byte* bytes, const Key& a, const Key& b) {
    const int order = std::memcmp(bytes + a.at, bytes + b.at, std::min(a.size, b.size));
    return order != 0 ? order < 0 : a.size < b.size;
  }

  std::vector<Key> keys_;
};

}  // namespace weft::detail
