// SPDX-License-Identifier: Apache-2.0
#include "load/histogram.hpp"

#include <cmath>

namespace weft::load {

Histogram::Histogram() : counts_(index_of(kValueMax) + 1) {}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  total_ += other.total_;
  max_ = std::max(max_, other.max_);
}

std::uint64_t Histogram::value_at(double quantile) const {
  if (total_ == 0) return 0;
  const double exact = std::ceil(std::clamp(quantile, 0.0, 1.0) * static_cast<double>(total_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(exact), 1, total_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    // The last bucket also holds what was too large for any; only max_ knows how large.
    if (seen >= rank) return i + 1 == counts_.size() ? max_ : std::min(last_value_of(i), max_);
  }
  return max_;
}

}  // namespace weft::load
