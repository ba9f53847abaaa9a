// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/client/client_options.hpp"
#include "weft/detail/calls/client/pool_options.hpp"

namespace weft::detail {

/// Returns ok, or kInvalidArgument for the first option that can never work, with its name and advice.
Status check_options(const ClientOptions& options);
Status check_options(const PoolOptions& options);

}  // namespace weft::detail
