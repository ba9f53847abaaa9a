// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "weft/detail/balancing/endpoint_keys.hpp"

namespace weft::detail {

/// A policy that is given a part of a list, under the indices of the whole.
class PartOfList {
 public:
  explicit PartOfList(std::unique_ptr<BalancingPolicy> policy) noexcept : policy_(std::move(policy)) {}

  /// `members` are indices of `whole` in the order that the policy is to see; `shares` are of the whole.
  Status set(std::span<const EndpointSpec> whole, std::vector<std::uint32_t> members,
             std::span<const double> shares);

  bool has(std::uint32_t index) const noexcept { return inner_[index] != kNoIndex; }
  std::span<const std::uint32_t> members() const noexcept { return {members_.data(), members_.size()}; }
  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept;
  /// Passes the share of a member to the policy; ignores other endpoints.
  void set_share(std::uint32_t index, double share) noexcept;
  void begun(std::uint32_t index, TimePoint now) noexcept;
  void ended(std::uint32_t index, const CallReport& report) noexcept;

 private:
  std::unique_ptr<BalancingPolicy> policy_;
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> inner_;  // of each of the whole, its index in members_
};

}  // namespace weft::detail
