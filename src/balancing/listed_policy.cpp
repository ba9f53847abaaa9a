// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/listed_policy.hpp"

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

Status ListedPolicy::set_endpoints(std::span<const EndpointSpec> list) {
  if (!misuse_.ok()) return misuse_;
  if (Status checked = check_endpoints(list); !checked.ok()) return checked;
  std::vector<std::uint32_t> weights;
  weights.reserve(list.size());
  for (const EndpointSpec& endpoint : list) weights.push_back(std::min(endpoint.weight, kPickWeightMax));
  const std::vector<std::uint32_t> before = keys_.replace(list);
  candidates_.reset(std::move(weights), carried_over(candidates_.shares(), before, 1.0));
  list_changed(before);
  return {};
}

void ListedPolicy::set_share(std::uint32_t index, double share) noexcept {
  WEFT_ASSERT(index < size(), "an endpoint is of the list");
  const std::uint64_t parts_before = candidates_.parts(index);
  candidates_.set_share(index, share);
  share_changed(index, parts_before);
}

}  // namespace weft::detail
