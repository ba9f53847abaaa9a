// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail {

struct HeldLoopTag;

/// A time within a loop's turn in which the loop looked at nothing else.
struct HeldLoop {
  Duration lasted;
  /// Work that began last in this time (TurnTime::note_begun()), or null.
  const void* begun_last;
  /// One piece of work took the time: if `begun_last` is null, none that was noted.
  bool by_one;
};

/// Told by a loop that was held up. Belongs to one loop; leaves it when destroyed. Thread: the loop's.
class HeldLoopWatch : public ListHook<HeldLoopTag> {
 public:
  /// Called in the middle of the loop's work: it notes the fact, and does the rest later.
  virtual void on_held(const HeldLoop& held) noexcept = 0;

 protected:
  ~HeldLoopWatch() = default;
};

}  // namespace weft::detail
