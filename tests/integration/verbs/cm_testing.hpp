// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "integration/verbs/verbs_testing.hpp"
#include "support/routed_host.hpp"

namespace weft::verbs_testing {

inline VerbsOptions by_cm(VerbsOptions options) {
  options.connect_by = VerbsConnect::kRdmaCm;
  return options;
}

/// URL for a server that is connected to by rdma_cm.
inline std::string routed_url(verbs::Driver& driver, const std::string& scheme = "verbs") {
  return scheme + "://" + testing::routed_host(driver) + ":0";
}

}  // namespace weft::verbs_testing
