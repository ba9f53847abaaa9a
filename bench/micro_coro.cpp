// SPDX-License-Identifier: Apache-2.0
// What coroutines cost: making, running and destroying one, waiting and being woken, a channel, a fan-out.
#include <benchmark/benchmark.h>

#include <coroutine>
#include <limits>
#include <utility>

#include "weft/detail/coro/channel.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/coro/yield.hpp"

namespace {

using namespace weft;

void drain(detail::Executor& executor) {
  executor.run_ready(std::numeric_limits<std::size_t>::max());
}

// Not inlined, so that the compiler sees neither the frame nor the result.
[[gnu::noinline]] Task<int> give(int value) {
  co_return value;
}

Task<> await_children(benchmark::State* state) {
  long sum = 0;
  for (auto _ : *state) {
    int value = co_await give(1);
    sum += value;
  }
  benchmark::DoNotOptimize(sum);
}

void make_await_destroy(benchmark::State& state) {
  detail::Executor executor;
  detail::Executor::Enter entered(executor);
  Scope scope;
  scope.spawn(&await_children, &state);
}
BENCHMARK(make_await_destroy);

void make_and_drop(benchmark::State& state) {
  for (auto _ : state) {
    Task<int> task = give(1);
    benchmark::DoNotOptimize(task);
  }
}
BENCHMARK(make_and_drop);

[[gnu::noinline]] Task<> nothing() {
  co_return;
}

void spawn(benchmark::State& state) {
  Scope scope;
  for (auto _ : state) scope.spawn(&nothing);
}
BENCHMARK(spawn);

Task<> yield_forever(benchmark::State* state) {
  for (auto _ : *state) co_await yield();
}

void yield_and_resume(benchmark::State& state) {
  detail::Executor executor;
  detail::Executor::Enter entered(executor);
  Scope scope;
  scope.spawn(&yield_forever, &state);
  drain(executor);
}
BENCHMARK(yield_and_resume);

Task<> push_forever(Channel<int>* channel, benchmark::State* state) {
  for (auto _ : *state) {
    Result<void> pushed = co_await channel->push(1);
    if (!pushed.ok()) break;
  }
  channel->close();
}
Task<> pop_all(Channel<int>* channel) {
  for (;;) {
    Result<int> popped = co_await channel->pop();
    if (!popped.ok()) break;
  }
}

void push_and_pop(benchmark::State& state) {
  detail::Executor executor;
  detail::Executor::Enter entered(executor);
  Channel<int> channel(static_cast<std::size_t>(state.range(0)));
  Scope scope;
  scope.spawn(&push_forever, &channel, &state);
  scope.spawn(&pop_all, &channel);
  drain(executor);
}
BENCHMARK(push_and_pop)->Arg(1)->Arg(64);

Task<> fan_out(benchmark::State* state) {
  for (auto _ : *state) {
    auto both = co_await when_all(give(1), give(2));
    benchmark::DoNotOptimize(both);
  }
}

void when_all_of_two(benchmark::State& state) {
  detail::Executor executor;
  detail::Executor::Enter entered(executor);
  Scope scope;
  scope.spawn(&fan_out, &state);
}
BENCHMARK(when_all_of_two);

}  // namespace

BENCHMARK_MAIN();
