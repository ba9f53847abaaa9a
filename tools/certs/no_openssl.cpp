// SPDX-License-Identifier: Apache-2.0
#include "certs/authority.hpp"

namespace weft::certs {

Result<std::vector<std::string>> blocking_make(const Options&) {
  return Status{StatusCode::kUnimplemented, Layer::kTransport,
                "this build has no TLS (on Debian, install libssl-dev and build again)"};
}

}  // namespace weft::certs
