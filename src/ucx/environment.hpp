// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::ucx::detail {

/// What the environment says of UCX's setting `name` (without "UCX_"): the variable with the prefix that a
/// context was given before the one that begins with UCX_, as UCX has it. Thread: any, while nobody changes
/// the environment; so are all of these.
std::optional<std::string_view> in_environment(std::string_view prefix, std::string_view name);

/// What may be wrong with UCX's variables in the environment when UCX refused an argument and says no more:
/// those that it cannot read and what they take, or else all that there are. Empty when there are none. The
/// transports' modules are loaded.
std::string suspects_in_environment();

}  // namespace weft::ucx::detail
