// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/fenwick_tree.hpp"

#include <bit>

namespace weft::detail {

void FenwickTree::reset(std::span<const std::uint64_t> values) {
  std::vector<std::uint64_t> sums(values.size() + 1, 0);
  total_ = 0;
  for (std::size_t at = 1; at < sums.size(); ++at) {
    sums[at] += values[at - 1];
    total_ += values[at - 1];
    const std::size_t parent = at + (at & (~at + 1));
    if (parent < sums.size()) sums[parent] += sums[at];
  }
  sums_ = std::move(sums);
}

void FenwickTree::add(std::uint32_t index, std::int64_t difference) noexcept {
  const auto wrapping = static_cast<std::uint64_t>(difference);
  total_ += wrapping;
  for (std::size_t at = index + std::size_t{1}; at < sums_.size(); at += at & (~at + 1))
    sums_[at] += wrapping;
}

std::uint32_t FenwickTree::find(std::uint64_t below_total) const noexcept {
  std::size_t at = 0;
  for (std::size_t step = std::bit_floor(sums_.size() - 1); step > 0; step /= 2) {
    if (at + step >= sums_.size() || sums_[at + step] > below_total) continue;
    at += step;
    below_total -= sums_[at];
  }
  return static_cast<std::uint32_t>(at);
}

}  // namespace weft::detail
