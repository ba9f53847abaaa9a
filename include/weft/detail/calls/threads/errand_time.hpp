// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/runtime/clock.hpp"

namespace weft::detail {

/// The deadline of a call from another thread, which counts from the creation of the call. If only the loop
/// may read the clock, the timeout counts from when the loop begins the call.
class ErrandTime {
 public:
  /// Turns the timeout of `options` into a deadline. `clock` may be null; `usual` is the client's timeout.
  ErrandTime(Clock* clock, Duration usual, CallOptions& options) noexcept
      : limit_(options.deadline), is_read_here_(clock != nullptr) {
    if (clock == nullptr) return;
    const TimePoint now = clock->now();
    if (options.timeout == Duration::zero()) {
      made_at_ = now;
      usual_end_ = Deadline::after(now, usual);
    } else if (options.timeout != kNoTimeout) {
      limit(Deadline::after(now, std::max(options.timeout, Duration::zero())));
      options.timeout = kNoTimeout;
    }
  }

  void limit(Deadline deadline) noexcept { limit_ = limit_.earlier(deadline); }
  /// Moment by which the call should have ended, by the system's clock; infinite without a limit, or when the
  /// loop has another clock.
  Deadline expected_by() const noexcept {
    return is_read_here_ ? limit_.earlier(usual_end_) : Deadline::infinite();
  }
  /// The deadline of a call that the loop begins `now`. A call that arrives at once gets the client's full
  /// default timeout, which CallTimeouts serves; a late one gets the remaining time.
  Deadline on_loop(TimePoint now) const noexcept {
    constexpr Duration kLate = std::chrono::milliseconds{1};
    return usual_end_.is_infinite() || now - made_at_ < kLate ? limit_ : expected_by();
  }

 private:
  Deadline limit_;
  bool is_read_here_;
  Deadline usual_end_;
  TimePoint made_at_{};
};

}  // namespace weft::detail
