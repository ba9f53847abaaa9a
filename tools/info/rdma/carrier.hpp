// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "info/carrier_facts.hpp"
#include "info/rdma/facts.hpp"
#include "info/words.hpp"

namespace weft::info {

/// RDMA, of which `facts` is known until it looks.
std::unique_ptr<CarrierFacts> rdma_carrier(Result<RdmaFacts> facts = RdmaFacts{});

/// VerbsOptions as this command line makes them, by their names.
std::vector<Word> effective_verbs_options(const Options& options);

}  // namespace weft::info
