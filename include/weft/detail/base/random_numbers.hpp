// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::detail {

/// Random numbers for values that must differ but need not be secret, such as the jitter of a wait. The same
/// seed gives the same numbers. Steele, Lea, Flood: Fast splittable pseudorandom number generators
/// (SplitMix64).
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) noexcept : state_(seed) {}
  /// Returns unpredictable numbers seeded by the system.
  static RandomNumbers of_system() noexcept;

  std::uint64_t next() noexcept {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  /// Returns a number from `low` up to, and without, `high`.
  double between(double low, double high) noexcept {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  /// Returns a number below `end`, which is above zero. The bias is below one in 2^32 / `end`.
  std::uint32_t below(std::uint32_t end) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * end) >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace weft::detail
