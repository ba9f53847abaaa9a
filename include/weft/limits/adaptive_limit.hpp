// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/base/time.hpp"

namespace weft {

struct AdaptiveLimitOptions {
  /// Limit that is there at first. From 1 to `limit_max`.
  std::uint32_t limit_initial = 32;
  std::uint32_t limit_max = 10'000;
  /// Latency that is still taken for that of a server without a queue, as a multiple of the latency without
  /// load; above 1. More lets a longer queue stand, and less gives goodput away where latencies vary.
  double tolerance = 1.5;
  /// The limit changes once in so long, at most; above zero.
  Duration window = std::chrono::milliseconds{100};
  /// Calls that a window must have seen to end; above zero.
  std::uint32_t window_calls_min = 10;
  /// The latency without load is measured again each time that this has passed.
  Duration probe_interval = std::chrono::seconds{30};
  /// Limit while it is measured, if the limit is not lower; above zero.
  std::uint32_t probe_limit = 4;
  /// Calls that it is measured by; above zero.
  std::uint32_t probe_calls = 25;
  /// Time after which a probe ends with the calls that it has seen; above zero. With none, as while the
  /// server stands still, what was measured before stays.
  Duration probe_time_max = std::chrono::seconds{2};
};

/// Concurrency limit that finds by itself how many calls a server works on best: where latency rises above
/// that without load, calls are waiting for each other, and more of them only wait longer. Whoever is refused
/// by it learns so at once, while the server does what it can: under ten times the load it can bear, it
/// answers as much as at its best.
///
/// After each window the limit becomes limit * gradient + sqrt(limit), where the gradient is
/// tolerance * (latency without load) / (mean latency of the window), from 0.5 to 1; the root is the queue
/// that may stand, and what the limit grows by. It grows only while it is used. The latency without load is
/// the mean in a probe: for a few calls the limit is low. A window with a lower mean lowers it at once.
///
/// Source: Vegas (Brakmo, Peterson: TCP Vegas, 1995) compares with the least latency; the gradient and the
/// root are those of Netflix's concurrency-limits, the probe that of Envoy's adaptive concurrency filter.
/// Takes no memory. Thread: one at a time.
class AdaptiveLimit {
 public:
  AdaptiveLimit(AdaptiveLimitOptions options, TimePoint now) noexcept;

  /// Begins a call, or refuses it. Each that begins ends by ended() or by dropped().
  bool try_begin(TimePoint now) noexcept;
  /// A call ends that took `latency`, whether it succeeded or ran out of its time.
  void ended(TimePoint now, Duration latency) noexcept;
  /// A call ends whose time says nothing, such as one that was refused for its arguments.
  void dropped() noexcept;

  /// Never below 1. While a probe runs it is the probe's.
  std::uint32_t limit() const noexcept;
  std::uint32_t in_flight() const noexcept { return in_flight_; }
  /// Returns the latency without load as measured last; zero before the first probe has ended. Whoever is
  /// refused may well be told to wait for so long.
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

  void begin_probe(TimePoint now) noexcept;
  void end_probe(TimePoint now) noexcept;
  void probe(TimePoint now, TimePoint began, double latency) noexcept;
  void end_window(TimePoint now) noexcept;
  void begin_window(TimePoint now) noexcept;

  AdaptiveLimitOptions options_;
  double limit_;
  double unloaded_ = 0;
  std::uint32_t in_flight_ = 0;
  std::uint32_t most_in_flight_ = 0;  // of the window
  Sum sum_;                           // of the window, or of the probe
  TimePoint window_began_;
  TimePoint probe_at_;  // the next one, or the one that runs
  bool probing_ = false;
  bool probe_drained_ = false;
};

}  // namespace weft
