// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/balancing/indexed_heap.hpp"
#include "weft/detail/balancing/listed_policy.hpp"

namespace weft {

/// Each endpoint in turn as often as its weight says, and as evenly as can be: with weights 5, 1 and 1 the
/// first comes at no time more often in a row than it must. After any number of picks each has had its
/// part, give or take two.
///
/// It goes by strides: an endpoint's turns are 1 / weight apart, and whose turn is the earliest is picked.
/// Waldspurger, Weihl: Stride Scheduling, 1995. nginx's algorithm of this name gives sequences like these and
/// looks at all endpoints for each pick. The first turns are spread by `seed` and key, so that clients with
/// different seeds do not meet. A pick costs O(log n).
class SmoothWeightedRoundRobin final : public detail::ListedPolicy {
 public:
  explicit SmoothWeightedRoundRobin(std::uint64_t seed) noexcept : seed_(seed) {}

  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept override;

 private:
  void list_changed(std::span<const std::uint32_t> before) override;
  void share_changed(std::uint32_t index, std::uint64_t parts_before) noexcept override;
  /// The distance between two turns of what counts `parts`.
  static double stride(std::uint64_t parts) noexcept;
  /// Lets `index` come in from now on, at its own phase.
  void enter(std::uint32_t index) noexcept;

  std::uint64_t seed_;
  double now_ = 0;               // the turn that was given last
  std::vector<double> turns_;    // the next one of each
  std::vector<double> strides_;  // of each, zero while it is out
  std::vector<double> phases_;   // of each, from 0 to 1
  detail::IndexedHeap<double> heap_;
};

}  // namespace weft
