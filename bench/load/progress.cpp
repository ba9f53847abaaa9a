// SPDX-License-Identifier: Apache-2.0
#include "load/progress.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace weft::load {
namespace {

constexpr std::chrono::milliseconds kBetween{200};

// A thread inherits the processor that the measured one is pinned to.
void run_anywhere() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace

Progress::Progress(double seconds) : seconds_(seconds) {
  if (seconds > 2 && isatty(STDERR_FILENO) == 1) writer_ = std::thread{[this] { run(); }};
}

Progress::~Progress() {
  clear();
}

void Progress::run() {
  run_anywhere();
  std::unique_lock lock{mutex_};
  while (!ended_.wait_for(lock, kBetween, [this] { return ends_; })) show();
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

void Progress::show() const {
  const double elapsed = static_cast<double>(elapsed_ns_.load(std::memory_order_relaxed)) / 1e9;
  if (elapsed < 0) {
    std::fprintf(stderr, "\r\033[Kwarming up, %.1f s left", -elapsed);
  } else {
    const auto calls = static_cast<double>(calls_.load(std::memory_order_relaxed));
    std::fprintf(stderr, "\r\033[Kmeasuring: %.1f of %.1f s, %.0f calls/s, %llu errors",
                 std::min(elapsed, seconds_), seconds_, elapsed > 0 ? calls / elapsed : 0,
                 static_cast<unsigned long long>(errors_.load(std::memory_order_relaxed)));
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (!writer_.joinable()) return;
  {
    const std::lock_guard lock{mutex_};
    ends_ = true;
  }
  ended_.notify_all();
  writer_.join();
}

}  // namespace weft::load
