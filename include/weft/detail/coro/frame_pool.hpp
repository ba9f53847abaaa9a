// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace weft::detail {

// Freed blocks of up to kFrameBlockMax bytes wait in the freeing thread's cache, one list for each step of
// 64 bytes. Every block comes from plain operator new in its rounded size, so any thread's cache may own it
// and a build that bypasses the cache can be linked with one that does not.
inline constexpr std::size_t kFrameStep = 64;
inline constexpr std::size_t kFrameBlockMax = 4096 + 2 * kFrameStep;
inline constexpr std::size_t kFrameClasses = kFrameBlockMax / kFrameStep + 1;
/// The most that one thread keeps for later.
inline constexpr std::size_t kFrameCacheBytesMax = std::size_t{8} << 20;

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kFramePoolBypassed = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kFramePoolBypassed = true;
#else
inline constexpr bool kFramePoolBypassed = false;
#endif
#else
inline constexpr bool kFramePoolBypassed = false;
#endif

struct FreeFrame {
  FreeFrame* next;
};

/// One thread's cache. Trivially destroyed, so that it can be used until the thread's very end.
struct FrameCache {
  FreeFrame* free[kFrameClasses] = {};
  /// Bytes that it may still take in. Zero until the thread's first free and after its cleanup.
  std::size_t room = 0;
  std::int64_t alive = 0;
};

inline constinit thread_local FrameCache frame_cache{};

constexpr std::size_t frame_class(std::size_t size) {
  return (size + kFrameStep - 1) / kFrameStep;
}

/// Frees a block that did not fit the cache's room; the first one opens the cache.
void release_frame_slowly(void* block, std::size_t size_class) noexcept;

inline void* allocate_frame(std::size_t size) {
  FrameCache& cache = frame_cache;
  const std::size_t size_class = frame_class(size);
  ++cache.alive;
  if constexpr (!kFramePoolBypassed) {
    if (size_class < kFrameClasses && cache.free[size_class] != nullptr) [[likely]] {
      FreeFrame* block = cache.free[size_class];
      cache.free[size_class] = block->next;
      cache.room += size_class * kFrameStep;
      return block;
    }
  }
  return ::operator new(size_class * kFrameStep);
}

inline void release_frame(void* block, std::size_t size) noexcept {
  FrameCache& cache = frame_cache;
  const std::size_t size_class = frame_class(size);
  --cache.alive;
  if constexpr (kFramePoolBypassed) {
    ::operator delete(block);
  } else if (size_class < kFrameClasses && cache.room >= size_class * kFrameStep) [[likely]] {
    cache.free[size_class] = ::new (block) FreeFrame{cache.free[size_class]};
    cache.room -= size_class * kFrameStep;
  } else {
    release_frame_slowly(block, size_class);
  }
}

/// Gives a promise its frames from the pool; derive the promise from it.
struct PooledFrame {
  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* block, std::size_t size) noexcept { release_frame(block, size); }
};

/// Coroutine frames made minus frames destroyed by this thread; over all threads the sum counts the living.
inline std::int64_t frames_alive() noexcept {
  return detail::frame_cache.alive;
}

/// Bytes that this thread keeps for the next frames.
std::size_t frame_cache_bytes() noexcept;

}  // namespace weft::detail
