// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Stubs and channels of protobuf over a fleet, and the fleet itself. Its target is weft::fleet_protobuf.

#include "weft/detail/fleet/protobuf/fleet_channel.hpp"  // IWYU pragma: export
#include "weft/detail/fleet/protobuf/fleet_stub.hpp"     // IWYU pragma: export
#include "weft/fleet.hpp"                                // IWYU pragma: export

#pragma GCC diagnostic pop
