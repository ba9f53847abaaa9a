// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/detail/balancing/endpoint_keys.hpp"
#include "weft/detail/base/random_numbers.hpp"

namespace weft::detail {

using Tried = std::span<const std::uint32_t>;

/// The part of PickRequest::tried that is read.
inline Tried tried_of(const PickRequest& request) noexcept {
  return request.tried.first(std::min(request.tried.size(), kTriedMax));
}
inline bool was_tried(Tried tried, std::uint32_t index) noexcept {
  return std::find(tried.begin(), tried.end(), index) != tried.end();
}

/// Endpoints that may be picked, in a dense array, and their weights: weight times share. Ejected endpoints
/// are not in the array, so that no policy iterates over them. All functions except reset() are O(1).
class Candidates {
 public:
  /// Parts that the weight of an endpoint is counted in: a share is a multiple of 1 / kParts, none but zero
  /// rounded to it.
  static constexpr std::uint64_t kParts = 1024;

  /// `weights` of all endpoints, and the share of each.
  void reset(std::vector<std::uint32_t> weights, std::vector<double> shares);
  void set_share(std::uint32_t index, double share) noexcept;

  std::span<const std::uint32_t> all() const noexcept { return {dense_.data(), dense_.size()}; }
  bool contains(std::uint32_t index) const noexcept { return place_[index] != kNoIndex; }
  /// Number of all endpoints, candidates or not.
  std::size_t endpoints() const noexcept { return weights_.size(); }
  double share(std::uint32_t index) const noexcept { return shares_[index]; }
  const std::vector<double>& shares() const noexcept { return shares_; }
  std::uint32_t weight(std::uint32_t index) const noexcept { return weights_[index]; }
  /// Returns weight times share in units of 1 / kParts; zero if the endpoint is no candidate.
  std::uint64_t parts(std::uint32_t index) const noexcept;
  std::uint64_t parts_of_all() const noexcept { return parts_of_all_; }

  /// True as often as the share of `index` says.
  bool accepts(std::uint32_t index, RandomNumbers& random) const noexcept {
    return shares_[index] >= 1 || random.between(0, 1) < shares_[index];
  }
  /// Returns one at random, all weights alike, that was not tried and is not `other`.
  std::optional<std::uint32_t> draw(RandomNumbers& random, Tried tried,
                                    std::uint32_t other = kNoIndex) const noexcept;

 private:
  void place(std::uint32_t index) noexcept;

  std::vector<std::uint32_t> weights_;
  std::vector<double> shares_;
  std::vector<std::uint32_t> dense_;  // has room for all
  std::vector<std::uint32_t> place_;  // in dense_, of each endpoint
  std::uint64_t parts_of_all_ = 0;
};

}  // namespace weft::detail
