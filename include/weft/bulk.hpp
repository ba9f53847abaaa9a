// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Memory that peers read and write by handles. Its target is weft::bulk.

#include "weft/detail/bulk/bulk_handle.hpp"  // IWYU pragma: export
#include "weft/detail/bulk/bulk_host.hpp"    // IWYU pragma: export
#include "weft/detail/bulk/bulk_peer.hpp"    // IWYU pragma: export
#include "weft/detail/bulk/bulk_region.hpp"  // IWYU pragma: export
