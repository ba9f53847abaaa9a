// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/detail/base/run_cursor.hpp"

namespace weft::detail {

/// Tells which leased bytes are sent from where they lie, and which are copied first.
class LeasePolicy {
 public:
  /// Runs that are gathered at a time; a connection looks at as many segments, or more.
  static constexpr std::size_t kGatheredRunsMax = 64;

  /// Pieces of fewer than `bytes_min` bytes are copied, or, with `gathers`, when they come alone or are very
  /// short, or, with `much_only`, when they have fewer bytes than that also together.
  explicit LeasePolicy(std::size_t bytes_min = 16 * 1024, bool gathers = false,
                       bool much_only = false) noexcept
      : bytes_min_(static_cast<std::uint32_t>(std::clamp<std::size_t>(bytes_min, kLeast, kMost)) & kMost),
        gathers_(gathers),
        much_only_(much_only) {}

  /// A piece of `bytes` is copied.
  bool copies(std::size_t bytes) const noexcept { return bytes < bytes_min_; }
  /// The longest piece that is copied, or a part of it: in such parts all is copied that must be.
  std::size_t copied_max() const noexcept {
    return std::min<std::size_t>(bytes_min_ - 1, kCopiedAtATime) & ~std::size_t{63};
  }
  /// A piece of `bytes` is worth being sent together with its neighbours instead.
  bool gathers(std::size_t bytes) const noexcept {
    return gathers_ != 0 && bytes >= kGatheredMin && copies(bytes);
  }
  /// Says whether the first run of the next `bytes` behind `from` is gathered with as many of its neighbours
  /// as are needed.
  bool gathers(RunCursor<const std::byte> from, std::size_t bytes) const noexcept;

 private:
  /// Copying less costs no more than a segment of its own.
  static constexpr std::size_t kGatheredMin = 2048;
  static constexpr std::size_t kLeast = 65;
  static constexpr std::size_t kCopiedAtATime = 32 * 1024;
  static constexpr std::uint32_t kMost = 0x3FFFFFFF;

  std::uint32_t bytes_min_ : 30;
  std::uint32_t gathers_ : 1;
  std::uint32_t much_only_ : 1;
};

}  // namespace weft::detail
