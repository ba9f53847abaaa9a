// SPDX-License-Identifier: Apache-2.0
// What the loop costs per operation: timers as calls use them, ready work, turns and posts.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "weft/detail/runtime/loop.hpp"

namespace weft {
namespace {

struct IdleTimer final : detail::Timer {
  void on_timer() override {}
};

struct IdleHook final : detail::TurnEndHook {
  void on_turn_end() override {}
};

std::unique_ptr<Loop> busy_loop() {
  return Loop::create({.mode = WaitMode::kBusy}).value();
}

// A window of calls in flight, each with a deadline far away: the oldest is answered, a new one begins.
void BM_DeadlinePerCallInOrder(benchmark::State& state) {
  auto loop = busy_loop();
  std::vector<IdleTimer> timers(static_cast<std::size_t>(state.range(0)));
  TimePoint at = loop->now() + std::chrono::hours{1};
  for (IdleTimer& timer : timers) loop->arm(timer, at += Duration{200});
  std::size_t oldest = 0;
  for (auto _ : state) {
    loop->disarm(timers[oldest]);
    loop->arm(timers[oldest], at += Duration{200});
    oldest = oldest + 1 == timers.size() ? 0 : oldest + 1;
  }
}
BENCHMARK(BM_DeadlinePerCallInOrder)->Arg(1)->Arg(64)->Arg(256)->Arg(1024)->Arg(16384);

// The same with a few long-lived timers that are earlier, such as keepalives.
void BM_DeadlinePerCallBehindKeepalives(benchmark::State& state) {
  auto loop = busy_loop();
  std::vector<IdleTimer> keepalives(100);
  for (IdleTimer& timer : keepalives) loop->arm(timer, loop->now() + std::chrono::minutes{1});
  std::vector<IdleTimer> timers(static_cast<std::size_t>(state.range(0)));
  TimePoint at = loop->now() + std::chrono::hours{1};
  for (IdleTimer& timer : timers) loop->arm(timer, at += Duration{200});
  std::size_t oldest = 0;
  for (auto _ : state) {
    loop->disarm(timers[oldest]);
    loop->arm(timers[oldest], at += Duration{200});
    oldest = oldest + 1 == timers.size() ? 0 : oldest + 1;
  }
}
BENCHMARK(BM_DeadlinePerCallBehindKeepalives)->Arg(256)->Arg(1024);

// Calls answered in any order.
void BM_DeadlinePerCallOutOfOrder(benchmark::State& state) {
  auto loop = busy_loop();
  std::vector<IdleTimer> timers(static_cast<std::size_t>(state.range(0)));
  TimePoint at = loop->now() + std::chrono::hours{1};
  for (IdleTimer& timer : timers) loop->arm(timer, at += Duration{200});
  std::uint32_t random = 1;
  for (auto _ : state) {
    random = random * 1664525u + 1013904223u;
    IdleTimer& timer = timers[(random >> 8) % timers.size()];
    loop->disarm(timer);
    loop->arm(timer, at += Duration{200});
  }
}
BENCHMARK(BM_DeadlinePerCallOutOfOrder)->Arg(256)->Arg(1024);

void BM_ScheduleAndRun(benchmark::State& state) {
  auto loop = busy_loop();
  struct Nothing : detail::Ready {
    Nothing() : detail::Ready([](detail::Ready*) noexcept {}) {}
  };
  std::vector<Nothing> nodes(256);
  for (auto _ : state) {
    for (Nothing& node : nodes) loop->schedule(node);
    loop->run_ready(nodes.size());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(nodes.size()));
}
BENCHMARK(BM_ScheduleAndRun);

void BM_EmptyTurn(benchmark::State& state) {
  auto loop = Loop::create({.poller = state.range(0) == 0 ? PollerKind::kEpoll : PollerKind::kIoUring,
                            .mode = WaitMode::kBusy})
                  .value();
  for (auto _ : state) loop->run_once(Duration::zero());
  state.SetLabel(std::string{to_string(loop->poller_kind())});
}
BENCHMARK(BM_EmptyTurn)->Arg(0)->Arg(1);

void BM_TurnWithAHook(benchmark::State& state) {
  auto loop = busy_loop();
  IdleHook hook;
  for (auto _ : state) {
    loop->at_turn_end(hook);
    loop->run_once(Duration::zero());
  }
}
BENCHMARK(BM_TurnWithAHook);

void BM_PostToAnAwakeLoop(benchmark::State& state) {
  auto loop = busy_loop();
  for (auto _ : state) {
    for (int i = 0; i < 256; ++i) loop->post([] {});
    loop->run_once(Duration::zero());
  }
  state.SetItemsProcessed(state.iterations() * 256);
}
BENCHMARK(BM_PostToAnAwakeLoop);

void BM_AcquireAndReleaseAChunk(benchmark::State& state) {
  detail::ChunkPool pool;
  for (auto _ : state) benchmark::DoNotOptimize(pool.acquire());
}
BENCHMARK(BM_AcquireAndReleaseAChunk);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
