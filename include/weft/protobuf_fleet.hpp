// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Stubs and channels of protobuf over a fleet, and the fleet itself. Its target is weft::fleet_protobuf.

#include "weft/detail/fleet/protobuf/fleet_channel.hpp"  // IWYU pragma: export
#include "weft/detail/fleet/protobuf/fleet_stub.hpp"     // IWYU pragma: export
#include "weft/fleet.hpp"                                // IWYU pragma: export
