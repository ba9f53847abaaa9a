// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

class CallTarget;

/// Weak reference to a CallTarget for calls from other threads. It is shared and may outlive the target: it
/// is closed when the target ends, and refuses later calls with a status.
class CallDoor {
 public:
  /// `target` closes this when it ends.
  explicit CallDoor(CallTarget& target);
  /// Makes a reference that is closed from the beginning: calls fail with `why`.
  explicit CallDoor(Status why) noexcept : closed_(std::move(why)) {}
  CallDoor(const CallDoor&) = delete;
  CallDoor& operator=(const CallDoor&) = delete;

  /// The loop's mailbox; null when there never was a target. Thread: any, as for all const functions.
  const std::shared_ptr<Mailbox>& mailbox() const noexcept { return mailbox_; }
  /// The default timeout of calls; kNoTimeout: none.
  Duration timeout() const noexcept { return timeout_; }
  bool carries_metadata() const noexcept { return carries_metadata_; }
  /// The clock of the target's loop if it is the system's, which any thread may read at any time. Null if it
  /// is a user's clock, which may be destroyed with its loop.
  Clock* clock() const noexcept { return clock_; }

  /// Null when the target has ended. Thread: the loop's.
  CallTarget* target() const noexcept { return target_; }
  /// Returns the reason why calls are refused. Thread: the loop's; any, if there never was a target.
  const Status& closed() const noexcept { return closed_; }
  /// The same for any thread. Returns ok if this thread has not yet seen the target close.
  Status why_closed() const noexcept {
    return is_closed_.load(std::memory_order_acquire) ? closed_ : Status{};
  }
  /// Cancels the pending calls that came through this reference, and refuses later ones with `why`. Thread:
  /// the loop's.
  void close(Status why) noexcept;

 private:
  CallTarget* target_ = nullptr;
  std::shared_ptr<Mailbox> mailbox_;
  Clock* clock_ = nullptr;
  Duration timeout_ = kNoTimeout;
  bool carries_metadata_ = false;
  Status closed_;
  std::atomic<bool> is_closed_{false};
};

}  // namespace weft::detail
