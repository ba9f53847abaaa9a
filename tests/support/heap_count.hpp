// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "support/sanitizers.hpp"

/// Counts what operator new has given out, over all threads, in a program that links heap_count.cpp.
/// Nothing is counted where a sanitizer brings an operator new of its own; a test that compares asks
/// kHeapIsCounted.
namespace weft::testing {

inline constexpr bool kHeapIsCounted = !WEFT_ADDRESS_SANITIZER && !WEFT_THREAD_SANITIZER;

/// Calls of operator new so far.
std::size_t heap_allocations() noexcept;
/// Blocks that were given out and not given back.
std::size_t heap_blocks() noexcept;
/// Their bytes.
std::size_t heap_bytes() noexcept;
/// The most that heap_bytes() was since the last call of restart_heap_peak().
std::size_t heap_peak_bytes() noexcept;
void restart_heap_peak() noexcept;

/// Lets one allocation of the calling thread fail: the `countdown`-th from now on, 0 = none.
void fail_allocation(std::size_t countdown) noexcept;
/// The same for `count` of them, one after the other, from the `first` on; 0 ends it.
inline constexpr std::size_t kForEver = static_cast<std::size_t>(-1);
void fail_allocations(std::size_t first, std::size_t count = 1) noexcept;
/// The first is still to fail.
bool allocation_still_to_fail() noexcept;

/// Counts the calls of malloc, calloc, realloc and their aligned kin among those that fail, from now on,
/// whoever makes them: the C and C++ libraries too.
void fail_mallocs_too(bool fail) noexcept;
/// The same as long as it lives.
struct MallocsFailToo {
  MallocsFailToo() noexcept { fail_mallocs_too(true); }
  ~MallocsFailToo() { fail_mallocs_too(false); }
  MallocsFailToo(const MallocsFailToo&) = delete;
  MallocsFailToo& operator=(const MallocsFailToo&) = delete;
};

/// The same for the allocations of all threads together, in the order in which they come.
void fail_allocations_anywhere(std::size_t first, std::size_t count = 1) noexcept;
bool allocation_anywhere_still_to_fail() noexcept;

}  // namespace weft::testing
