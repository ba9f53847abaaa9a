// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <stop_token>
#include <utility>

#include "weft/detail/calls/call_errand.hpp"
#include "weft/detail/runtime/thread_signal.hpp"

namespace weft::detail {

/// A call whose caller blocks its thread until it has the answer.
class BlockedCall final : public CallErrand {
 public:
  explicit BlockedCall(Request request) noexcept : CallErrand(std::move(request)) {}

  /// Fails, with words, on a thread that must not block for `door`'s loop: that loop's own, and one that is
  /// inside a turn of any loop.
  static Status check_thread(const CallDoor& door) noexcept;

  /// Blocks until the loop has told, and returns the call's failure. It does not wait for a loop that does
  /// not turn, nor for one that hears late of a stop that `stop` asks for: unless the call has memory of the
  /// caller's, which only the loop can give back. After send(), once.
  Status wait(const std::stop_token& stop) noexcept;
  /// Cancels the call; blocks only while it has memory of the caller's.
  void abandon() noexcept;

 private:
  bool is_in_child() const noexcept;
  void tell() noexcept override {
    told_.store(true, std::memory_order_release);
    goes_on_.raise();
  }

  std::atomic<bool> told_{false};
  /// Raised by the loop, or by the stop of a caller who need not wait for the loop.
  ThreadSignal goes_on_;
};

}  // namespace weft::detail
