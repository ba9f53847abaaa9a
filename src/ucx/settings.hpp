// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "weft/detail/base/result.hpp"
#include "weft/detail/ucx/context.hpp"

namespace weft::ucx::detail {

/// Puts what `options` say into `config`. Errors: kInvalidArgument with the setting's name.
Result<void> apply_settings(ucp_config_t* config, const ContextOptions& options);

/// Gives SIGSEGV and its like back to whom UCX took them from, unless somebody took them since.
void give_back_signals();

}  // namespace weft::ucx::detail
