// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft::ucx::detail {

/// What a value of UCX's setting `name` (without "UCX_") has to be, in UCX's words, when `value` is none;
/// empty when it is one, or nobody knows. UCX 1.13 finds out about transports' settings only when it opens
/// the transport, says so in its log, and goes on with its own value. The transports' modules are loaded.
std::string misfit(const std::string& name, const std::string& value);

}  // namespace weft::ucx::detail
