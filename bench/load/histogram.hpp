// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::load {

/// Counts values in buckets that are equally wide within each power of two: three significant digits from 0
/// to an hour in nanoseconds, in constant memory and constant time.
///
///     value      0 .. 2047        2048 .. 4095     4096 .. 8191     ...
///     buckets    2048, 1 wide     1024, 2 wide     1024, 4 wide     ...
///
/// Thread: one at a time.
class Histogram {
 public:
  Histogram();

  /// Counts `value` as often as `times` says. Values above kValueMax count as kValueMax in the buckets;
  /// `max` stays exact.
  void record(std::uint64_t value, std::uint64_t times = 1) {
    counts_[index_of(std::min(value, kValueMax))] += times;
    total_ += times;
    max_ = std::max(max_, value);
  }

  void add(const Histogram& other);

  std::uint64_t total() const { return total_; }
  std::uint64_t max() const { return max_; }
  /// The smallest value that is at least as large as the share `quantile` (0 to 1) of all values, rounded up
  /// to its bucket's end; 0 when nothing was recorded.
  std::uint64_t value_at(double quantile) const;

  static constexpr std::uint64_t kValueMax = (std::uint64_t{1} << 42) - 1;

 private:
  static constexpr unsigned kLinearBits = 11;
  static constexpr std::uint64_t kLinear = std::uint64_t{1} << kLinearBits;
  static constexpr std::uint64_t kPerOctave = kLinear / 2;

  static constexpr std::size_t index_of(std::uint64_t value) {
    if (value < kLinear) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kLinearBits;
    return kLinear + (shift - 1) * kPerOctave + ((value >> shift) - kPerOctave);
  }
  static constexpr std::uint64_t last_value_of(std::size_t index) {
    if (index < kLinear) return index;
    const std::uint64_t shift = (index - kLinear) / kPerOctave + 1;
    const std::uint64_t step = (index - kLinear) % kPerOctave + kPerOctave;
    return ((step + 1) << shift) - 1;
  }

  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace weft::load
