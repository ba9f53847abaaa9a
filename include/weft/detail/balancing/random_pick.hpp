// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/balancing/fenwick_tree.hpp"
#include "weft/detail/balancing/listed_policy.hpp"

namespace weft {

/// Picks any endpoint at random by weight. Stores nothing about earlier picks, so a large number of clients
/// never acts in step; a server sees bursts that RoundRobin would not cause. Costs O(log n).
class RandomPick final : public detail::ListedPolicy {
 public:
  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept override;

 private:
  void list_changed(std::span<const std::uint32_t> before) override;
  void share_changed(std::uint32_t index, std::uint64_t parts_before) noexcept override;

  detail::FenwickTree parts_;
};

}  // namespace weft
