// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/fleet/fleet_options.hpp"
#include "weft/detail/runtime/told_task.hpp"

namespace weft::detail {

class FleetCore;

/// Waits on threads without a loop for calls of a fleet, which are coroutines of its loop. Knows what stays
/// when the fleet has ended. Thread: any.
class WayToFleet {
 public:
  explicit WayToFleet(const FleetCore& core);

  const std::shared_ptr<Mailbox>& mailbox() const noexcept { return mailbox_; }
  /// Fails, with words, on a thread that must not block for the fleet's loop: that loop's own, and one that
  /// is inside a turn of any loop.
  Status check_thread() const noexcept;
  /// Hands `call` to the loop and blocks until it has ended, ok, or need not be waited for any longer, and
  /// then says why: `stop` was asked to stop, or the loop does not turn. A call with memory that its options
  /// name is waited for in any case. Throws std::bad_alloc.
  Status wait(ToldTask& call, const FleetCallOptions& options, const std::stop_token& stop) const;

 private:
  std::shared_ptr<Mailbox> mailbox_;
  /// Default timeout of calls.
  Duration timeout_;
  /// The loop has the system's clock, by which this thread may wait.
  bool has_system_clock_;
};

}  // namespace weft::detail
