// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/balancing/indexed_heap.hpp"
#include "weft/detail/balancing/listed_policy.hpp"

namespace weft {

/// Picks each endpoint as often as its weight demands, and as evenly as possible: with weights 5, 1 and 1 the
/// first is never picked more often in a row than necessary. After any number of picks each endpoint has had
/// its share, to within two.
///
/// Uses strides: the turns of an endpoint are 1 / weight apart, and the endpoint with the earliest turn is
/// picked. Waldspurger, Weihl: Stride Scheduling, 1995. nginx's algorithm of this name gives similar
/// sequences and examines all endpoints for each pick. The first turns are spread by `seed` and key, so that
/// clients with different seeds do not coincide. A pick costs O(log n).
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
