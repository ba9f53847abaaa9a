// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/balancing/listed_policy.hpp"

namespace weft {

/// Picks one endpoint after the other. Weights are ignored, except that zero excludes an endpoint; use
/// SmoothWeightedRoundRobin for weights. Each client begins at another endpoint, so that many small clients
/// do not all begin with the same server. A pick costs O(1) in the number of endpoints; the policy takes some
/// 20 bytes and the key for each.
class RoundRobin final : public detail::ListedPolicy {
 public:
  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept override;

 private:
  void list_changed(std::span<const std::uint32_t> before) override;

  std::uint32_t next_ = 0;  // among the candidates
  bool begun_somewhere_ = false;
};

}  // namespace weft
