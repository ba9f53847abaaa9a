// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/assert.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

/// Ends the process, with words, where a client of `loop` is destroyed on a thread that must leave it alone,
/// as one does that was declared behind its LoopThread. A loop that a child of fork inherited has no thread
/// there.
inline void check_end_of_client(const Loop& loop) noexcept {
  WEFT_ASSERT(loop.is_used_here() || loop.mailbox()->in_child(),
              "a client was destroyed while another thread runs its loop: stop that loop first, as by stop() "
              "of its LoopThread (the client ends before a LoopThread that was declared before it), or "
              "destroy the client in a turn of the loop, by loop.post(...)");
}

}  // namespace weft::detail
