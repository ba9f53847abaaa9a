// SPDX-License-Identifier: Apache-2.0
// For a build without libibverbs.
#include "info/rdma/facts.hpp"

namespace weft::info {

Result<RdmaFacts> rdma_facts(const Options&, verbs::Driver*) {
  return Status{StatusCode::kUnimplemented, Layer::kTransport,
                "this build has no RDMA (on Debian, install libibverbs-dev and build again)"};
}

}  // namespace weft::info
