// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "weft/detail/base/log.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/calls/server/loop_state_kind.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

using LoopStateKinds = std::vector<std::unique_ptr<LoopStateKind>>;

/// Objects of the user's on one loop of a server, one of each kind, from before it serves until after its
/// last handler. One coroutine makes them, waits, and ends them, so that their end needs no memory that is
/// not there yet.
///
///   (new) --begin()--> making --made--> kept --end()--> ending --ended--> (gone)
///                        `---a failure---> ending ------made, with it--> (gone)
///
/// Thread: the loop's, inside a turn; made and destroyed anywhere while it is new or gone.
class LoopStates final : private Completion, private Timer {
 public:
  /// All outlive this. `logger` reports when the end takes long.
  LoopStates(Loop& loop, const LoopStateKinds& kinds, Logger& logger);
  ~LoopStates() { WEFT_ASSERT(empty(), "the states of a loop end before their server"); }
  LoopStates(const LoopStates&) = delete;
  LoopStates& operator=(const LoopStates&) = delete;

  /// New, or gone.
  bool empty() const noexcept { return !task_; }
  /// Makes one of each kind, in order. `made` is called once, with the failure that ended it: none is left
  /// then.
  void begin(UniqueFunction<void(const Status&)> made) noexcept;
  /// Ends them in the opposite order. `ended` is called once when none is left; at once when there is none.
  void end(UniqueFunction<void()> ended) noexcept;

 private:
  static void task_ended(Completion& self, TaskPromiseBase& task) noexcept;
  Task<void> live();
  Task<Status> make(LoopStateKind& kind);
  void on_timer() override;

  Loop& loop_;
  const LoopStateKinds& kinds_;
  Logger& logger_;
  std::vector<std::unique_ptr<LoopState>> states_;
  UniqueFunction<void(const Status&)> made_;
  UniqueFunction<void()> ended_;
  Status failure_;
  Event end_wanted_;
  Task<void> task_;
};

}  // namespace weft::detail
