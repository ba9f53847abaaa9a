// SPDX-License-Identifier: Apache-2.0
// Counts calls of the global operator new, and so is a program of its own.
#include <gtest/gtest.h>
#include <pthread.h>

#include <thread>
#include <vector>

#include "support/heap_count.hpp"
#include "unit/coro/run.hpp"
#include "weft/detail/coro/channel.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/frame_pool.hpp"
#include "weft/detail/coro/mutex.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/coro/yield.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::drain;
using testing::heap_allocations;
using testing::heap_blocks;

constexpr bool kCounts = testing::kHeapIsCounted && !detail::kFramePoolBypassed;

Task<int> give(int value) {
  co_await yield();
  co_return value;
}

/// Takes the keys whose use takes no memory, before the frame pool makes its own.
const bool kKeysTakeMemory = [] {
  for (int i = 0; i < 40; ++i) {
    pthread_key_t key;
    if (::pthread_key_create(&key, nullptr) != 0) return false;
  }
  return true;
}();

/// One round of everything that promises not to allocate.
struct Everything {
  Event event;
  Semaphore semaphore{1};
  Mutex mutex;
  Channel<int> channel{2};
  Scope scope;
  long sum = 0;

  static Task<> pusher(Everything* in) {
    for (int i = 0; i < 10; ++i) {
      Result<void> pushed = co_await in->channel.push(i);
      EXPECT_TRUE(pushed.ok());
    }
  }
  static Task<> popper(Everything* in) {
    for (int i = 0; i < 10; ++i) {
      Result<int> popped = co_await in->channel.pop();
      in->sum += *popped;
    }
  }
  static Task<> locker(Everything* in) {
    Result<Mutex::Guard> guard = co_await in->mutex.lock();
    EXPECT_TRUE(guard.ok());
    Result<void> acquired = co_await in->semaphore.acquire();
    EXPECT_TRUE(acquired.ok());
    Result<void> woken = co_await in->event.wait();
    EXPECT_TRUE(woken.ok());
    in->semaphore.release();
  }
  static Task<> fan(Everything* in) {
    auto [one, two] = co_await when_all(give(1), give(2));
    auto winner = co_await race(give(3), give(4));
    in->sum += one + two + winner.value;
    in->event.set();
  }

  void round(Executor& executor) {
    event.reset();
    scope.spawn(&Everything::pusher, this);
    scope.spawn(&Everything::popper, this);
    for (int i = 0; i < 3; ++i) scope.spawn(&Everything::locker, this);
    scope.spawn(&Everything::fan, this);
    drain(executor);
    ASSERT_EQ(scope.count(), 0U);
  }
};

TEST(Allocation, SteadyStateOfEverythingAllocatesNothing) {
  if (!kCounts) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  Executor executor;
  Executor::Enter entered(executor);
  Everything everything;
  everything.round(executor);
  const std::size_t before = heap_allocations();
  for (int i = 0; i < 100; ++i) everything.round(executor);
  EXPECT_EQ(heap_allocations() - before, 0U);
  EXPECT_EQ(frames_alive(), 0);
  EXPECT_GT(everything.sum, 0);
}

TEST(FramePool, KeepsABoundedAmountAndGivesTheRestBack) {
  if (!kCounts) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  const std::size_t count = 2 * detail::kFrameCacheBytesMax / 4096;
  std::vector<void*> blocks;
  blocks.reserve(count);
  const std::size_t alive_before = heap_blocks();
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(detail::allocate_frame(4096));
  EXPECT_EQ(frames_alive(), static_cast<std::int64_t>(count));
  for (void* block : blocks) detail::release_frame(block, 4096);
  EXPECT_EQ(frames_alive(), 0);
  EXPECT_LE(frame_cache_bytes(), detail::kFrameCacheBytesMax);
  EXPECT_GT(frame_cache_bytes(), detail::kFrameCacheBytesMax / 2);
  EXPECT_LE(heap_blocks(), alive_before + count / 2 + 1);
}

TEST(FramePool, DoesNotKeepLargeFrames) {
  if (detail::kFramePoolBypassed) GTEST_SKIP() << "the frame pool is bypassed in this build";
  const std::size_t cached = frame_cache_bytes();
  void* large = detail::allocate_frame(5000);
  detail::release_frame(large, 5000);
  EXPECT_EQ(frame_cache_bytes(), cached);
}

TEST(FramePool, AThreadGivesItsCacheBackWhenItEnds) {
  auto use = [] {
    Executor executor;
    Executor::Enter entered(executor);
    Everything everything;
    everything.round(executor);
  };
  std::thread(use).join();  // what the first thread of a process allocates for good does not count
  const std::size_t before = heap_blocks();
  std::thread(use).join();
  EXPECT_EQ(heap_blocks(), before);
}

TEST(FramePool, AThreadWithoutMemoryKeepsNoFramesUntilThereIsSome) {
  if (!kCounts) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  ASSERT_TRUE(kKeysTakeMemory);
  std::size_t without_memory = 1;
  std::size_t with_memory = 0;
  std::thread([&] {
    void* const first = detail::allocate_frame(100);
    void* const second = detail::allocate_frame(100);
    testing::fail_mallocs_too(true);
    testing::fail_allocations(1, testing::kForEver);
    detail::release_frame(first, 100);
    testing::fail_allocations(0);
    testing::fail_mallocs_too(false);
    without_memory = frame_cache_bytes();
    detail::release_frame(second, 100);
    with_memory = frame_cache_bytes();
  }).join();
  EXPECT_EQ(without_memory, 0U);
  EXPECT_EQ(with_memory, 128U);
}

TEST(FramePool, AFrameMayDieOnAnotherThreadThanItWasMadeOn) {
  const std::size_t before = heap_blocks();
  std::int64_t alive_there = 0;
  Task<int> task = give(1);
  std::thread([moved = std::move(task), &alive_there]() mutable {
    moved.reset();
    alive_there = frames_alive();
  }).join();
  EXPECT_EQ(frames_alive() + alive_there, 0);
  EXPECT_LE(heap_blocks(), before) << "the block was the cache's, or new, and is gone with the other thread";
  // Give back the count that the other thread took with it.
  --detail::frame_cache.alive;
}

}  // namespace
}  // namespace weft
