// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/verbs/landing_pool.hpp"
#include "transport/verbs/limits.hpp"
#include "transport/verbs/receive_pool.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail::verbs_carrier {

/// Looks now and then for memory that nobody uses any more, of attachments and of receives, until there is
/// nothing to find: a loop at rest is not woken. Thread: its loop's.
class MemoryWatch final : private Timer {
 public:
  MemoryWatch(Loop& loop, ReceivePool& receives, LandingPool& landings) noexcept
      : loop_(loop), receives_(receives), landings_(landings) {}

  /// There may be some later.
  void begin() noexcept {
    if (!armed()) loop_.arm(*this, loop_.now() + kTrimInterval);
  }

 private:
  void on_timer() override {
    const bool receives = receives_.trim();
    const bool landings = landings_.trim(loop_.now());
    if (receives || landings) begin();
  }

  Loop& loop_;
  ReceivePool& receives_;
  LandingPool& landings_;
};

}  // namespace weft::detail::verbs_carrier
