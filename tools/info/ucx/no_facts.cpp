// SPDX-License-Identifier: Apache-2.0
// For a build without UCX.
#include "info/ucx/facts.hpp"

namespace weft::info {

Result<UcxFacts> ucx_facts(const Options&) {
  return Status{StatusCode::kUnimplemented, Layer::kTransport,
                "this build has no UCX (on Debian, install libucx-dev and build again)"};
}

}  // namespace weft::info
