// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

class PendingCall;
/// The list of its target that a call is in: the waiting calls while it waits, the timeouts afterwards.
struct TargetCallTag;

/// Enforces the default timeout of a target's calls. All of them have the same timeout, so they expire in the
/// order in which they were sent: each call needs only a place in a list, and one timer serves all. A call
/// that has ended may stay in the list until its timeout expires. Thread: the loop's.
class CallTimeouts final : private Timer {
 public:
  /// `timeout` may be kNoTimeout. With `plain` false it serves no calls: each call needs individual work at
  /// its beginning, which the path for served calls does not check for.
  CallTimeouts(Loop& loop, Duration timeout, bool plain = true);
  ~CallTimeouts() = default;

  /// Returns true if add() serves calls without a timeout of their own. False if there is no timeout, if
  /// calls are not plain, or if the timeout does not fit in a request's field; each call then uses a timer of
  /// its own.
  bool serves() const { return wire_timeout_ != 0; }
  Duration timeout() const { return timeout_; }
  /// The timeout as encoded in a request's header, in microseconds; only if serves().
  std::uint32_t wire_timeout() const { return wire_timeout_; }
  /// Deadline of a call that begins now; only if serves().
  Deadline from_now() const {
    return Deadline{(timeout_ >= kLongTimeout ? loop_.now() : loop_.read_clock()) + timeout_};
  }
  /// Cancels `call` when its timeout expires, never before. It may be cancelled late if it was added behind a
  /// call with a later deadline, by the difference between the two clock readings within a turn.
  void add(PendingCall& call);
  /// Forgets the calls that are still in the list; all of them have ended.
  void forget_all() noexcept;

 private:
  /// Timeouts of at least this length count from the beginning of the loop's turn, so that a call with the
  /// default timeout need not read the clock. The duration of a turn is negligible in comparison.
  static constexpr Duration kLongTimeout = std::chrono::seconds{5};

  void on_timer() override;

  Loop& loop_;
  const Duration timeout_;
  const std::uint32_t wire_timeout_;
  IntrusiveList<PendingCall, TargetCallTag> calls_;
};

}  // namespace weft::detail
