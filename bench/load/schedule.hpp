// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::load {

/// Times at which the calls of an open loop are meant to start: evenly, `rate` per second from `start_ns` on.
///
/// A call that starts late because its forerunners were slow still counts from its intended start. Otherwise
/// a server that stops for a second would spoil one measured call instead of all those that would have
/// been made meanwhile (coordinated omission).
class Schedule {
 public:
  Schedule(double rate, std::int64_t start_ns) : interval_ns_(1e9 / rate), start_ns_(start_ns) {}

  /// Returns when the next call is meant to start. Computed from the first one, so that no rounding adds up.
  std::int64_t next_ns() const {
    return start_ns_ + static_cast<std::int64_t>(static_cast<double>(taken_) * interval_ns_);
  }
  bool due(std::int64_t now_ns) const { return next_ns() <= now_ns; }
  /// Returns how many calls each of `sharers` has to start now; 0 when none is due.
  unsigned due_count(std::int64_t now_ns, std::size_t sharers) const {
    if (!due(now_ns)) return 0;
    const double waiting = static_cast<double>(now_ns - next_ns()) / interval_ns_;
    return static_cast<unsigned>(std::min(waiting / static_cast<double>(sharers), 1e6)) + 1;
  }
  /// Takes the next call out of the schedule and says when it is meant to start.
  std::int64_t take() {
    const std::int64_t intended = next_ns();
    ++taken_;
    return intended;
  }

 private:
  double interval_ns_;
  std::int64_t start_ns_;
  std::uint64_t taken_ = 0;
};

}  // namespace weft::load
