// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/ready_search.hpp"

#include <algorithm>

namespace weft::detail {

namespace {

/// Servers that are looked at for one that is trusted: a call can wait for the one it would rather have.
constexpr std::size_t kTrustedLooksMax = 16;

}  // namespace

// If no server is ready for a call's first attempt, none is ready for any call.
FleetMember* ReadySearch::find(std::uint64_t method, std::span<const std::uint32_t> tried, bool only_trusted,
                               TimePoint now, RandomNumbers& random, TimePoint& quiet_until) noexcept {
  const std::uint64_t changes = links_.changes() + choice_.changes();
  if (nobody_.holds(method, changes, now, quiet_until)) return nullptr;
  const std::span<FleetMember* const> ready = links_.ready();
  const std::size_t first = ready.empty() ? 0 : random.below(static_cast<std::uint32_t>(ready.size()));
  quiet_until = TimePoint::max();
  std::size_t quiet_ones = 0;
  const std::size_t looks = only_trusted ? std::min(ready.size(), kTrustedLooksMax) : ready.size();
  bool some_left_out = looks < ready.size();
  for (std::size_t i = 0; i < looks; ++i) {
    FleetMember& member = *ready[(first + i) % ready.size()];
    ++looks_;
    if (std::find(tried.begin(), tried.end(), member.index) != tried.end()) {
      some_left_out = true;
      continue;
    }
    if (only_trusted && !member.is_trusted(now)) {
      some_left_out = true;
      continue;
    }
    if (!choice_.admits(member) || !links_.is_up(member)) continue;
    const TimePoint quiet = member.quiet.until(method, now);
    if (quiet <= now) return &member;
    quiet_until = std::min(quiet_until, quiet);
    ++quiet_ones;
  }
  if (quiet_until == TimePoint::max()) quiet_until = now;
  const bool all_quiet = quiet_ones != 0 && quiet_ones == ready.size();
  if (!some_left_out) nobody_.note(method, changes, now, quiet_until, all_quiet);
  return nullptr;
}

}  // namespace weft::detail
