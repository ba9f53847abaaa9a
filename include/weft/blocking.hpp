// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Calls from threads that have no loop, and from coroutines of another one: blocking() and on_loop_of().

#include "weft/detail/functions/blocking.hpp"    // IWYU pragma: export
#include "weft/detail/functions/on_loop_of.hpp"  // IWYU pragma: export

#pragma GCC diagnostic pop
