// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/smooth_weighted_round_robin.hpp"

#include <array>

namespace weft {

double SmoothWeightedRoundRobin::stride(std::uint64_t parts) noexcept {
  return static_cast<double>(detail::Candidates::kParts) / static_cast<double>(parts);
}

void SmoothWeightedRoundRobin::enter(std::uint32_t index) noexcept {
  strides_[index] = stride(candidates().parts(index));
  turns_[index] = now_ + strides_[index] * phases_[index];
  heap_.set(index, turns_[index]);
}

void SmoothWeightedRoundRobin::list_changed(std::span<const std::uint32_t> before) {
  turns_ = detail::carried_over(turns_, before, 0.0);
  strides_ = detail::carried_over(strides_, before, 0.0);
  phases_.resize(before.size());
  heap_.reset(before.size());
  for (std::uint32_t index = 0; index < before.size(); ++index) {
    detail::RandomNumbers numbers{seed_ ^ key_hash(keys()[index])};
    phases_[index] = numbers.between(0, 1);
    const double known = strides_[index];
    strides_[index] = 0;
    if (!candidates().contains(index)) continue;
    const double waited_for = turns_[index] - now_;
    enter(index);
    if (known == 0) continue;
    // An endpoint that stays keeps its progress towards its turn.
    turns_[index] = now_ + waited_for * strides_[index] / known;
    heap_.set(index, turns_[index]);
  }
}

void SmoothWeightedRoundRobin::share_changed(std::uint32_t index, std::uint64_t parts_before) noexcept {
  if (!candidates().contains(index)) {
    heap_.remove(index);
    strides_[index] = 0;
    return;
  }
  if (parts_before == 0) return enter(index);
  const double known = strides_[index];
  strides_[index] = stride(candidates().parts(index));
  turns_[index] = now_ + (turns_[index] - now_) * strides_[index] / known;
  heap_.set(index, turns_[index]);
}

std::optional<std::uint32_t> SmoothWeightedRoundRobin::pick(const PickRequest& request) noexcept {
  const detail::Tried tried = detail::tried_of(request);
  std::array<std::uint32_t, detail::kTriedMax> aside{};
  std::size_t put_aside = 0;
  while (!heap_.empty() && detail::was_tried(tried, heap_.top())) {
    aside[put_aside++] = heap_.top();
    heap_.remove(heap_.top());
  }
  std::optional<std::uint32_t> picked;
  if (!heap_.empty()) {
    picked = heap_.top();
    // Endpoints that were put aside are due before this turn and stay due: `now` does not pass them.
    if (put_aside == 0) now_ = turns_[*picked];
    turns_[*picked] += strides_[*picked];
    heap_.set(*picked, turns_[*picked]);
  }
  for (std::size_t at = 0; at < put_aside; ++at) heap_.set(aside[at], turns_[aside[at]]);
  return picked;
}

}  // namespace weft
