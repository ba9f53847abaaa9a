// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Loops, the threads that run or assist them, and the additional event sources that they poll.

#include "weft/detail/runtime/clock.hpp"         // IWYU pragma: export
#include "weft/detail/runtime/cpu_latency.hpp"   // IWYU pragma: export
#include "weft/detail/runtime/loop.hpp"          // IWYU pragma: export
#include "weft/detail/runtime/loop_options.hpp"  // IWYU pragma: export
#include "weft/detail/runtime/loop_state.hpp"    // IWYU pragma: export
#include "weft/detail/runtime/loop_thread.hpp"   // IWYU pragma: export
#include "weft/detail/runtime/poller.hpp"        // IWYU pragma: export
#include "weft/detail/runtime/worker_pool.hpp"   // IWYU pragma: export

#pragma GCC diagnostic pop
