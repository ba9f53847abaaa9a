// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/runtime/client_end.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

/// Message for the use of a client on a wrong thread, which would be a race.
inline constexpr const char* kWrongThread =
    "a client was used on another thread than its loop's: write weft::blocking(client).call<f>(...) on a "
    "thread "
    "without a loop, co_await weft::on_loop_of(client).call<f>(...) in a coroutine of another loop, or "
    "client.loop().post(...) for anything else";

/// Refusal of a call by a client or a peer's handle that a child of fork inherited.
inline constexpr FixedFailure kInChildOfFork{
    StatusCode::kFailedPrecondition, Layer::kRuntime, Retry::kNever,
    "a client of the parent was used in a child of fork; make one here"};

/// Ends the process, with words, on a thread that must leave everything of `loop` alone. A loop that a child
/// of fork inherited has no thread there.
inline void check_thread(const Loop& loop) noexcept {
  WEFT_ASSERT(may_touch(loop) || loop.mailbox()->in_child(), kWrongThread);
}

}  // namespace weft::detail
