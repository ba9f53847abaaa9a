// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/random_pick.hpp"

#include <array>

namespace weft {

void RandomPick::list_changed(std::span<const std::uint32_t> before) {
  std::vector<std::uint64_t> parts(before.size());
  for (std::uint32_t index = 0; index < parts.size(); ++index) parts[index] = candidates().parts(index);
  parts_.reset(parts);
}

void RandomPick::share_changed(std::uint32_t index, std::uint64_t parts_before) noexcept {
  parts_.add(index, static_cast<std::int64_t>(candidates().parts(index) - parts_before));
}

std::optional<std::uint32_t> RandomPick::pick(const PickRequest& request) noexcept {
  // Endpoints that were tried weigh nothing during this pick.
  std::array<std::uint32_t, detail::kTriedMax> aside{};
  std::size_t put_aside = 0;
  for (const std::uint32_t index : detail::tried_of(request)) {
    if (index >= size() || detail::was_tried({aside.data(), put_aside}, index)) continue;
    aside[put_aside++] = index;
    parts_.add(index, -static_cast<std::int64_t>(candidates().parts(index)));
  }
  std::optional<std::uint32_t> picked;
  if (parts_.total() > 0) picked = parts_.find(detail::RandomNumbers{request.random}.next() % parts_.total());
  for (std::size_t at = 0; at < put_aside; ++at) {
    parts_.add(aside[at], static_cast<std::int64_t>(candidates().parts(aside[at])));
  }
  return picked;
}

}  // namespace weft
