// SPDX-License-Identifier: Apache-2.0
// What the loop does once per call may not allocate; counted, not timed.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "support/heap_count.hpp"
#include "unit/runtime/loops.hpp"
#include "weft/detail/runtime/sleep.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;
using testing::make_loop;

struct CountingTimer final : Timer {
  void on_timer() override { ++fired; }
  int fired = 0;
};
struct CountingHook final : TurnEndHook {
  void on_turn_end() override { ++ran; }
  int ran = 0;
};

template <typename Work>
std::size_t allocations_of(Work&& work) {
  const std::size_t before = testing::heap_allocations();
  work();
  return testing::heap_allocations() - before;
}

TEST(Allocation, TheCounterCounts) {
  std::unique_ptr<int> kept;
  EXPECT_EQ(allocations_of([&] { kept = std::make_unique<int>(1); }), 1u);
}

TEST(Allocation, TurnsTimersReadyWorkAndHooksAllocateNothing) {
  ManualClock clock;
  auto loop = make_loop({.clock = &clock});
  std::array<CountingTimer, 64> timers;
  CountingHook hook;
  struct Nothing : Ready {
    Nothing() : Ready([](Ready*) noexcept {}) {}
  } ready;
  EXPECT_EQ(allocations_of([&] {
              for (int round = 0; round < 100; ++round) {
                for (std::size_t i = 0; i < timers.size(); ++i)
                  loop->arm(timers[i], clock.now() + Duration{i});
                for (std::size_t i = 0; i < timers.size(); i += 2) loop->disarm(timers[i]);
                loop->schedule(ready);
                loop->at_turn_end(hook);
                clock.advance(1ms);
                loop->run_until_idle();
              }
            }),
            0u);
  EXPECT_EQ(hook.ran, 100);
  EXPECT_EQ(timers[1].fired, 100);
  EXPECT_EQ(timers[0].fired, 0);
}

TEST(Allocation, APostAllocatesOnce) {
  auto loop = make_loop();
  int ran = 0;
  loop->run_until_idle();
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < 10; ++i) loop->post([&ran] { ++ran; });
              loop->run_until_idle();
            }),
            10u);
  EXPECT_EQ(ran, 10);
}

Task<int> sleep_often(int times) {
  int slept_times = 0;
  for (int i = 0; i < times; ++i) {
    const Result<void> slept = co_await sleep_for(1ns);
    if (slept.ok()) ++slept_times;
  }
  co_return slept_times;
}

TEST(Allocation, SleepingAllocatesNothing) {
  auto loop = make_loop({.mode = WaitMode::kBusy});
  EXPECT_EQ(loop->block_on(sleep_often(1)), 1);  // fills the pool that frames come from
  EXPECT_EQ(allocations_of([&] { EXPECT_EQ(loop->block_on(sleep_often(100)), 100); }), 0u);
}

TEST(Allocation, ChunksAreReused) {
  auto loop = make_loop();
  loop->chunks().acquire().reset();
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < 100; ++i) {
                ChunkRef chunk = loop->chunks().acquire();
                ChunkRef second = chunk;
              }
            }),
            0u);
}

TEST(Allocation, HotStructuresStaySmall) {
  EXPECT_LE(sizeof(Timer), 72u);
  EXPECT_LE(sizeof(TurnEndHook), 24u);
  EXPECT_LE(sizeof(FdWatch), 32u);
  EXPECT_LE(sizeof(ChunkRef), 8u);
  EXPECT_LE(sizeof(detail::SleepAwaiter), 184u);
}

}  // namespace
}  // namespace weft
