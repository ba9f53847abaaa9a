// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::detail::shared_memory {

/// Size of the page at the beginning of a side's memory, which holds its words; the ring lies behind it.
inline constexpr std::size_t kWordsBytes = 4096;

/// Words by which one side tells the other about itself. Only that side writes them: the other maps them
/// read-only, and checks each of them.
///
///     0         8         16        24
///    | written | read    | sleep   |
///
/// `Atomic` is std::atomic, except in the test that walks through all interleavings.
template <template <typename> class Atomic>
struct SideWordsOf {
  /// Number of bytes that the side has put into its ring, with the flags below.
  Atomic<std::uint64_t> written{0};
  /// Number of bytes that the side has taken from the other side's ring.
  Atomic<std::uint64_t> read{0};
  /// Zero while the side is awake. Otherwise the number of its sleep times two, plus one if the side waits
  /// for room in its ring.
  Atomic<std::uint64_t> sleep{0};
};
using SideWords = SideWordsOf<std::atomic>;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(SideWords) == 24 && sizeof(SideWords) <= kWordsBytes);

/// Flags in SideWords::written. The rest of the word counts bytes.
inline constexpr std::uint64_t kEnded = std::uint64_t{1} << 63;  ///< no more bytes follow
inline constexpr std::uint64_t kUp = std::uint64_t{1} << 62;     ///< the side has mapped the other's memory
inline constexpr std::uint64_t kCountMask = kUp - 1;

inline constexpr std::uint64_t kWantsRoom = 1;  ///< in SideWords::sleep

}  // namespace weft::detail::shared_memory
