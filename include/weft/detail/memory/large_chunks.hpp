// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

class Chunk;

/// The free chunks of a pool that are larger than its standard ones, by size: four sizes for each power of
/// two, so that at most a fifth of a chunk is unused. A chunk that was not used between two calls of
/// release_unused() is returned to the system. Thread: the pool's.
class LargeChunks {
 public:
  /// Sizes above this are made to measure and never kept, and so are sizes up to kAbove.
  static constexpr std::size_t kAbove = 64 * 1024;
  static constexpr std::size_t kLargest = 256 * 1024 * 1024;

  /// Keeps at most `bytes_max` bytes.
  explicit LargeChunks(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}
  LargeChunks(const LargeChunks&) = delete;
  LargeChunks& operator=(const LargeChunks&) = delete;

  /// Tells whether a chunk of `bytes`, or of what that is rounded up to, may be kept.
  bool keeps(std::size_t bytes) const noexcept {
    return bytes > kAbove && bytes <= kLargest && rounded(bytes) <= bytes_max_;
  }
  /// Returns the smallest size of a kept chunk with room for `bytes`, for which keeps() is true.
  static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    const std::size_t step = step_of(bytes);
    return (bytes + step - 1) / step * step;
  }

  /// Takes a chunk with room for `bytes`, for which keeps() is true; null if no chunk of that size is kept.
  Chunk* take(std::size_t bytes) noexcept;
  /// Keeps `chunk`, whose capacity is a rounded() one. False when that would be too much.
  bool put(Chunk* chunk) noexcept;
  /// Removes, to be freed, a chunk that was unused since the last next_period(); null if there is none.
  Chunk* take_unused() noexcept;
  /// Marks all kept chunks as unused, until they are taken.
  void next_period() noexcept;
  /// Takes out any; null when none is left.
  Chunk* take_any() noexcept;

  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Size {
    Chunk* first = nullptr;
    std::uint32_t kept = 0;
    /// Minimum number of chunks kept in this period, all of them unused during it.
    std::uint32_t unused = 0;
  };
  static constexpr std::size_t kFirstPower = std::bit_width(kAbove) - 1;
  static constexpr std::size_t kPowers = std::bit_width(kLargest) - 1 - kFirstPower;

  // A quarter of the power of two below `bytes`.
  static constexpr std::size_t step_of(std::size_t bytes) noexcept { return std::bit_floor(bytes - 1) / 4; }
  Size& size_of(std::size_t bytes) noexcept;
  Chunk* pop(Size& size) noexcept;

  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::array<Size, kPowers * 4> sizes_{};
};

}  // namespace weft::detail
