// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/status.hpp"
#include "weft/detail/fleet/fleet_options.hpp"

namespace weft::detail {

/// Returns the first of `options` that makes no sense, by name; ok when all do. Throws std::bad_alloc.
Status check_options(const FleetOptions& options);
Status check_options(const FleetRetry& retry);

}  // namespace weft::detail
