// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/lease_policy.hpp"

namespace weft::detail {

bool LeasePolicy::gathers(RunCursor<const std::byte> from, std::size_t bytes) const noexcept {
  const std::size_t enough = much_only_ != 0 ? bytes_min_ : kGatheredMin;
  std::size_t together = 0;
  for (std::size_t runs = 0; runs < kGatheredRunsMax && together < std::min(enough, bytes); ++runs) {
    const std::size_t run = std::min(from.rest().size(), bytes - together);
    if (!gathers(run)) break;
    from.pass(run);
    together += run;
  }
  return together >= enough;
}

}  // namespace weft::detail
