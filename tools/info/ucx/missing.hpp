// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "info/ucx/facts.hpp"
#include "load/options.hpp"

namespace weft::info {

/// Transports and devices that were asked for by name and of which UCX opened none: UCX only warns of them
/// when there are others. Names of groups ("shm", "rc") count as there when one of the group is; what is
/// asked for by exclusion ("^tcp") counts always.
std::vector<std::string> missing_names(const UcxFacts& facts, const load::UcxFlags& asked);

}  // namespace weft::info
