// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Bounds the time for which delivered data has waited. The time of its arrival is unknown. But it arrived
/// after the receive queue was last empty; and once as many bytes as a base carrier can hold were received
/// since some time, all data that follows arrived after that time.
class Backlog {
 public:
  /// The loop heard at `now` that there is something to receive; at `empty_at` there was surely nothing.
  void begin(TimePoint now, TimePoint empty_at) noexcept {
    since_ = mark_ = now;
    empty_at_ = std::min(empty_at, now);
    bytes_ = 0;
  }
  /// Counts bytes that were received. True when they are as much as a base carrier holds: mark() follows.
  bool received(std::size_t bytes) noexcept {
    bytes_ += bytes;
    return bytes_ >= kBaseCarrierHoldsAtMost;
  }
  /// Sets a mark: bytes that arrive from now on were sent after the previous mark.
  void mark(TimePoint now) noexcept {
    bytes_ = 0;
    since_ = empty_at_ = std::exchange(mark_, now);
  }
  TimePoint since() const noexcept { return since_; }
  /// Returns the time at which there was surely nothing to receive, never after since().
  TimePoint empty_at() const noexcept { return empty_at_; }

 private:
  // On its way to this side, and not received: more than the buffers of the kernels grow to by themselves.
  static constexpr std::size_t kBaseCarrierHoldsAtMost = 8 * 1024 * 1024;

  TimePoint since_{};
  TimePoint empty_at_{};
  /// Time of the last mark; bytes received since then were sent after `since_`.
  TimePoint mark_{};
  std::size_t bytes_ = 0;
};

}  // namespace weft::detail
