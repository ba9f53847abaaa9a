// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::services {

/// Returns the name that a user who wrote `name` may have meant: the one with the fewest different letters,
/// if these are few, or a name whose last part after "::", "/" or "." is `name`. Empty if there is none.
std::string close_name(std::string_view name, const std::vector<std::string>& names);

}  // namespace weft::services
