// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/coro/executor.hpp"

namespace weft {

/// Goes to the back of the ready queue: everything that is ready now runs first. Never fails, ignores cancel.
inline detail::YieldAwaiter yield() noexcept {
  return detail::YieldAwaiter{};
}

}  // namespace weft
