// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "load/histogram.hpp"
#include "load/options.hpp"
#include "load/report.hpp"
#include "weft/weft.hpp"

namespace weft::perf {

/// The point in time that load::now_ns() says as a number.
inline TimePoint time_of(std::int64_t at_ns) {
  return TimePoint{std::chrono::duration_cast<TimePoint::duration>(std::chrono::nanoseconds{at_ns})};
}

/// The load that `options.beside` asks for beside that of `options`: a measurement of its own, for as long.
load::ClientOptions transfer_options(const load::ClientOptions& options);

/// Lateness of a timer: as a server answers it.
struct TimerLateness {
  double p99_us = 0;
  double max_us = 0;

  static TimerLateness of(const load::Histogram& late_ns);
};

/// Sets a timer of a millisecond again and again until `end_ns`, and counts in `late_ns` how late each was
/// that was due from `begin_ns` on. Thread: a loop's. Cancel: it ends.
Task<void> watch_timer(std::int64_t begin_ns, std::int64_t end_ns, load::Histogram* late_ns);

/// Watches a timer of this loop and one of the server's while a measurement runs. Thread: the client's loop.
class TimerWatch {
 public:
  TimerWatch(std::int64_t begin_ns, std::int64_t end_ns) : begin_ns_(begin_ns), end_ns_(end_ns) {}

  /// Both coroutines are in `scope`, which ends before this does. The server's loop is the one that serves
  /// `client`'s connection.
  void start(Scope& scope, Client& client);

  /// The reason for which the server said nothing.
  const Status& failure() const { return failure_; }
  load::BesideReport report() const;

 private:
  static Task<void> ask_server(TimerWatch* watch, Client* client);

  std::int64_t begin_ns_;
  std::int64_t end_ns_;
  load::Histogram late_ns_;
  TimerLateness server_;
  Status failure_;
};

}  // namespace weft::perf
