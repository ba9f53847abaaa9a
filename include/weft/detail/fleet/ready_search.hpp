// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "weft/detail/base/random_numbers.hpp"
#include "weft/detail/fleet/fleet_links.hpp"
#include "weft/detail/fleet/nobody_ready.hpp"

namespace weft::detail {

/// Finds a connected server when the one that the policy picked is not connected, or must be left alone.
/// Thread: the loop's.
class ReadySearch {
 public:
  /// Both outlive it.
  ReadySearch(const FleetChoice& choice, const FleetLinks& links) : choice_(choice), links_(links) {}

  /// Returns one that the policy would give calls to, and that is not among `tried`; any of them if there are
  /// several. Null when there is none, and then `quiet_until` is `now`, or in the future if `method` may be
  /// called then.
  /// With `only_trusted` others are passed over.
  FleetMember* find(std::uint64_t method, std::span<const std::uint32_t> tried, bool only_trusted,
                    TimePoint now, RandomNumbers& random, TimePoint& quiet_until) noexcept;
  /// Returns how many servers were looked at so far.
  std::uint64_t looks() const noexcept { return looks_; }

 private:
  const FleetChoice& choice_;
  const FleetLinks& links_;
  NobodyReady nobody_;
  std::uint64_t looks_ = 0;
};

}  // namespace weft::detail
