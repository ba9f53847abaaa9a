// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/time.hpp"
#include "weft/detail/limits/adaptive_limit_options.hpp"

namespace weft::detail {

/// The arithmetic of an adaptive limit, described at AdaptiveLimit, without the count of calls in flight,
/// which the caller passes in. Thread: one at a time.
class LimitController {
 public:
  LimitController(AdaptiveLimitOptions options, TimePoint now) noexcept;

  /// Never below 1. While a probe runs it is the probe's.
  std::uint32_t limit() const noexcept;
  /// Begins or ends a probe whose time has come, with `in_flight` calls that have not ended.
  void tick(TimePoint now, std::uint32_t in_flight) noexcept;
  /// Returns the time from which on tick() does something, if nothing else happens before.
  TimePoint next_tick() const noexcept;
  /// Records a call that took `latency`, and the number of calls still in flight.
  void ended(TimePoint now, Duration latency, std::uint32_t in_flight) noexcept;
  /// Zero before the first probe has ended.
  Duration latency_without_load() const noexcept { return Duration{static_cast<Duration::rep>(unloaded_)}; }

 private:
  struct Sum {
    double nanoseconds = 0;
    std::uint32_t calls = 0;
    double mean() const noexcept { return nanoseconds / calls; }
    void add(double value) noexcept {
      nanoseconds += value;
      ++calls;
    }
  };

  void begin_probe(TimePoint now, std::uint32_t in_flight) noexcept;
  void end_probe(TimePoint now, std::uint32_t in_flight) noexcept;
  void probe(TimePoint now, TimePoint call_began, double latency, std::uint32_t in_flight) noexcept;
  void end_window(TimePoint now, std::uint32_t in_flight) noexcept;
  void begin_window(TimePoint now, std::uint32_t in_flight) noexcept;

  AdaptiveLimitOptions options_;
  double limit_;
  double unloaded_ = 0;
  std::uint32_t most_in_flight_ = 0;  // of the window
  Sum sum_;                           // of the window, or of the probe
  TimePoint window_began_;
  TimePoint probe_at_;  // the next one, or the one that runs
  bool probing_ = false;
  bool probe_drained_ = false;
};

}  // namespace weft::detail
