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

  /// Returns a server that the policy allows and that is not among `tried`; any of them if there are several.
  /// Null when there is none: then `quiet_until` is `now`, or the future time at which `method` may be
  /// called. With `only_trusted` other servers are skipped.
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
