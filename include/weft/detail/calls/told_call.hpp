// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "weft/detail/calls/call_errand.hpp"
#include "weft/detail/runtime/told.hpp"

namespace weft::detail {

/// A call whose caller is on an executor that Weft does not know. The adapter of that executor is told, and
/// takes its coroutine, or whatever waits, from there.
class ToldCall final : public CallErrand {
 public:
  explicit ToldCall(Request request) noexcept : CallErrand(std::move(request)) {}

  /// Sends it, once. `who` stays until it was told, or the call was given up; that may be from within.
  void send_for(Told& who) noexcept;
  /// Cancels it, before or after it was sent. True: nobody will be told, and the call is over for its caller.
  /// False: it has ended, or has memory of the caller's, and then who waits is told as soon as that is back.
  bool give_up(CancelReason reason) noexcept;
  /// Says that a caller which is destroyed must not wait here for memory that the call has: the thread drives
  /// the client's loop, or is that of a child of fork.
  bool is_waited_for_in_vain() const noexcept;

 private:
  void tell() noexcept override { right_.tell(); }

  RightToTell right_;
};

}  // namespace weft::detail
