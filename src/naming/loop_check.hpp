// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/runtime/client_end.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

/// Refusal of a function of this layer on a thread that does not run the loop of its watch or registration.
inline constexpr FixedFailure kOffTheLoop{
    StatusCode::kFailedPrecondition, Layer::kRuntime, Retry::kNever,
    "a name is watched or registered on the thread of its loop only: call this in loop.post(...)"};

/// Ends the process with a message where a watch or a registration ends on another thread than its loop's:
/// its timers and sockets belong to the loop. A loop that a child of fork inherited has no thread there.
inline void check_end_of_name(const Loop& loop) noexcept {
  WEFT_ASSERT(
      may_touch(loop) || loop.mailbox()->in_child(),
      "a name watch or a name registration was destroyed on another thread than its loop's: destroy it "
      "in loop.post(...), or after the loop has stopped");
}

}  // namespace weft::detail
