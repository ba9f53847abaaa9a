// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/fleet_choice.hpp"

#include <utility>

#include "weft/detail/balancing/least_loaded.hpp"

namespace weft::detail {

namespace {

double share_of(FleetMember::Link link) noexcept {
  return link == FleetMember::Link::kLate || link == FleetMember::Link::kDown ? 0 : 1;
}

}  // namespace

FleetChoice::FleetChoice(FleetOptions& options) : policy_(std::move(options.balancing)) {
  if (policy_ == nullptr) policy_ = std::make_unique<LeastLoaded>();
  if (options.outliers) {
    auto outliers = std::make_unique<OutlierEjection>(*options.outliers, std::move(policy_));
    outliers_ = outliers.get();
    policy_ = std::move(outliers);
  }
  if (options.subset) {
    auto subset = std::make_unique<Subset>(*options.subset, std::move(policy_));
    subset_ = subset.get();
    policy_ = std::move(subset);
  }
}

Status FleetChoice::set_endpoints(std::span<const EndpointSpec> list) {
  const bool was_usable = std::exchange(usable_, false);
  missed_ = missed_ || !was_usable;
  const Status taken = policy_->set_endpoints(list);
  usable_ = taken.ok() || was_usable;
  return taken;
}

void FleetChoice::update_members(std::span<const EndpointSpec> list,
                                 std::span<const std::unique_ptr<FleetMember>> members,
                                 TimePoint now) noexcept {
  used_ = 0;
  for (std::uint32_t index = 0; index < members.size(); ++index) {
    const bool is_used = subset_ == nullptr && list[index].weight > 0;
    members[index]->used_index = is_used ? index : FleetMember::kGone;
    used_ += static_cast<std::size_t>(is_used);
  }
  if (subset_ != nullptr) {
    const std::span<const std::uint32_t> chosen = subset_->members();
    for (std::uint32_t at = 0; at < chosen.size(); ++at) members[chosen[at]]->used_index = at;
    used_ = chosen.size();
  }
  if (!std::exchange(missed_, false)) return;
  for (const std::unique_ptr<FleetMember>& member : members) {
    link_changed(*member);
    for (; member->unreported > 0; --member->unreported) {
      policy_->ended(member->index, {now, CallOutcome::kIgnored, Duration::zero()});
    }
  }
}

std::optional<std::uint32_t> FleetChoice::pick(const PickRequest& request) noexcept {
  if (!usable_) return std::nullopt;
  const std::optional<std::uint32_t> picked = policy_->pick(request);
  if (request.tried.empty()) declines_ = !picked;
  return picked;
}

bool FleetChoice::admits(const FleetMember& member) const noexcept {
  if (!usable_ || !member.is_used()) return false;
  return outliers_ == nullptr || outliers_->share(member.used_index) > 0;
}

void FleetChoice::link_changed(const FleetMember& member) noexcept {
  if (usable_ && member.index != FleetMember::kGone) policy_->set_share(member.index, share_of(member.link));
}

bool FleetChoice::begun(const FleetMember& member, TimePoint now) noexcept {
  if (!usable_ || member.index == FleetMember::kGone) return false;
  policy_->begun(member.index, now);
  return true;
}

void FleetChoice::ended(FleetMember& member, const CallReport& report) noexcept {
  if (member.index == FleetMember::kGone) return;
  if (usable_) {
    policy_->ended(member.index, report);
  } else {
    ++member.unreported;
  }
}

bool FleetChoice::is_ejected(const FleetMember& member) const noexcept {
  return outliers_ != nullptr && usable_ && member.is_used() && outliers_->is_ejected(member.used_index);
}

}  // namespace weft::detail
