// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/server/server_options.hpp"

namespace weft::detail {

/// Returns ok, or kInvalidArgument for the first option that can never work, with its name and advice.
/// `blocking`: a handler is registered as blocking.
Status check_options(const ServerOptions& options, bool blocking);

}  // namespace weft::detail
