// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "info/options.hpp"
#include "info/ucx/facts.hpp"
#include "info/ucx/lanes.hpp"

namespace weft::info {

/// Says why UCX carries a connection by `lanes`, a sentence each. UCX 1.13 gives no reasons: these follow
/// from what this side opens, where the server is, and the error mode. Empty when there are no lanes: UCX
/// carries nothing.
std::vector<std::string> reasons(const std::vector<Lane>& lanes, bool same_host, const UcxFacts& facts,
                                 const Options& options);

}  // namespace weft::info
