// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/balancing/listed_policy.hpp"

namespace weft {

struct ConsistentHashOptions {
  /// An endpoint has at most this many times the calls in flight that it would have if all had the same for
  /// each unit of weight, rounded up; above 1. Less spreads more keys over several servers.
  double load_factor = 1.25;
  /// Points on the ring for an endpoint of the largest weight, others have fewer; from 1 to 1024. More makes
  /// the parts of the ring more equal. With many endpoints it is halved until the ring has at most 2^18.
  std::uint32_t points_each = 128;
};

/// Calls with one key go to one endpoint (PickRequest::key_hash), or, if that is full, unavailable, or was
/// tried, to the next one for this key. Calls without a key are spread. When one of n endpoints leaves, only
/// its keys move; when one is added, it takes about 1 / n of them. All clients with the same list agree,
/// because the ring depends only on keys and weights; LocalityFirst and Subset around it would make them
/// disagree.
///
/// Sources: Karger et al.: Consistent Hashing and Random Trees, 1997; Mirrokni, Thorup, Zadimoghaddam:
/// Consistent Hashing with Bounded Loads, 2016. A pick costs O(log n), and further steps for endpoints that
/// are unavailable or at their bound. Each point takes eight bytes.
class ConsistentHash final : public detail::ListedPolicy {
 public:
  explicit ConsistentHash(ConsistentHashOptions options = {}) noexcept;

  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept override;
  void begun(std::uint32_t index, TimePoint now) noexcept override;
  void ended(std::uint32_t index, const CallReport& report) noexcept override;

  std::uint32_t in_flight(std::uint32_t index) const noexcept { return loads_[index]; }

 private:
  struct Point {
    std::uint32_t place;
    std::uint32_t index;
  };

  void list_changed(std::span<const std::uint32_t> before) override;
  void share_changed(std::uint32_t index, std::uint64_t parts_before) noexcept override;
  std::vector<Point> make_ring() const;
  /// Calls in flight for each part that counts, which no endpoint goes beyond with this call.
  double bound(detail::Tried tried) const noexcept;
  bool has_room(std::uint32_t index, double bound) const noexcept;

  ConsistentHashOptions options_;
  std::vector<Point> ring_;  // by place
  std::vector<std::uint32_t> loads_;
  std::uint64_t load_of_candidates_ = 0;
};

}  // namespace weft
