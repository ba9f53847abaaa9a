// SPDX-License-Identifier: Apache-2.0
#include "stats/pages.hpp"

namespace weft::stats {

Result<Pages> blocking_pages(const Options&) {
  return Status{StatusCode::kUnimplemented, Layer::kUser,
                "this build has no libcurl (on Debian, install libcurl4-openssl-dev and build again)"};
}

}  // namespace weft::stats
