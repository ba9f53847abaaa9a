// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Memory that peers read and write by handles. Its target is weft::bulk.

#include "weft/detail/bulk/bulk_handle.hpp"  // IWYU pragma: export
#include "weft/detail/bulk/bulk_host.hpp"    // IWYU pragma: export
#include "weft/detail/bulk/bulk_peer.hpp"    // IWYU pragma: export
#include "weft/detail/bulk/bulk_region.hpp"  // IWYU pragma: export

#pragma GCC diagnostic pop
