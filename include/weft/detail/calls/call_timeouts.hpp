// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

class PendingCall;
/// List of its target that a call sits in: while it waits that of waiting calls, afterwards that of timeouts.
struct TargetCallTag;

/// The default timeout of a target's calls. All of them have the same, so the order in which they were sent
/// is the order in which their time is over: a call costs a place in a list, and one timer serves all. A call
/// that has ended may stay in the list until its time is over. Thread: the loop's.
class CallTimeouts final : private Timer {
 public:
  /// `timeout` may be kNoTimeout. Where calls are not `plain` it serves none: each has something of its own
  /// to do at its beginning, which is not looked for at those that are served.
  CallTimeouts(Loop& loop, Duration timeout, bool plain = true);
  ~CallTimeouts() = default;

  /// Says whether calls without a timeout of their own are served by add(). False for none, for calls that
  /// are not plain, and for one that does not fit in a request's field; that is as good as the call's own.
  bool serves() const { return wire_timeout_ != 0; }
  Duration timeout() const { return timeout_; }
  /// The same as a request's header has it, in microseconds; only if it serves().
  std::uint32_t wire_timeout() const { return wire_timeout_; }
  /// End of the time of a call that begins now; only if it serves().
  Deadline from_now() const {
    return Deadline{(timeout_ >= kLongTimeout ? loop_.now() : loop_.read_clock()) + timeout_};
  }
  /// Cancels `call` when its time is over, and never before; later by as much as it was added behind one that
  /// ends later, which clocks that are read at different moments of a turn may differ by.
  void add(PendingCall& call);
  /// The calls have ended: forgets those that are still in the list.
  void forget_all() noexcept;

 private:
  /// A timeout from this length on counts from the beginning of the loop's turn, so that a call that says
  /// nothing of time need not read the clock: no turn takes a part of it that anybody would notice.
  static constexpr Duration kLongTimeout = std::chrono::seconds{5};

  void on_timer() override;

  Loop& loop_;
  const Duration timeout_;
  const std::uint32_t wire_timeout_;
  IntrusiveList<PendingCall, TargetCallTag> calls_;
};

}  // namespace weft::detail
