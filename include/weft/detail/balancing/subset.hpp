// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/balancing/part_of_list.hpp"

namespace weft {

struct SubsetOptions {
  /// Number of endpoints that this client uses; at least 1. With fewer in the list it uses all. Choose a
  /// number large enough that the client survives correlated failures: twenty or more.
  std::uint32_t size = 20;
  /// Number of this client, from 0 on without gaps where that is known, as the ordinal of a replica is: then
  /// servers have equal numbers of clients, but for a few. A hash of its name, where it is not: then these
  /// numbers vary as chance has it.
  std::uint64_t client = 0;
};

namespace detail {

/// A few endpoints for each client of a large fleet, so that a thousand clients and a thousand servers need
/// not hold a million connections. When an endpoint comes or leaves, a client exchanges at most two.
///
/// Endpoints stand on a circle, in the order of the hashes of their keys and at equal distances; a client's
/// position follows the van der Corput sequence, which fills the circle evenly for any number of clients; a
/// client uses the endpoints that follow its position. This is the Ringsteady of Ward, Wankadia, Guliani:
/// Reinventing Backend Subsetting at Google, ACM Queue 20(5), 2022, with endpoints at equal distances since
/// they have no numbers. Costs the same as the inner policy.
class Subset final : public BalancingPolicy {
 public:
  Subset(SubsetOptions options, std::unique_ptr<BalancingPolicy> within);

  Status set_endpoints(std::span<const EndpointSpec> list) override;
  std::size_t size() const noexcept override { return keys_.size(); }
  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept override;
  void set_share(std::uint32_t index, double share) noexcept override;
  void begun(std::uint32_t index, TimePoint now) noexcept override { part_.begun(index, now); }
  void ended(std::uint32_t index, const CallReport& report) noexcept override { part_.ended(index, report); }

  /// Returns the endpoints that this client uses: the ones worth a connection. Valid until the next list.
  std::span<const std::uint32_t> members() const noexcept { return part_.members(); }

 private:
  SubsetOptions options_;
  PartOfList part_;
  EndpointKeys keys_;
  std::vector<double> shares_;
};

}  // namespace detail

}  // namespace weft
