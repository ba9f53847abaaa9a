// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>

#include "weft/detail/base/random_numbers.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/limits/backoff.hpp"

namespace weft::detail {

/// Time that a client waits before it reconnects: a Backoff that advances with each failed attempt and with
/// each connection that ended before it had lasted for `max`, regardless of its traffic. A connection that
/// lasted resets it to `min`. After a connection, unlike after a failed attempt, up to `spread` is added,
/// because all clients of a server notice its end at the same time. Unless the connection had lasted, the
/// wait is at least kLeast, also where the options ask for none: an attempt may fail without any time
/// passing.
class ReconnectWait {
 public:
  static constexpr Duration kLeast = std::chrono::milliseconds{1};

  ReconnectWait(Duration min, Duration max, Duration spread)
      : lasting_(std::max({min, max, kLeast})), spread_(spread), backoff_(min, max) {}

  void on_connected(TimePoint now) { connected_at_ = now; }
  /// Returns true for a connection that has lasted, from `since` on.
  bool has_lasted(TimePoint since, TimePoint now) const { return now - since >= lasting_; }
  /// Returns the time at which a connection made at `since` has lasted.
  TimePoint lasts_at(TimePoint since) const { return Deadline::after(since, lasting_).at(); }
  /// Returns the wait after an attempt that failed, or after the end of the connection.
  Duration next(TimePoint now, RandomNumbers& random);

 private:
  const Duration lasting_;
  const Duration spread_;
  Backoff backoff_;
  std::optional<TimePoint> connected_at_;
};

}  // namespace weft::detail
