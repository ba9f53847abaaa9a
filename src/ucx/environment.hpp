// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weft::ucx::detail {

/// Whether the environment has a variable for UCX's setting `name` (without "UCX_"): one that begins with
/// UCX_, or with the prefix that a context was given, "APP" for APP_UCX_. Thread: any, while nobody changes
/// the environment; so are all of these.
bool in_environment(std::string_view prefix, std::string_view name);

/// What may be wrong with UCX's variables in the environment when UCX refused an argument and says no more:
/// those that it cannot read and what they take, or else all that it knows. Empty when there are none. No
/// other variable is told: a peer may hear of it. The transports' modules are loaded.
std::string suspects_in_environment(std::string_view prefix);

}  // namespace weft::ucx::detail
