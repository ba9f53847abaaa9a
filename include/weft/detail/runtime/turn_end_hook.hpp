// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/intrusive_list.hpp"

namespace weft::detail {

struct TurnEndTag;

/// Something to do once when the turn ends, after its coroutines ran: where a connection sends in one go what
/// they all queued. Queued by Loop::at_turn_end(); leaves the queue when destroyed. Thread: its loop's.
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
  /// Runs all that are queued; those that they queue themselves wait for the next turn, but for last ones
  /// that the others queue. Returns how many ran.
  std::size_t run();

 private:
  using List = IntrusiveList<TurnEndHook, TurnEndTag>;

  static std::size_t run_all(List& hooks);

  List first_;
  List last_;
};

}  // namespace weft::detail
