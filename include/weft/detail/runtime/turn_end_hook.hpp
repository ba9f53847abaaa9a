// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/intrusive_list.hpp"

namespace weft::detail {

struct TurnEndTag;

/// An action at the end of the turn, after its coroutines ran: a connection sends there, in one call, all
/// frames that they queued. Queued by Loop::at_turn_end(); leaves the queue when destroyed. Thread: the
/// loop's.
class TurnEndHook : public ListHook<TurnEndTag> {
 public:
  virtual void on_turn_end() = 0;
  bool queued() const noexcept { return linked(); }

 protected:
  ~TurnEndHook() = default;
};

/// Hooks that run at the end of a turn, in the order in which they were queued, the last ones behind the
/// others.
class TurnEndHooks {
 public:
  bool empty() const noexcept { return first_.empty() && last_.empty(); }
  void add(TurnEndHook& hook, bool last) noexcept { (last ? last_ : first_).push_back(hook); }
  /// Runs all queued hooks; hooks that these queue wait for the next turn, except last ones queued by the
  /// others. Returns the number of hooks that ran.
  std::size_t run();

 private:
  using List = IntrusiveList<TurnEndHook, TurnEndTag>;

  static std::size_t run_all(List& hooks);

  List first_;
  List last_;
};

}  // namespace weft::detail
