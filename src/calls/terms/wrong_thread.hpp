// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdio>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/runtime/client_end.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

/// Ends the process with a message for the use of a client on a wrong thread, which would be a race.
[[noreturn, gnu::cold]] inline void used_on_wrong_thread(const char* operation) noexcept {
  std::array<char, 400> words{};
  std::snprintf(words.data(), words.size(),
                "a client was used on another thread than its loop's, by %s(): write "
                "weft::blocking(client).call<f>(...) on a thread without a loop, co_await "
                "weft::on_loop_of(client).call<f>(...) in a coroutine of another loop, or "
                "client.loop().post(...) for anything else",
                operation);
  assertion_failed(words.data(), __FILE__, __LINE__);
}

/// Refusal of a call by a client or a peer's handle that a child of fork inherited.
inline constexpr FixedFailure kInChildOfFork{
    StatusCode::kFailedPrecondition, Layer::kRuntime, Retry::kNever,
    "a client of the parent was used in a child of fork; make one here"};

/// Ends the process, with words that name the calling function, on a thread that must leave everything of
/// `loop` alone. A loop that a child of fork inherited has no thread there.
inline void check_thread(const Loop& loop, const char* operation = __builtin_FUNCTION()) noexcept {
  if (!may_touch(loop) && !loop.mailbox()->in_child()) used_on_wrong_thread(operation);
}

}  // namespace weft::detail
