// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/assert.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

/// This thread may use objects of `loop`, but for what waits in it: the loop's turn is the innermost one on
/// this thread, or the loop is in no turn and no other thread runs it. So a loop that a handler has made for
/// itself may be used there, and what belongs to it destroyed.
inline bool may_touch(const Loop& loop) noexcept {
  if (loop.is_used_here()) return true;
  return loop.mailbox()->use().is_run_here_or_nowhere() && !loop.in_turn();
}

/// The calling thread runs `loop`, perhaps inside a turn of another loop, or no thread does. A loop that a
/// child of fork inherited has no thread there.
inline bool is_thread_of(const Loop& loop) noexcept {
  const Mailbox& mailbox = *loop.mailbox();
  return mailbox.use().is_run_here_or_nowhere() || mailbox.in_child();
}

/// Ends the process, with words, where a client of `loop` is destroyed on a thread that must leave it alone,
/// as one does that was declared behind its LoopThread. A loop that a child of fork inherited has no thread
/// there.
inline void check_end_of_client(const Loop& loop) noexcept {
  WEFT_ASSERT(may_touch(loop) || loop.mailbox()->in_child(),
              "a client was destroyed while another thread runs its loop: stop that loop first, as by stop() "
              "of its LoopThread (the client ends before a LoopThread that was declared before it), or "
              "destroy the client in a turn of the loop, by loop.post(...)");
}

}  // namespace weft::detail
