// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/balancing/candidates.hpp"

namespace weft::detail {

/// Base of all policies with their own list: keeps the list, and filters by health. Derived classes see
/// candidates only, and are notified when these change.
class ListedPolicy : public BalancingPolicy {
 public:
  ListedPolicy() noexcept = default;
  /// `misuse` names an option without a usable value: then no list is taken, and nothing is ever picked.
  explicit ListedPolicy(Status misuse) noexcept : misuse_(std::move(misuse)) {}

  Status set_endpoints(std::span<const EndpointSpec> list) final;
  std::size_t size() const noexcept final { return candidates_.endpoints(); }
  void set_share(std::uint32_t index, double share) noexcept final;
  void begun(std::uint32_t /*index*/, TimePoint /*now*/) noexcept override {}
  void ended(std::uint32_t /*index*/, const CallReport& /*report*/) noexcept override {}

 protected:
  const Candidates& candidates() const noexcept { return candidates_; }
  const EndpointKeys& keys() const noexcept { return keys_; }

  /// The list is another one; `before` has the index that each endpoint had in the one before.
  virtual void list_changed(std::span<const std::uint32_t> before) = 0;
  /// The share of an endpoint has changed; `parts_before` is how much it counted.
  virtual void share_changed(std::uint32_t /*index*/, std::uint64_t /*parts_before*/) noexcept {}

 private:
  const Status misuse_;
  EndpointKeys keys_;
  Candidates candidates_;
};

}  // namespace weft::detail
