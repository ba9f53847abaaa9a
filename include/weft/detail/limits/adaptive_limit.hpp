// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "weft/detail/base/time.hpp"
#include "weft/detail/limits/adaptive_limit_options.hpp"
#include "weft/detail/limits/limit_controller.hpp"

namespace weft::detail {

/// Concurrency limit that adapts to the number of calls at which a server works best: where latency rises
/// above the latency without load, calls wait for each other, and more calls only wait longer. A refused
/// caller learns so at once, while the server works at its capacity: under ten times the load that it can
/// bear, it answers as many calls as at its best.
///
/// After each window the limit becomes limit * gradient + sqrt(limit), where the gradient is tolerance *
/// (latency without load) / (mean latency of the window), from 0.5 to 1; the root is the queue that may
/// stand, and the growth per window. The limit grows only while it is used. The latency without load is the
/// mean in a probe: for a few calls the limit is low. A window with a lower mean lowers it at once.
///
/// Source: Vegas (Brakmo, Peterson: TCP Vegas, 1995) compares with the least latency; the gradient and the
/// root are those of Netflix's concurrency-limits, the probe that of Envoy's adaptive concurrency filter.
///
/// Threads share one limit, so that calls which wait for the same resource, such as a pool of workers, are
/// measured together. No thread ever waits for another: calls are counted by one atomic number, and a latency
/// that arrives while another thread changes the limit is left out. Allocates nothing. Thread: any.
class AdaptiveLimit {
 public:
  AdaptiveLimit(AdaptiveLimitOptions options, TimePoint now) noexcept;
  AdaptiveLimit(const AdaptiveLimit&) = delete;
  AdaptiveLimit& operator=(const AdaptiveLimit&) = delete;

  /// Begins a call that leaves `spare` places to others, or refuses it. A call without others in flight
  /// always begins, for any `spare`. Each call that begins ends by ended(), cancelled() or dropped().
  bool try_begin(TimePoint now, std::uint32_t spare = 0) noexcept;
  /// Tells whether try_begin() would refuse a call now.
  bool is_full(TimePoint now, std::uint32_t spare = 0) noexcept;
  /// A call ends that took `latency`.
  void ended(TimePoint now, Duration latency) noexcept;
  /// A call ends because its caller cancelled, after `latency`. It counts as a call of that duration, unless
  /// that does not exceed the latency without load: then it is ignored.
  void cancelled(TimePoint now, Duration latency) noexcept;
  /// A call ends with a duration that must not count, for example because its arguments were refused.
  void dropped() noexcept;

  /// Never below 1. While a probe runs it is the probe's.
  std::uint32_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  std::uint32_t in_flight() const noexcept { return in_flight_.load(std::memory_order_relaxed); }
  /// Zero before the first probe has ended.
  Duration latency_without_load() const noexcept {
    return Duration{unloaded_.load(std::memory_order_relaxed)};
  }

 private:
  /// False when the call leaves fewer than `spare` places beside `in_flight` others.
  bool has_place(std::uint32_t in_flight, std::uint32_t spare) const noexcept {
    return in_flight == 0 || std::uint64_t{in_flight} + spare < limit();
  }
  void tick(TimePoint now) noexcept;
  /// Called with the lock.
  void publish() noexcept;

  std::atomic<std::uint32_t> in_flight_ = 0;
  // What others than the one with the lock may know of the controller.
  std::atomic<std::uint32_t> limit_;
  std::atomic<Duration::rep> unloaded_ = 0;
  std::atomic<Duration::rep> next_tick_;
  std::mutex controlling_;
  LimitController controller_;
};

}  // namespace weft::detail
