// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weft/detail/balancing/part_of_list.hpp"

namespace weft {

struct LocalityFirstOptions {
  /// Zone of this client, as endpoints name theirs.
  std::string zone;
  /// Healthy share of the zone's weight down to which all calls stay in the zone; from 0 (exclusive) to 1.
  /// Below it, the part of the calls that stays shrinks with the healthy weight, down to none.
  double healthy_share_min = 0.7;
  /// The same for the number of healthy endpoints there; at least 1. One server that shares a zone with a
  /// hundred clients is not enough for them.
  std::uint32_t healthy_endpoints_min = 1;
};

/// Prefers the servers of the own zone while there are enough, and uses those of other zones for the rest:
/// when servers at home fail, traffic spills over gradually. Health comes from set_share(), so
/// OutlierEjection belongs around this. A call that was tried in its own zone is tried in another one next.
///
/// The proportion follows Envoy's zone-aware routing with priorities: its overprovisioning factor of 1.4 is a
/// share of 0.7 here. Costs as much as the inner policy.
class LocalityFirst final : public BalancingPolicy {
 public:
  /// Two policies of one kind: for the endpoints of the zone, and for all others.
  LocalityFirst(LocalityFirstOptions options, std::unique_ptr<BalancingPolicy> near,
                std::unique_ptr<BalancingPolicy> far);

  Status set_endpoints(std::span<const EndpointSpec> list) override;
  std::size_t size() const noexcept override { return keys_.size(); }
  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept override;
  void set_share(std::uint32_t index, double share) noexcept override;
  void begun(std::uint32_t index, TimePoint now) noexcept override;
  void ended(std::uint32_t index, const CallReport& report) noexcept override;

  /// Returns the part of the calls that stays in the zone now.
  double near_part() const noexcept;

 private:
  detail::PartOfList& part_of(std::uint32_t index) noexcept { return near_.has(index) ? near_ : far_; }
  /// Adds an endpoint of the zone to the healthy weight, or removes it.
  void count(std::uint32_t index, double sign) noexcept;

  LocalityFirstOptions options_;
  detail::PartOfList near_;
  detail::PartOfList far_;
  detail::EndpointKeys keys_;
  std::vector<double> shares_;
  std::vector<std::uint32_t> weights_;
  double near_weight_ = 0;
  double healthy_weight_ = 0;
  double healthy_endpoints_ = 0;
};

}  // namespace weft
