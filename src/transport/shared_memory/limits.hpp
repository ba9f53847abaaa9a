// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace weft::detail::shared_memory {

/// Bounds of SharedMemoryOptions::ring_bytes; a power of two. The peer may choose another one within them.
inline constexpr std::size_t kRingBytesMin = 4 * 1024;
inline constexpr std::size_t kRingBytesMax = 64 * 1024 * 1024;

/// Number of descriptors that a side passes: its memory and its doorbell.
inline constexpr std::size_t kDescriptorsPassed = 2;

}  // namespace weft::detail::shared_memory
