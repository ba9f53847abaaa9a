// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>

#include "weft/base/time.hpp"
#include "weft/detail/runtime/random_numbers.hpp"

namespace weft::detail {

/// How long a client waits before it connects again: from `min` to `max`, doubled with each attempt that
/// failed and with each connection that ended before it had lasted for `max`, whatever the peer did on it
/// meanwhile. One that lasted begins anew with `min`. Jittered, so that clients who lost one server do not
/// meet again.
class ReconnectWait {
 public:
  ReconnectWait(Duration min, Duration max) : min_(min), max_(std::max(min, max)) {}

  void on_connected(TimePoint now) { connected_at_ = now; }
  /// Returns the wait after an attempt that failed, or after the end of the connection.
  Duration next(TimePoint now, RandomNumbers& random);

 private:
  const Duration min_;
  const Duration max_;
  Duration wait_ = Duration::zero();
  std::optional<TimePoint> connected_at_;
};

}  // namespace weft::detail
