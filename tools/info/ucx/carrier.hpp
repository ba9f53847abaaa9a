// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "info/carrier_facts.hpp"
#include "info/ucx/facts.hpp"
#include "info/words.hpp"

namespace weft::info {

/// UCX, of which `facts` is known until it looks.
std::unique_ptr<CarrierFacts> ucx_carrier(Result<UcxFacts> facts = UcxFacts{});

/// UcxOptions as this command line makes them, by their names.
std::vector<Word> effective_ucx_options(const Options& options);

}  // namespace weft::info
