// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// All of the UCX binding.
#include "weft/detail/ucx/am_receive.hpp"     // IWYU pragma: export
#include "weft/detail/ucx/am_send.hpp"        // IWYU pragma: export
#include "weft/detail/ucx/atomic.hpp"         // IWYU pragma: export
#include "weft/detail/ucx/context.hpp"        // IWYU pragma: export
#include "weft/detail/ucx/endpoint.hpp"       // IWYU pragma: export
#include "weft/detail/ucx/listener.hpp"       // IWYU pragma: export
#include "weft/detail/ucx/log.hpp"            // IWYU pragma: export
#include "weft/detail/ucx/memory.hpp"         // IWYU pragma: export
#include "weft/detail/ucx/remote_memory.hpp"  // IWYU pragma: export
#include "weft/detail/ucx/status.hpp"         // IWYU pragma: export
#include "weft/detail/ucx/stream.hpp"         // IWYU pragma: export
#include "weft/detail/ucx/tag.hpp"            // IWYU pragma: export
#include "weft/detail/ucx/tag_probe.hpp"      // IWYU pragma: export
#include "weft/detail/ucx/worker.hpp"         // IWYU pragma: export

#pragma GCC diagnostic pop
