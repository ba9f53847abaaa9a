// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace weft::faults {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kHeapIsCounted = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kHeapIsCounted = false;
#else
inline constexpr bool kHeapIsCounted = true;
#endif
#else
inline constexpr bool kHeapIsCounted = true;
#endif

/// Bytes that operator new has given out and that were not given back, over all threads. Zero where a
/// sanitizer brings an operator new of its own; a test that compares asks kHeapIsCounted first.
std::size_t heap_bytes() noexcept;
/// The most that heap_bytes() was since the last call of restart_heap_peak().
std::size_t heap_peak_bytes() noexcept;
void restart_heap_peak() noexcept;

/// Lets one allocation of the calling thread fail: the `countdown`-th from now on, 0 = none.
void fail_allocation(std::size_t countdown) noexcept;
/// One is still to fail.
bool allocation_still_to_fail() noexcept;

}  // namespace weft::faults
