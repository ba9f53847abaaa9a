// SPDX-License-Identifier: Apache-2.0
// Replaces the global operator new by one that counts.
#include "support/heap_count.hpp"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "support/sanitizers.hpp"

#if !WEFT_ADDRESS_SANITIZER && !WEFT_THREAD_SANITIZER
// The C library's own, whoever replaces malloc.
extern "C" {
void* __libc_malloc(std::size_t size) noexcept;                     // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t count, std::size_t size) noexcept;  // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* block, std::size_t size) noexcept;       // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t alignment,
                      std::size_t size) noexcept;  // NOLINT(bugprone-reserved-identifier)
}
#endif

namespace weft::testing {

namespace {

std::atomic<std::size_t> taken = 0;
std::atomic<std::size_t> given_back = 0;
std::atomic<std::size_t> living = 0;
std::atomic<std::size_t> peak = 0;
thread_local std::size_t until_failure = 0;
thread_local std::size_t failures_left = 0;
// Of all threads: which fails first, how many behind it, and how many were asked for so far.
std::atomic<std::size_t> first_failure = 0;
std::atomic<std::size_t> failures = 0;
std::atomic<std::size_t> asked_for = 0;
std::atomic<bool> mallocs_fail = false;

bool fails_anywhere() noexcept {
  const std::size_t first = first_failure.load(std::memory_order_acquire);
  if (first == 0) return false;
  const std::size_t position = asked_for.fetch_add(1, std::memory_order_relaxed) + 1;
  return position >= first && position - first < failures.load(std::memory_order_relaxed);
}

bool fails() noexcept {
  if (failures_left != 0 && (until_failure == 0 || --until_failure == 0)) {
    --failures_left;
    return true;
  }
  return fails_anywhere();
}

#if !WEFT_ADDRESS_SANITIZER && !WEFT_THREAD_SANITIZER
/// Lets a call of malloc or one of its kin fail, when these do.
bool malloc_fails() noexcept {
  if (!mallocs_fail.load(std::memory_order_relaxed) || !fails()) return false;
  errno = ENOMEM;
  return true;
}
#endif

}  // namespace

std::size_t heap_allocations() noexcept {
  return taken.load(std::memory_order_relaxed);
}

std::size_t heap_blocks() noexcept {
  return heap_allocations() - given_back.load(std::memory_order_relaxed);
}

std::size_t heap_bytes() noexcept {
  return living.load(std::memory_order_relaxed);
}

std::size_t heap_peak_bytes() noexcept {
  return peak.load(std::memory_order_relaxed);
}

void restart_heap_peak() noexcept {
  peak.store(heap_bytes(), std::memory_order_relaxed);
}

void fail_allocation(std::size_t countdown) noexcept {
  fail_allocations(countdown, 1);
}

void fail_allocations(std::size_t first, std::size_t count) noexcept {
  until_failure = first;
  failures_left = first != 0 ? count : 0;
}

bool allocation_still_to_fail() noexcept {
  return until_failure != 0;
}

void fail_allocations_anywhere(std::size_t first, std::size_t count) noexcept {
  first_failure.store(0, std::memory_order_release);
  asked_for.store(0, std::memory_order_relaxed);
  failures.store(count, std::memory_order_relaxed);
  first_failure.store(first, std::memory_order_release);
}

bool allocation_anywhere_still_to_fail() noexcept {
  return asked_for.load(std::memory_order_relaxed) < first_failure.load(std::memory_order_relaxed);
}

void fail_mallocs_too(bool fail) noexcept {
  mallocs_fail.store(fail, std::memory_order_relaxed);
}

/// Counts a block that malloc gave; null passes.
void* heap_counted(void* block) noexcept {
  if (block == nullptr) return nullptr;
  taken.fetch_add(1, std::memory_order_relaxed);
  const std::size_t size = ::malloc_usable_size(block);
  const std::size_t now = living.fetch_add(size, std::memory_order_relaxed) + size;
  std::size_t most = peak.load(std::memory_order_relaxed);
  while (now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
  return block;
}

void* heap_take(std::size_t size, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
#if !WEFT_ADDRESS_SANITIZER && !WEFT_THREAD_SANITIZER
  if (alignment <= alignof(std::max_align_t)) return heap_counted(__libc_malloc(size));
  return heap_counted(__libc_memalign(alignment, size));
#else
  return heap_counted(std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment));
#endif
}

// Not inlined: g++ would see operator delete call free, and take the pair for a mistake.
[[gnu::noinline]] void heap_give_back(void* block) noexcept {
  if (block == nullptr) return;
  given_back.fetch_add(1, std::memory_order_relaxed);
  living.fetch_sub(::malloc_usable_size(block), std::memory_order_relaxed);
  std::free(block);
}

}  // namespace weft::testing

#if !WEFT_ADDRESS_SANITIZER && !WEFT_THREAD_SANITIZER

using weft::testing::heap_give_back;
using weft::testing::heap_take;

extern "C" {
void* malloc(std::size_t size) noexcept {
  return weft::testing::malloc_fails() ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return weft::testing::malloc_fails() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) noexcept {
  return weft::testing::malloc_fails() ? nullptr : __libc_realloc(block, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return weft::testing::malloc_fails() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  *block = memalign(alignment, size);
  return *block != nullptr ? 0 : ENOMEM;
}
}

void* operator new(std::size_t size) {
  void* block = heap_take(size, 1);
  if (block == nullptr) throw std::bad_alloc{};
  return block;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* block = heap_take(size, static_cast<std::size_t>(alignment));
  if (block == nullptr) throw std::bad_alloc{};
  return block;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return heap_take(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return heap_take(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept {
  heap_give_back(block);
}
void operator delete(void* block, std::size_t) noexcept {
  heap_give_back(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  heap_give_back(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  heap_give_back(block);
}

#endif
