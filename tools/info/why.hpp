// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "info/options.hpp"
#include "info/probe.hpp"
#include "info/ucx_facts.hpp"

namespace weft::info {

/// Why UCX carries `probe` by the lanes that it does, a sentence each. UCX 1.13 gives no reasons: these
/// follow from what this side opens, where the server is, and the error mode. Empty when UCX carries nothing.
std::vector<std::string> reasons(const Probe& probe, const UcxFacts& facts, const Options& options);

}  // namespace weft::info
