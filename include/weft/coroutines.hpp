// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Tasks and everything that coroutines can await: other tasks, events, locks, channels, timers, and threads
/// that compute.

#include "weft/detail/coro/cancel.hpp"            // IWYU pragma: export
#include "weft/detail/coro/channel.hpp"           // IWYU pragma: export
#include "weft/detail/coro/combine.hpp"           // IWYU pragma: export
#include "weft/detail/coro/event.hpp"             // IWYU pragma: export
#include "weft/detail/coro/is_view.hpp"           // IWYU pragma: export
#include "weft/detail/coro/mutex.hpp"             // IWYU pragma: export
#include "weft/detail/coro/scope.hpp"             // IWYU pragma: export
#include "weft/detail/coro/semaphore.hpp"         // IWYU pragma: export
#include "weft/detail/coro/task.hpp"              // IWYU pragma: export
#include "weft/detail/coro/with_scope.hpp"        // IWYU pragma: export
#include "weft/detail/coro/yield.hpp"             // IWYU pragma: export
#include "weft/detail/runtime/on_worker.hpp"      // IWYU pragma: export
#include "weft/detail/runtime/sleep.hpp"          // IWYU pragma: export
#include "weft/detail/runtime/with_deadline.hpp"  // IWYU pragma: export

#pragma GCC diagnostic pop
