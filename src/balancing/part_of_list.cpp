// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/part_of_list.hpp"

#include <array>

#include "weft/detail/balancing/candidates.hpp"
#include "weft/detail/balancing/picked_of.hpp"

namespace weft::detail {

Status PartOfList::set(std::span<const EndpointSpec> whole, std::vector<std::uint32_t> members,
                       std::span<const double> shares) {
  std::vector<EndpointSpec> list;
  list.reserve(members.size());
  std::vector<std::uint32_t> inner(whole.size(), kNoIndex);
  for (const std::uint32_t member : members) {
    inner[member] = static_cast<std::uint32_t>(list.size());
    list.push_back(whole[member]);
  }
  if (Status set = policy_->set_endpoints(list); !set.ok()) return set;
  members_ = std::move(members);
  inner_ = std::move(inner);
  // An endpoint that was no member before may have another share than a new one has.
  for (const std::uint32_t member : members_) set_share(member, shares[member]);
  return {};
}

std::optional<std::uint32_t> PartOfList::pick(const PickRequest& request) noexcept {
  std::array<std::uint32_t, kTriedMax> tried{};
  std::size_t count = 0;
  for (const std::uint32_t index : tried_of(request)) {
    if (index < inner_.size() && has(index)) tried[count++] = inner_[index];
  }
  PickRequest inner = request;
  inner.tried = {tried.data(), count};
  const std::optional<std::uint32_t> picked = policy_->pick(inner);
  return picked ? std::optional{members_[picked_of(*picked, members_.size())]} : std::nullopt;
}

void PartOfList::set_share(std::uint32_t index, double share) noexcept {
  if (has(index)) policy_->set_share(inner_[index], share);
}

void PartOfList::begun(std::uint32_t index, TimePoint now) noexcept {
  if (has(index)) policy_->begun(inner_[index], now);
}

void PartOfList::ended(std::uint32_t index, const CallReport& report) noexcept {
  if (has(index)) policy_->ended(inner_[index], report);
}

}  // namespace weft::detail
