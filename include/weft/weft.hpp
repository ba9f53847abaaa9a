// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Everything a program of clients, servers and coroutines needs, in one header.

#include "weft/blocking_client.hpp"
#include "weft/client.hpp"
#include "weft/connection_pool.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/coro/with_scope.hpp"
#include "weft/detail/coro/yield.hpp"
#include "weft/detail/files/file.hpp"
#include "weft/detail/functions/blocking.hpp"
#include "weft/detail/functions/on_loop_of.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/loop_state.hpp"
#include "weft/detail/runtime/loop_thread.hpp"
#include "weft/detail/runtime/on_worker.hpp"
#include "weft/detail/runtime/sleep.hpp"
#include "weft/detail/runtime/with_deadline.hpp"
#include "weft/detail/runtime/worker_pool.hpp"
#include "weft/detail/transport/memory.hpp"
#include "weft/server.hpp"
#include "weft/transports.hpp"

#pragma GCC diagnostic pop
