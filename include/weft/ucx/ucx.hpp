// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All of the UCX binding.
#include "weft/ucx/am_receive.hpp"     // IWYU pragma: export
#include "weft/ucx/am_send.hpp"        // IWYU pragma: export
#include "weft/ucx/atomic.hpp"         // IWYU pragma: export
#include "weft/ucx/context.hpp"        // IWYU pragma: export
#include "weft/ucx/endpoint.hpp"       // IWYU pragma: export
#include "weft/ucx/listener.hpp"       // IWYU pragma: export
#include "weft/ucx/log.hpp"            // IWYU pragma: export
#include "weft/ucx/memory.hpp"         // IWYU pragma: export
#include "weft/ucx/remote_memory.hpp"  // IWYU pragma: export
#include "weft/ucx/status.hpp"         // IWYU pragma: export
#include "weft/ucx/stream.hpp"         // IWYU pragma: export
#include "weft/ucx/tag.hpp"            // IWYU pragma: export
#include "weft/ucx/tag_probe.hpp"      // IWYU pragma: export
#include "weft/ucx/worker.hpp"         // IWYU pragma: export
