// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "support/sanitizers.hpp"

namespace weft::testing {

// A sanitizer takes ten times as long, and finds on shorter ways what it can find.
inline constexpr std::size_t kFewerSteps = WEFT_ADDRESS_SANITIZER || WEFT_THREAD_SANITIZER ? 1 : 0;

}  // namespace weft::testing
