// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Calls from threads that have no loop, and from coroutines of another one: blocking() and on_loop_of().

#include "weft/detail/functions/blocking.hpp"    // IWYU pragma: export
#include "weft/detail/functions/on_loop_of.hpp"  // IWYU pragma: export
