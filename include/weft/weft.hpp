// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything a program of clients, servers and coroutines needs, in one header.

#include "weft/calls/with_retry.hpp"
#include "weft/client.hpp"
#include "weft/connection_pool.hpp"
#include "weft/coro/combine.hpp"
#include "weft/coro/scope.hpp"
#include "weft/coro/yield.hpp"
#include "weft/runtime/loop.hpp"
#include "weft/runtime/loop_thread.hpp"
#include "weft/runtime/sleep.hpp"
#include "weft/runtime/with_deadline.hpp"
#include "weft/server.hpp"
#include "weft/transport/memory.hpp"
#include "weft/transports.hpp"
