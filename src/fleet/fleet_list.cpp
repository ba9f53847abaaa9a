// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/fleet_list.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {

// Both lists are sorted by URL. Members are made before the policy is updated, so that nothing throws
// afterwards.
Status FleetList::take(const NameList& list, TimePoint now) {
  std::vector<EndpointSpec> specs;
  std::vector<std::unique_ptr<FleetMember>> next;
  specs.reserve(list.endpoints.size());
  next.reserve(list.endpoints.size());
  leaving_.reserve(leaving_.size() + members_.size());
  links_.reserve(list.endpoints.size());
  std::size_t known = 0;
  for (const Endpoint& endpoint : list.endpoints) {
    specs.push_back({endpoint.url, endpoint.weight, endpoint.zone});
    while (known < members_.size() && members_[known]->url < endpoint.url) ++known;
    const bool stays = known < members_.size() && members_[known]->url == endpoint.url;
    next.push_back(stays ? nullptr : std::make_unique<FleetMember>(links_, endpoint.url));
  }
  if (Status taken = choice_.set_endpoints(specs); !taken.ok()) return taken;
  // From here on nothing throws.
  std::size_t old = 0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (next[i] == nullptr) {
      while (members_[old]->url != list.endpoints[i].url) let_go(std::move(members_[old++]));
      next[i] = std::move(members_[old++]);
    }
    next[i]->index = static_cast<std::uint32_t>(i);
  }
  while (old < members_.size()) let_go(std::move(members_[old++]));
  members_ = std::move(next);
  choice_.update_members(specs, members_, now);
  for (const std::unique_ptr<FleetMember>& member : members_) {
    if (!member->is_used() && member->link != FleetMember::Link::kIdle) links_.forget(*member);
  }
  return {};
}

void FleetList::let_go(std::unique_ptr<FleetMember> member) noexcept {
  member->index = FleetMember::kGone;
  member->used_index = FleetMember::kGone;
  links_.forget(*member);
  if (member->holds != 0) leaving_.push_back(std::move(member));
}

// A callback of one may make the list another one: each is looked for by its place.
void FleetList::close() noexcept {
  for (std::vector<std::unique_ptr<FleetMember>>* const list : {&members_, &leaving_}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::unique_ptr<FleetMember>& member = (*list)[i];
      if (member != nullptr && member->pool != nullptr) member->pool->close();
    }
  }
}

void FleetList::disconnect() noexcept {
  for (const std::unique_ptr<FleetMember>& member : members_) links_.disconnect(*member);
  for (const std::unique_ptr<FleetMember>& member : leaving_) links_.disconnect(*member);
}

void FleetList::release(FleetMember& member) noexcept {
  if (--member.holds != 0 || member.index != FleetMember::kGone) return;
  const auto is_it = [&](const std::unique_ptr<FleetMember>& one) { return one.get() == &member; };
  const auto found = std::find_if(leaving_.begin(), leaving_.end(), is_it);
  std::swap(*found, leaving_.back());
  leaving_.pop_back();
}

}  // namespace weft::detail
