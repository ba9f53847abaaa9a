// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weft::ucx::detail {

/// Returns true if the environment has a variable for UCX's setting `name` (without "UCX_"): one that begins
/// with UCX_, or with the prefix that a context was given, "APP" for APP_UCX_. Thread: any, while the
/// environment does not change, as for all functions here.
bool in_environment(std::string_view prefix, std::string_view name);

/// Explains a refusal by UCX without a reason: lists the variables in the environment that UCX cannot read
/// and their valid values, or else all variables that it knows. Empty when there are none. Does not contain
/// other variables, because the text may be sent to a peer. Loads the transports' modules.
std::string suspects_in_environment(std::string_view prefix);

}  // namespace weft::ucx::detail
