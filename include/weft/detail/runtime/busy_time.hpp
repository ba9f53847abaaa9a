// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "weft/detail/base/time.hpp"
#include "weft/detail/runtime/clock.hpp"

namespace weft::detail {

/// The time that a loop was not asleep. Thread: the loop's, except where stated.
///
/// One word holds the state, so that a reader sees no half of a change: the lowest bit is set while the loop
/// is awake. The other bits are the busy time then without the present moment, and otherwise the busy time.
class BusyTime {
 public:
  bool is_awake() const noexcept { return (word_.load(std::memory_order_relaxed) & 1) != 0; }
  /// The loop goes on; it was asleep.
  void wake(TimePoint now) noexcept { put(busy() - count(now), 1); }
  /// The loop falls asleep; it was awake, and `now` is not before the wake().
  void sleep(TimePoint now) noexcept { put(busy() + count(now), 0); }
  /// Returns the time up to the present of `clock`, whose readings wake() and sleep() get. Reads the clock
  /// between two equal readings of the state: otherwise the time could be negative, or count time asleep.
  /// Thread: any.
  Duration until(Clock& clock) const noexcept {
    std::int64_t word = word_.load(std::memory_order_acquire);
    while ((word & 1) != 0) {
      const TimePoint now = clock.now();
      const std::int64_t again = word_.load(std::memory_order_acquire);
      if (again == word) return Duration{(word >> 1) + count(now)};
      word = again;
    }
    return Duration{word >> 1};
  }

 private:
  static std::int64_t count(TimePoint time) noexcept { return time.time_since_epoch().count(); }
  std::int64_t busy() const noexcept { return word_.load(std::memory_order_relaxed) >> 1; }
  void put(std::int64_t time, std::int64_t awake) noexcept {
    word_.store(time * 2 + awake, std::memory_order_release);
  }

  std::atomic<std::int64_t> word_ = 0;
};

}  // namespace weft::detail
