// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Stubs of protobuf over a fleet. Its target is weft::fleet_protobuf.

#include "weft/detail/fleet/protobuf/fleet_channel.hpp"  // IWYU pragma: export
