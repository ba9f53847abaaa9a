// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "support/heap_count.hpp"

namespace weft::guard {

using Payload = std::array<std::uint64_t, 16>;

/// Calls, or items, that fill pools and tables before anything is counted.
inline constexpr std::uint64_t kWarmUp = 2000;

/// Progress of the run that is counted: its calls, or its items.
struct Progress {
  std::uint64_t to_start = 0;
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;
  std::size_t allocations_before = 0;

  void end_one(bool good) {
    if (!good) ++failed;
    if (++ended == kWarmUp) allocations_before = testing::heap_allocations();
  }
};

}  // namespace weft::guard
