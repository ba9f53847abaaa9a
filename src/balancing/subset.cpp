// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/subset.hpp"

#include <algorithm>
#include <tuple>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {
namespace {

/// The binary van der Corput sequence: the bits of `number` in reverse order, as a fraction of 2^64.
std::uint64_t van_der_corput(std::uint64_t number) noexcept {
  std::uint64_t reversed = 0;
  for (int bit = 0; bit < 64; ++bit, number >>= 1) reversed = (reversed << 1) | (number & 1);
  return reversed;
}

/// The whole part of `fraction` / 2^64 * `count`.
std::size_t scaled(std::uint64_t fraction, std::uint64_t count) noexcept {
  // Counts are below 2^32, so that the upper half of the fraction decides, and the lower one carries.
  const std::uint64_t low = (fraction & 0xffffffffu) * count;
  return static_cast<std::size_t>(((fraction >> 32) * count + (low >> 32)) >> 32);
}

struct Placed {
  std::uint64_t hash;
  std::uint32_t index;
};

}  // namespace

Subset::Subset(SubsetOptions options, std::unique_ptr<BalancingPolicy> within)
    : options_(options), part_(std::move(within)) {
  WEFT_ASSERT(options.size >= 1, "a client uses one endpoint at least");
}

Status Subset::set_endpoints(std::span<const EndpointSpec> list) {
  if (Status checked = check_endpoints(list); !checked.ok()) return checked;
  std::vector<Placed> circle;
  circle.reserve(list.size());
  for (std::uint32_t index = 0; index < list.size(); ++index) {
    // Who takes no calls would leave this client with one endpoint less.
    if (list[index].weight > 0) circle.push_back({key_hash(list[index].key), index});
  }
  std::sort(circle.begin(), circle.end(), [&](const Placed& left, const Placed& right) {
    if (left.hash != right.hash) return left.hash < right.hash;
    return std::tie(list[left.index].key, left.index) < std::tie(list[right.index].key, right.index);
  });

  std::vector<std::uint32_t> members;
  const std::size_t count = std::min<std::size_t>(options_.size, circle.size());
  members.reserve(count);
  std::size_t at = scaled(van_der_corput(options_.client), circle.size());
  for (std::size_t member = 0; member < count; ++member, ++at) {
    members.push_back(circle[at % circle.size()].index);
  }
  shares_ = carried_over(shares_, keys_.replace(list), 1.0);
  return part_.set(list, std::move(members), shares_);
}

std::optional<std::uint32_t> Subset::pick(const PickRequest& request) noexcept {
  return part_.pick(request);
}

void Subset::set_share(std::uint32_t index, double share) noexcept {
  WEFT_ASSERT(index < size(), "an endpoint is of the list");
  shares_[index] = std::clamp(share, 0.0, 1.0);
  part_.set_share(index, share);
}

}  // namespace weft::detail
