// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "manual/table.hpp"

namespace weft::manual {

/// Returns the script that completes command lines of `weft` in bash, and in zsh.
std::string bash_completion(const std::vector<CommandRow>& table);
std::string zsh_completion(const std::vector<CommandRow>& table);

}  // namespace weft::manual
