// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "load/cpu.hpp"
#include "load/meter.hpp"

namespace weft::neighbours {

/// Counts of all callers and streams of one client. Thread: any, as gRPC calls back on its own.
struct Shared {
  explicit Shared(const load::ClientOptions& options) : meter(options, load::now_ns()) {}

  /// Counts one answer or item. Returns false when the measurement is over.
  bool count(bool intact, std::int64_t started_ns, std::int64_t now_ns) {
    const std::lock_guard lock(mutex);
    if (intact) {
      meter.complete(started_ns, now_ns);
    } else {
      meter.fail();
    }
    return meter.tick(now_ns);
  }

  void fail(std::uint64_t times = 1) {
    const std::lock_guard lock(mutex);
    meter.fail(times);
  }

  /// Says that a caller or stream has come to its end, and touches nothing of it from then on.
  void end_one() {
    const std::lock_guard lock(mutex);
    if (--running == 0) ended.notify_one();
  }

  std::mutex mutex;
  std::condition_variable ended;
  load::Meter meter;
  /// Callers and streams that did not end yet.
  unsigned running = 0;
};

}  // namespace weft::neighbours
