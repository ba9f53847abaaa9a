// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/round_robin.hpp"

namespace weft {

void RoundRobin::list_changed(std::span<const std::uint32_t> /*before*/) {
  if (size() == 0) begun_somewhere_ = false;
}

std::optional<std::uint32_t> RoundRobin::pick(const PickRequest& request) noexcept {
  const std::span<const std::uint32_t> all = candidates().all();
  if (all.empty()) return std::nullopt;
  detail::RandomNumbers random{request.random};
  const detail::Tried tried = detail::tried_of(request);
  if (!begun_somewhere_) next_ = random.below(static_cast<std::uint32_t>(all.size()));
  begun_somewhere_ = true;

  std::optional<std::uint32_t> passed_over;
  // Beyond those tried, a few may be passed over that have only a part of their share.
  for (std::size_t step = 0; step < std::min(all.size(), tried.size() + 8); ++step) {
    if (next_ >= all.size()) next_ = 0;
    const std::uint32_t index = all[next_++];
    if (detail::was_tried(tried, index)) continue;
    if (candidates().accepts(index, random)) return index;
    if (!passed_over) passed_over = index;
  }
  return passed_over;
}

}  // namespace weft
