// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "weft/detail/base/counter.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/method_stats.hpp"

namespace weft::detail {

/// Durations and bytes of the calls of one method on one loop. Changed on that loop, read on any thread:
/// plain loads and stores. The histogram of a code is made for its first call, and stays.
class MethodTimes {
 public:
  MethodTimes() = default;
  MethodTimes(const MethodTimes&) = delete;
  MethodTimes& operator=(const MethodTimes&) = delete;
  ~MethodTimes();

  void received(std::uint64_t bytes) noexcept { bytes_received_.add(static_cast<std::int64_t>(bytes)); }
  void sent(std::uint64_t bytes) noexcept { bytes_sent_.add(static_cast<std::int64_t>(bytes)); }
  /// Counts `calls` that ended with `code`, each of them after `duration`; of their sum `waited` passed
  /// before their handlers began. Without memory for a histogram they are in the sums only.
  void ended(StatusCode code, Duration duration, std::uint64_t calls, Duration waited) noexcept;
  /// Returns true if a sample may be kept of a call that ended with `code` at `now`: once a second. Without
  /// memory none may.
  [[gnu::cold]] bool may_sample(StatusCode code, TimePoint now) noexcept;
  /// Throws std::bad_alloc.
  void add_to(MethodStats& stats) const;

 private:
  struct Histogram {
    std::array<Counter, LatencyHistogram::kBounds + 1> counts;
    /// Sum in nanoseconds.
    Counter sum;
    /// Time from which on the next sample may be kept.
    TimePoint sample_from{};
  };

  Histogram* need(StatusCode code) noexcept;

  Counter bytes_received_;
  Counter bytes_sent_;
  /// Sum in nanoseconds.
  Counter waited_;
  Counter ran_;
  std::array<std::atomic<Histogram*>, kStatusCodes> codes_{};
};

/// The MethodTimes of a method, made for its first call. need() is for one thread, find() for any.
class OwnedMethodTimes {
 public:
  OwnedMethodTimes() = default;
  OwnedMethodTimes(const OwnedMethodTimes&) = delete;
  OwnedMethodTimes& operator=(const OwnedMethodTimes&) = delete;
  ~OwnedMethodTimes() { delete times_.load(std::memory_order_relaxed); }

  /// Null when there is no memory.
  MethodTimes* need() noexcept {
    MethodTimes* const times = times_.load(std::memory_order_relaxed);
    return times != nullptr ? times : make();
  }
  const MethodTimes* find() const noexcept { return times_.load(std::memory_order_acquire); }

 private:
  MethodTimes* make() noexcept;

  std::atomic<MethodTimes*> times_ = nullptr;
};

}  // namespace weft::detail
