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

/// Way to a CallTarget for calls of other threads. They share it with the target and may keep it longer: the
/// door of a target that has ended is closed, and calls through it are refused with a status.
class CallDoor {
 public:
  /// `target` closes it at its end.
  explicit CallDoor(CallTarget& target);
  /// Is closed from the beginning: calls fail with `why`.
  explicit CallDoor(Status why) noexcept : closed_(std::move(why)) {}
  CallDoor(const CallDoor&) = delete;
  CallDoor& operator=(const CallDoor&) = delete;

  /// The loop's mailbox; null when there never was a target. Thread: any, like all that is const.
  const std::shared_ptr<Mailbox>& mailbox() const noexcept { return mailbox_; }
  /// The time of calls that say nothing of it; kNoTimeout: none.
  Duration timeout() const noexcept { return timeout_; }
  bool carries_metadata() const noexcept { return carries_metadata_; }
  /// The clock of the target's loop, where it is the system's, which any thread may read at any time; a
  /// user's own may end with its loop. Else null.
  Clock* clock() const noexcept { return clock_; }

  /// Null when the target has ended. Thread: the loop's.
  CallTarget* target() const noexcept { return target_; }
  /// Says why calls are refused. Thread: the loop's; any, when there never was a target.
  const Status& closed() const noexcept { return closed_; }
  /// The same for any thread: ok when the door is open, as far as this thread has heard.
  Status why_closed() const noexcept {
    return is_closed_.load(std::memory_order_acquire) ? closed_ : Status{};
  }
  /// Ends the calls that came this way, which the target has ended; others will be refused with `why`.
  /// Thread: the loop's.
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
