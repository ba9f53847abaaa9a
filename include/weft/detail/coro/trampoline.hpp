// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <utility>

namespace weft::detail {

/// Maximum number of operations in a row that may end without suspending, until the outermost resume()
/// returns. The last of them suspends.
inline constexpr unsigned kAtOnceMax = 64;

/// State of one thread about the coroutines that run on it right now. See docs/internals/coroutines.md.
struct Trampoline {
  /// The coroutine that the innermost resume() goes on with; set just before the running one returns to it.
  std::coroutine_handle<> next;
  /// Number of coroutines that run inside each other on this stack.
  unsigned depth = 0;
  /// Number of operations that may still end without suspending, at least 1. See may_go_on().
  unsigned at_once = kAtOnceMax;
};

inline constinit thread_local Trampoline trampoline{};

/// Deeper than this a child is not started on its parent's stack but by the trampoline.
inline constexpr unsigned kInlineDepthMax = 64;

/// Leaves `coroutine` to the innermost resume(). Only for the last act of a coroutine that then suspends.
inline void continue_with(std::coroutine_handle<> coroutine) noexcept {
  trampoline.next = coroutine;
}

/// Resumes `coroutine` and everything that its ending lets go on, without growing the stack with the chain's
/// length. The only way in which anything but an awaiting parent starts or resumes a coroutine.
inline void resume(std::coroutine_handle<> coroutine) noexcept {
  Trampoline& here = trampoline;
  const std::coroutine_handle<> outer = std::exchange(here.next, nullptr);
  ++here.depth;
  do {
    coroutine.resume();
    coroutine = std::exchange(here.next, nullptr);
  } while (coroutine);
  if (--here.depth == 0) here.at_once = kAtOnceMax;
  here.next = outer;
}

}  // namespace weft::detail
