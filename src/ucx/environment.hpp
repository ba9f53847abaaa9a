// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weft::ucx::detail {

/// Tells whether the environment has a variable for UCX's setting `name` (without "UCX_"): one that begins
/// with UCX_, or with the prefix that a context was given, "APP" for APP_UCX_. Thread: any, while nobody
/// changes the environment; so are all of these.
bool in_environment(std::string_view prefix, std::string_view name);

/// Explains a refusal by UCX that names no reason: lists the variables in the environment that UCX cannot
/// read and the values that they take, or else all variables that it knows. Empty when there are none. No
/// other variable is told: a peer may hear of it. Loads the transports' modules.
std::string suspects_in_environment(std::string_view prefix);

}  // namespace weft::ucx::detail
