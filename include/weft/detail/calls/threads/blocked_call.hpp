// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <stop_token>
#include <utility>

#include "weft/detail/calls/threads/call_errand.hpp"
#include "weft/detail/runtime/thread_signal.hpp"

namespace weft::detail {

/// A call whose caller blocks its thread until it has the answer.
class BlockedCall final : public CallErrand {
 public:
  explicit BlockedCall(Request request) noexcept : CallErrand(std::move(request)) {}

  /// Fails, with words, on a thread that must not block for `door`'s loop: that loop's own, and one that is
  /// inside a turn of any loop.
  static Status check_thread(const CallDoor& door) noexcept;

  /// Blocks until the loop has reported the end, and returns the call's failure. Does not wait for a loop
  /// that is blocked, nor after a stop request on `stop` to which the loop responds late, unless the call
  /// uses memory of the caller's, which only the loop can return. Call once, after send().
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
