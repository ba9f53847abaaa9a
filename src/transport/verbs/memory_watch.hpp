// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/verbs/landing_pool.hpp"
#include "transport/verbs/limits.hpp"
#include "transport/verbs/receive_pool.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail::verbs_carrier {

/// Looks periodically for unused memory of attachments and receives, and stops when there is none, so that an
/// idle loop is not woken. Thread: the loop's.
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
