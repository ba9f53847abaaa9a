// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// A client of many servers behind a name, and the policies that pick among them. Its target is weft::fleet.

#include "weft/detail/balancing/balancing_policy.hpp"             // IWYU pragma: export
#include "weft/detail/balancing/consistent_hash.hpp"              // IWYU pragma: export
#include "weft/detail/balancing/least_loaded.hpp"                 // IWYU pragma: export
#include "weft/detail/balancing/locality_first.hpp"               // IWYU pragma: export
#include "weft/detail/balancing/outlier_options.hpp"              // IWYU pragma: export
#include "weft/detail/balancing/random_pick.hpp"                  // IWYU pragma: export
#include "weft/detail/balancing/round_robin.hpp"                  // IWYU pragma: export
#include "weft/detail/balancing/smooth_weighted_round_robin.hpp"  // IWYU pragma: export
#include "weft/detail/balancing/subset.hpp"                       // IWYU pragma: export
#include "weft/detail/fleet/blocking_fleet.hpp"                   // IWYU pragma: export
#include "weft/detail/fleet/fleet_client.hpp"                     // IWYU pragma: export
#include "weft/detail/fleet/fleet_on_loop.hpp"                    // IWYU pragma: export
#include "weft/detail/fleet/fleet_options.hpp"                    // IWYU pragma: export
#include "weft/detail/fleet/fleet_stats.hpp"                      // IWYU pragma: export

#pragma GCC diagnostic pop
