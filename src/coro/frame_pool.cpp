// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/frame_pool.hpp"

#include "weft/detail/base/thread_end.hpp"

namespace weft::detail {

namespace {

enum class CacheState : std::uint8_t { kUnopened, kOpen, kClosed };

constinit thread_local CacheState cache_state = CacheState::kUnopened;

/// Gives the cache back when the thread ends. Frames that die later go straight to operator delete.
void close_cache() noexcept {
  cache_state = CacheState::kClosed;
  frame_cache.room = 0;
  for (FreeFrame*& head : frame_cache.free) {
    while (head != nullptr) {
      FreeFrame* block = head;
      head = block->next;
      ::operator delete(block);
    }
  }
}

constinit thread_local ThreadEnd cache_end{&close_cache};

/// Leaves the cache unopened where there is no memory to give it back later: the next release tries again.
void open_cache() noexcept {
  if (!run_at_thread_end(cache_end)) return;
  cache_state = CacheState::kOpen;
  frame_cache.room = kFrameCacheBytesMax;
}

}  // namespace

void release_frame_slowly(void* block, std::size_t size_class) noexcept {
  if (cache_state == CacheState::kUnopened) open_cache();
  FrameCache& cache = frame_cache;
  if (size_class < kFrameClasses && cache.room >= size_class * kFrameStep) {
    cache.free[size_class] = ::new (block) FreeFrame{cache.free[size_class]};
    cache.room -= size_class * kFrameStep;
  } else {
    ::operator delete(block);
  }
}

std::size_t frame_cache_bytes() noexcept {
  std::size_t bytes = 0;
  for (std::size_t size_class = 0; size_class < detail::kFrameClasses; ++size_class) {
    for (auto* block = detail::frame_cache.free[size_class]; block != nullptr; block = block->next) {
      bytes += size_class * detail::kFrameStep;
    }
  }
  return bytes;
}

}  // namespace weft::detail
