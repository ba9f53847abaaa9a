// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace weft::detail
