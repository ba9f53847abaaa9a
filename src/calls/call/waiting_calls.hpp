// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/call/pending_call.hpp"

namespace weft::detail {

/// Calls that wait at their target, in order of arrival. Allocates nothing.
class WaitingCalls {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  void add(PendingCall& call) {
    calls_.push_back(call);
    ++count_;
  }
  /// `call` waits here, and does so no longer.
  void remove(PendingCall& call) noexcept {
    static_cast<ListHook<TargetCallTag>&>(call).unlink();
    --count_;
  }
  /// Removes the first call. Not when empty.
  PendingCall& take() {
    --count_;
    return calls_.pop_front();
  }
  /// Ends all of them, see PendingCall::fail().
  void fail(Status why) noexcept {
    why.mark_unprocessed();  // once for all of them
    while (!empty()) take().fail(why);
  }

 private:
  IntrusiveList<PendingCall, TargetCallTag> calls_;
  std::size_t count_ = 0;
};

}  // namespace weft::detail
