// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "load/histogram.hpp"
#include "load/options.hpp"
#include "load/progress.hpp"
#include "load/report.hpp"

namespace weft::load {

/// Counts the calls of one run. Time comes from the caller, in nanoseconds of `now_ns()`.
///
///     start          begin                         end
///     | warm-up      | measuring                   | draining: no new calls
///
/// The rate counts answers that came while measuring. Latency counts the same calls in a closed loop; in an
/// open loop it counts those that were *meant* to start while measuring, the ones answered later included.
/// Thread: the client's loop.
class Meter {
 public:
  Meter(const ClientOptions& options, std::int64_t start_ns);

  /// `times` calls that started (or were meant to) at `started_ns` were answered at `now_ns`.
  void complete(std::int64_t started_ns, std::int64_t now_ns, std::uint64_t times = 1) {
    const bool answered_inside = measuring(now_ns);
    if (answered_inside) completed_ += times;
    if (open_loop_ ? measuring(started_ns) : answered_inside) {
      latency_.record(static_cast<std::uint64_t>(now_ns > started_ns ? now_ns - started_ns : 0), times);
    }
  }
  /// A call that was answered wrongly, or not at all.
  void fail(std::uint64_t times = 1) { errors_ += times; }

  /// Must be called about once per turn of the loop; notices when warm-up and measurement end, and notes the
  /// progress. Returns false once the measurement is over.
  bool tick(std::int64_t now_ns) {
    if (now_ns >= next_tick_ns_) on_tick(now_ns);
    return now_ns < end_ns_;
  }

  /// An open loop could not even start this call before the end; it counts with the age it has reached.
  void never_started(std::int64_t intended_ns) { complete(intended_ns, end_ns_); }

  std::int64_t begin_ns() const { return begin_ns_; }
  std::int64_t end_ns() const { return end_ns_; }
  Report report() const;

 private:
  bool measuring(std::int64_t at_ns) const { return at_ns >= begin_ns_ && at_ns < end_ns_; }
  void on_tick(std::int64_t now_ns);

  bool open_loop_;
  std::uint64_t bytes_per_call_;
  std::int64_t begin_ns_;
  std::int64_t end_ns_;
  std::int64_t next_tick_ns_;
  bool begun_ = false;
  bool ended_ = false;
  std::int64_t cpu_begin_ns_ = 0;
  std::int64_t cpu_end_ns_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t errors_ = 0;
  Histogram latency_;
  Progress progress_;
};

}  // namespace weft::load
