// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "weft/detail/balancing/outlier_ejection.hpp"
#include "weft/detail/balancing/subset.hpp"
#include "weft/detail/fleet/fleet_member.hpp"
#include "weft/detail/fleet/fleet_options.hpp"

namespace weft::detail {

/// The policies of a fleet, notified of members. After a list without memory a policy is unusable until the
/// next list: until then it picks no server, and receives no other notification.
class FleetChoice {
 public:
  /// Takes the policy out of `options`, which were checked.
  explicit FleetChoice(FleetOptions& options);

  bool usable() const noexcept { return usable_; }
  /// Takes a list; update_members() follows. Errors and throws as BalancingPolicy::set_endpoints().
  Status set_endpoints(std::span<const EndpointSpec> list);
  /// Records which of `members`, the endpoints of the `list` just set, may be picked, and passes missed
  /// changes to the policy.
  void update_members(std::span<const EndpointSpec> list,
                      std::span<const std::unique_ptr<FleetMember>> members, TimePoint now) noexcept;
  /// Number of members that may be picked.
  std::size_t used() const noexcept { return used_; }

  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept;
  /// True if the policy picked no server when it was last asked for the first attempt of a call.
  bool declines() const noexcept { return declines_; }
  /// Says whether a member may be asked although the policy did not pick it.
  bool admits(const FleetMember& member) const noexcept;
  /// Grows where the answer may have become another one.
  std::uint64_t changes() const noexcept { return outliers_ != nullptr ? outliers_->changes() : 0; }
  /// Gives a member the share of its link.
  void link_changed(const FleetMember& member) noexcept;
  /// Returns true if the policy counts the attempt, and must be notified of its end.
  bool begun(const FleetMember& member, TimePoint now) noexcept;
  void ended(FleetMember& member, const CallReport& report) noexcept;

  bool is_ejected(const FleetMember& member) const noexcept;
  std::size_t ejected() const noexcept { return outliers_ != nullptr && usable_ ? outliers_->ejected() : 0; }

 private:
  std::unique_ptr<BalancingPolicy> policy_;
  OutlierEjection* outliers_ = nullptr;
  Subset* subset_ = nullptr;
  std::size_t used_ = 0;
  bool usable_ = true;
  bool missed_ = false;
  bool declines_ = false;
};

}  // namespace weft::detail
