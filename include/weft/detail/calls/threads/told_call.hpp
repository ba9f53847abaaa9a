// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "weft/detail/calls/threads/call_errand.hpp"
#include "weft/detail/runtime/told.hpp"

namespace weft::detail {

/// A call from an executor that Weft does not know. The adapter of that executor is notified, and resumes its
/// coroutine, or another kind of waiter.
class ToldCall final : public CallErrand {
 public:
  explicit ToldCall(Request request) noexcept : CallErrand(std::move(request)) {}

  /// Sends the call, once. `who` must stay valid until it was notified, possibly from within this function,
  /// or the call was abandoned.
  void send_for(Told& who) noexcept;
  /// Cancels the call, before or after it was sent. Returns true if the caller will not be notified, and the
  /// call is over for it. Returns false if the call has ended, or uses memory of the caller's; the caller is
  /// then notified as soon as that memory is returned.
  bool give_up(CancelReason reason) noexcept;
  /// Returns true if the destructor of the caller must not wait here for memory that the call uses: this
  /// thread drives the client's loop, or belongs to a child of fork.
  bool is_waited_for_in_vain() const noexcept;

 private:
  void tell() noexcept override { right_.tell(); }

  RightToTell right_;
};

}  // namespace weft::detail
