// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Networks of one's own: one within the process, whose peers can fail, and one of hosts and links on a
/// virtual clock.

#include "weft/detail/transport/memory.hpp"             // IWYU pragma: export
#include "weft/detail/transport/simulated_network.hpp"  // IWYU pragma: export
