// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::detail {

/// Numbers whose sums from the first on are found, and changed, in O(log n). Fenwick: A new data structure
/// for cumulative frequency tables, 1994.
class FenwickTree {
 public:
  void reset(std::span<const std::uint64_t> values);
  /// Adds to a number; the difference may be negative as long as the number is not.
  void add(std::uint32_t index, std::int64_t difference) noexcept;
  std::uint64_t total() const noexcept { return total_; }
  /// Returns the index whose part of the total `below_total` falls into; that is never one with a zero.
  std::uint32_t find(std::uint64_t below_total) const noexcept;

 private:
  std::vector<std::uint64_t> sums_;  // from 1 on
  std::uint64_t total_ = 0;
};

}  // namespace weft::detail
