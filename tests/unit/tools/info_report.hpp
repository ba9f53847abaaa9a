// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "info/rdma/carrier.hpp"
#include "info/report.hpp"
#include "info/stream_carrier.hpp"
#include "info/ucx/carrier.hpp"

namespace weft::info {

/// The report of a machine of which these are the facts.
inline Report report_of(Result<UcxFacts> ucx, Result<Probe> probe = Probe{},
                        Result<RdmaFacts> rdma = RdmaFacts{}) {
  Carriers carriers;
  carriers.push_back(stream_carrier());
  carriers.push_back(rdma_carrier(std::move(rdma)));
  carriers.push_back(ucx_carrier(std::move(ucx)));
  return {std::move(carriers), std::move(probe)};
}

}  // namespace weft::info
