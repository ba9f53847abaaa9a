// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Networks of one's own: one within the process, whose peers can fail, and one of hosts and links on a
/// virtual clock.

#include "weft/detail/transport/memory.hpp"             // IWYU pragma: export
#include "weft/detail/transport/simulated_network.hpp"  // IWYU pragma: export

#pragma GCC diagnostic pop
