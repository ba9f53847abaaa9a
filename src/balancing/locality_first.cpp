// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/locality_first.hpp"

#include <algorithm>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/random_numbers.hpp"

namespace weft {

namespace {

constexpr FixedFailure kNoShare{StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
                                "LocalityFirstOptions::healthy_share_min is not above 0 and at most 1"};
constexpr FixedFailure kNoEndpoints{StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
                                    "LocalityFirstOptions::healthy_endpoints_min is zero"};

Status check_healthy(const LocalityFirstOptions& options) noexcept {
  if (!(options.healthy_share_min > 0 && options.healthy_share_min <= 1)) return Status::of<kNoShare>();
  if (options.healthy_endpoints_min == 0) return Status::of<kNoEndpoints>();
  return {};
}

}  // namespace

LocalityFirst::LocalityFirst(LocalityFirstOptions options, std::unique_ptr<BalancingPolicy> near,
                             std::unique_ptr<BalancingPolicy> far)
    : options_(std::move(options)), near_(std::move(near)), far_(std::move(far)) {}

Status LocalityFirst::set_endpoints(std::span<const EndpointSpec> list) {
  if (Status checked = check_healthy(options_); !checked.ok()) return checked;
  if (Status checked = detail::check_endpoints(list); !checked.ok()) return checked;
  std::vector<std::uint32_t> near;
  std::vector<std::uint32_t> far;
  std::vector<std::uint32_t> weights;
  weights.reserve(list.size());
  for (std::uint32_t index = 0; index < list.size(); ++index) {
    (list[index].zone == options_.zone ? near : far).push_back(index);
    weights.push_back(std::min(list[index].weight, detail::kPickWeightMax));
  }
  shares_ = detail::carried_over(shares_, keys_.replace(list), 1.0);
  weights_ = std::move(weights);
  if (Status set = near_.set(list, std::move(near), shares_); !set.ok()) return set;
  if (Status set = far_.set(list, std::move(far), shares_); !set.ok()) return set;
  near_weight_ = healthy_weight_ = healthy_endpoints_ = 0;
  for (const std::uint32_t index : near_.members()) {
    near_weight_ += weights_[index];
    count(index, 1);
  }
  return {};
}

void LocalityFirst::count(std::uint32_t index, double sign) noexcept {
  healthy_weight_ += sign * shares_[index] * weights_[index];
  if (weights_[index] > 0) healthy_endpoints_ += sign * shares_[index];
}

void LocalityFirst::set_share(std::uint32_t index, double share) noexcept {
  WEFT_ASSERT(index < size(), "an endpoint is of the list");
  share = std::clamp(share, 0.0, 1.0);
  const bool near = near_.has(index);
  if (near) count(index, -1);
  shares_[index] = share;
  if (near) count(index, 1);
  part_of(index).set_share(index, share);
}

double LocalityFirst::near_part() const noexcept {
  if (near_weight_ <= 0) return 0;
  const double by_weight = healthy_weight_ / near_weight_ / options_.healthy_share_min;
  const double by_number = healthy_endpoints_ / options_.healthy_endpoints_min;
  // Sums of parts that were added and taken away are not exact.
  return std::clamp(std::min(by_weight, by_number) + 1e-9, 0.0, 1.0);
}

std::optional<std::uint32_t> LocalityFirst::pick(const PickRequest& request) noexcept {
  detail::RandomNumbers random{request.random};
  const double part = near_part();
  const bool near_first = part >= 1 || random.between(0, 1) < part;
  PickRequest inner = request;
  inner.random = random.next();
  detail::PartOfList& first = near_first ? near_ : far_;
  if (const std::optional<std::uint32_t> picked = first.pick(inner)) return picked;
  return (near_first ? far_ : near_).pick(inner);
}

void LocalityFirst::begun(std::uint32_t index, TimePoint now) noexcept {
  part_of(index).begun(index, now);
}

void LocalityFirst::ended(std::uint32_t index, const CallReport& report) noexcept {
  part_of(index).ended(index, report);
}

}  // namespace weft
