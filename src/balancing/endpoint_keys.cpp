// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/endpoint_keys.hpp"

#include <algorithm>
#include <numeric>

namespace weft::detail {

Status check_endpoints(std::span<const EndpointSpec> list) noexcept {
  static constexpr FixedFailure kTooMany{
      StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
      "a list has more than 65536 endpoints; name fewer, or split the fleet"};
  return list.size() > kEndpointsMax ? Status::of<kTooMany>() : Status{};
}

std::vector<std::uint32_t> EndpointKeys::replace(std::span<const EndpointSpec> list) {
  std::vector<std::string> keys;
  keys.reserve(list.size());
  for (const EndpointSpec& endpoint : list) keys.emplace_back(endpoint.key);
  std::vector<std::uint32_t> sorted(list.size());
  std::iota(sorted.begin(), sorted.end(), 0u);
  std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t left, std::uint32_t right) {
    const int order = keys[left].compare(keys[right]);
    return order != 0 ? order < 0 : left < right;
  });

  std::vector<std::uint32_t> before(list.size(), kNoIndex);
  auto known = sorted_.begin();
  for (const std::uint32_t index : sorted) {
    while (known != sorted_.end() && keys_[*known] < keys[index]) ++known;
    // Each known endpoint matches once, so duplicates of a key do not share its state.
    if (known != sorted_.end() && keys_[*known] == keys[index]) before[index] = *known++;
  }
  keys_ = std::move(keys);
  sorted_ = std::move(sorted);
  return before;
}

}  // namespace weft::detail
