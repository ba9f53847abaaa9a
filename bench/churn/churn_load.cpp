// SPDX-License-Identifier: Apache-2.0
#include "churn/churn_load.hpp"

#include <algorithm>
#include <chrono>
#include <weft/detail/runtime/sleep.hpp>

namespace weft::churn {

namespace {

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1};
}

}  // namespace

std::uint32_t twice(std::uint32_t number) {
  return number * 2;
}

Task<void> ChurnLoad::pace(ChurnLoad* load, double rate) {
  load::Schedule schedule{rate, now_ns()};
  while (!load->stopped()) {
    while (schedule.due(now_ns())) {
      load->scope_.spawn(&ChurnLoad::call_once, load, load->kind_.load(std::memory_order_relaxed),
                         schedule.take());
    }
    auto pause = sleep_until(TimePoint{std::chrono::nanoseconds{schedule.next_ns()}});
    Result<void> slept = co_await pause;
    if (!slept.ok()) co_return;
  }
}

void ChurnLoad::call_by(std::size_t callers) {
  for (std::size_t i = 0; i < callers; ++i) scope_.spawn(&ChurnLoad::call_on, this);
}

Task<void> ChurnLoad::call_on(ChurnLoad* load) {
  while (!load->stopped()) {
    Task<void> call = call_once(load, load->kind_.load(std::memory_order_relaxed), now_ns());
    co_await std::move(call);
  }
}

Task<void> ChurnLoad::call_once(ChurnLoad* load, std::size_t kind, std::int64_t meant_at_ns) {
  Outcomes& outcomes = load->outcomes_[kind];
  ++outcomes.begun;
  const std::uint32_t number = load->number_++;
  auto call = load->fleet_.call<twice_again>(number);
  Result<std::uint32_t> answer = co_await std::move(call);
  if (answer.ok() && *answer == number * 2) {
    ++outcomes.answered;
    outcomes.latencies.record(static_cast<std::uint64_t>(std::max<std::int64_t>(now_ns() - meant_at_ns, 0)));
  } else if (outcomes.failed++ == 0) {
    outcomes.failure = answer.ok() ? "a wrong answer" : answer.status().to_string();
  }
  load->ended_.fetch_add(1, std::memory_order_relaxed);
  load->ended_.notify_all();
}

void ChurnLoad::blocking_wait_for(std::uint64_t more) const {
  std::uint64_t ended = ended_.load(std::memory_order_relaxed);
  const std::uint64_t goal = ended + more;
  while (ended < goal) {
    ended_.wait(ended, std::memory_order_relaxed);
    ended = ended_.load(std::memory_order_relaxed);
  }
}

Task<void> ChurnLoad::join() {
  Scope::JoinAwaiter joined = scope_.join();
  co_await joined;
}

}  // namespace weft::churn
