// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything a program of clients, servers and coroutines needs, in one header.

#include "weft/blocking_client.hpp"
#include "weft/calls/client/obey_retry_after.hpp"
#include "weft/calls/client/with_retry.hpp"
#include "weft/client.hpp"
#include "weft/connection_pool.hpp"
#include "weft/coro/combine.hpp"
#include "weft/coro/scope.hpp"
#include "weft/coro/yield.hpp"
#include "weft/files/file.hpp"
#include "weft/functions/blocking.hpp"
#include "weft/functions/on_loop_of.hpp"
#include "weft/runtime/loop.hpp"
#include "weft/runtime/loop_state.hpp"
#include "weft/runtime/loop_thread.hpp"
#include "weft/runtime/on_worker.hpp"
#include "weft/runtime/sleep.hpp"
#include "weft/runtime/with_deadline.hpp"
#include "weft/runtime/worker_pool.hpp"
#include "weft/server.hpp"
#include "weft/transport/memory.hpp"
#include "weft/transports.hpp"
