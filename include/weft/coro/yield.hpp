// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/coro/executor.hpp"

namespace weft {

/// Goes to the back of the ready queue: everything that is ready now runs first. Never fails, ignores cancel.
inline YieldAwaiter yield() noexcept {
  return YieldAwaiter{};
}

}  // namespace weft
