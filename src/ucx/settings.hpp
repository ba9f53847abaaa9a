// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "weft/detail/base/result.hpp"
#include "weft/detail/ucx/context.hpp"

namespace weft::ucx::detail {

/// Puts what `options` say into `config`. Errors: kInvalidArgument with the setting's name.
Result<void> apply_settings(ucp_config_t* config, const ContextOptions& options);

}  // namespace weft::ucx::detail
