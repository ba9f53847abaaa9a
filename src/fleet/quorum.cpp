// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/quorum.hpp"

#include <string>

namespace weft::detail {

Status quorum_too_large(std::size_t wanted, std::size_t servers) {
  Status failure{StatusCode::kFailedPrecondition, Layer::kRpc, [&] {
                   return std::to_string(wanted) + " good answers were wanted, and there are " +
                          std::to_string(servers) + " servers to ask";
                 }};
  failure.mark_unprocessed();
  return failure;
}

Status quorum_not_reached(std::size_t count, std::size_t servers, std::size_t wanted, const Status& first) {
  return {StatusCode::kUnavailable, Layer::kRpc, [&] {
            return std::to_string(count) + " of " + std::to_string(servers) + " servers answered, " +
                   std::to_string(wanted) + " were wanted: " + std::string{first.message()};
          }};
}

}  // namespace weft::detail
