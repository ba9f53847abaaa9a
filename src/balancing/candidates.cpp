// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/candidates.hpp"

#include <cmath>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

void Candidates::reset(std::vector<std::uint32_t> weights, std::vector<double> shares) {
  std::vector<std::uint32_t> dense;
  dense.reserve(weights.size());
  std::vector<std::uint32_t> places(weights.size(), kNoIndex);
  weights_ = std::move(weights);
  shares_ = std::move(shares);
  dense_ = std::move(dense);
  place_ = std::move(places);
  parts_of_all_ = 0;
  for (std::uint32_t index = 0; index < weights_.size(); ++index) place(index);
}

void Candidates::place(std::uint32_t index) noexcept {
  if (weights_[index] == 0 || shares_[index] <= 0) return;
  place_[index] = static_cast<std::uint32_t>(dense_.size());
  dense_.push_back(index);
  parts_of_all_ += parts(index);
}

std::uint64_t Candidates::parts(std::uint32_t index) const noexcept {
  if (!contains(index)) return 0;
  const auto share = static_cast<std::uint64_t>(std::lround(shares_[index] * static_cast<double>(kParts)));
  return weights_[index] * std::max<std::uint64_t>(share, 1);
}

void Candidates::set_share(std::uint32_t index, double share) noexcept {
  WEFT_ASSERT(index < weights_.size(), "an endpoint is of the list");
  parts_of_all_ -= parts(index);
  shares_[index] = std::clamp(share, 0.0, 1.0);
  const std::uint32_t hole = place_[index];
  if (hole == kNoIndex) return place(index);
  if (shares_[index] > 0) {
    parts_of_all_ += parts(index);
    return;
  }
  place_[index] = kNoIndex;
  const std::uint32_t last = dense_.back();
  dense_.pop_back();
  if (last == index) return;
  dense_[hole] = last;
  place_[last] = hole;
}

std::optional<std::uint32_t> Candidates::draw(RandomNumbers& random, Tried tried,
                                              std::uint32_t other) const noexcept {
  if (dense_.empty()) return std::nullopt;
  const auto count = static_cast<std::uint32_t>(dense_.size());
  for (int attempt = 0; attempt < 8; ++attempt) {
    const std::uint32_t index = dense_[random.below(count)];
    if (index != other && !was_tried(tried, index) && accepts(index, random)) return index;
  }
  // Among `count` neighbours at least one is untried, if any is.
  std::uint32_t at = random.below(count);
  for (std::size_t step = 0; step < std::min<std::size_t>(count, tried.size() + 2); ++step) {
    const std::uint32_t index = dense_[at];
    if (index != other && !was_tried(tried, index)) return index;
    at = at + 1 == count ? 0 : at + 1;
  }
  return std::nullopt;
}

}  // namespace weft::detail
