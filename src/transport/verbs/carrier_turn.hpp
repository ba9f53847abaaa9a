// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "weft/detail/base/status.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::verbs_carrier {

struct StarvedTag;

/// Schedules the turn in which a carrier notifies its owner, and holds a failure until then.
///
///   quiet --touch()--> scheduled --the loop's turn--> quiet      close() from both: no notification follows it
///
/// A completion handler never notifies the owner; it records the event and calls touch(). Thread: the loop's.
class CarrierTurn : public Ready, public ListHook<StarvedTag> {
 public:
  /// `run` gets this.
  CarrierTurn(Loop& loop, Run run) noexcept : Ready(run), loop_(loop) {}
  CarrierTurn(const CarrierTurn&) = delete;
  CarrierTurn& operator=(const CarrierTurn&) = delete;

  void touch() noexcept {
    if (!closed_ && !is_scheduled()) loop_.schedule(*this);
  }
  /// Calls `hook` when the connections have sent what the turn queued.
  void at_turn_end(TurnEndHook& hook) noexcept { loop_.at_turn_end(hook, true); }
  /// The carrier is of no further use. The first reason is kept.
  void fail(Status why) noexcept {
    if (failure_.ok()) failure_ = std::move(why);
    touch();
  }
  bool failed() const noexcept { return !failure_.ok(); }
  const Status& failure() const noexcept { return failure_; }
  void close() noexcept {
    closed_ = true;
    loop_.unschedule(*this);
    ListHook<StarvedTag>::unlink();
  }
  bool closed() const noexcept { return closed_; }

 private:
  Loop& loop_;
  Status failure_;
  bool closed_ = false;
};

}  // namespace weft::detail::verbs_carrier
