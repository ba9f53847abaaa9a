// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <chrono>

#include "weft/detail/base/time.hpp"

namespace weft::testing {

/// Use that the calling thread has made of the processor so far. How long a thing took says less on a machine
/// that has others to run: what it did and how often it stood still is the thing's own.
struct ThreadUse {
  Duration worked{};
  /// Times that it slept until something happened.
  long waits = 0;

  static ThreadUse now() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    rusage all{};
    ::getrusage(RUSAGE_THREAD, &all);
    return {std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec}, all.ru_nvcsw};
  }
  ThreadUse since(const ThreadUse& before) const { return {worked - before.worked, waits - before.waits}; }
};

}  // namespace weft::testing
