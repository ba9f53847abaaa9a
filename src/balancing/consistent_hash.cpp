// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/consistent_hash.hpp"

#include <cmath>
#include <tuple>

namespace weft {
namespace {

constexpr std::size_t kRingPointsMax = std::size_t{1} << 18;
/// Number of steps after which the search leaves the ring for the array of candidates, so that a single
/// remaining one is found.
constexpr std::size_t kStepsMax = 256;

std::uint32_t place_of(std::uint64_t hash) noexcept {
  return static_cast<std::uint32_t>(detail::RandomNumbers{hash}.next() >> 32);
}

constexpr FixedFailure kNoFactor{StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
                                 "ConsistentHashOptions::load_factor is not above 1"};
constexpr FixedFailure kNoPoints{StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
                                 "ConsistentHashOptions::points_each is not from 1 to 1024"};

Status check_ring(const ConsistentHashOptions& options) noexcept {
  if (!(options.load_factor > 1)) return Status::of<kNoFactor>();
  if (options.points_each < 1 || options.points_each > 1024) return Status::of<kNoPoints>();
  return {};
}

}  // namespace

ConsistentHash::ConsistentHash(ConsistentHashOptions options) noexcept
    : ListedPolicy(check_ring(options)), options_(options) {}

void ConsistentHash::list_changed(std::span<const std::uint32_t> before) {
  loads_ = detail::carried_over(loads_, before, 0u);
  ring_ = make_ring();
  load_of_candidates_ = 0;
  for (const std::uint32_t index : candidates().all()) load_of_candidates_ += loads_[index];
}

std::vector<ConsistentHash::Point> ConsistentHash::make_ring() const {
  std::uint32_t heaviest = 1;
  for (std::uint32_t index = 0; index < size(); ++index) {
    heaviest = std::max(heaviest, candidates().weight(index));
  }
  // Halves, so that another endpoint more or less hardly ever changes the number.
  std::uint32_t points_each = options_.points_each;
  while (points_each > 1 && points_each * size() > kRingPointsMax) points_each /= 2;

  std::vector<Point> ring;
  ring.reserve(points_each * size());
  for (std::uint32_t index = 0; index < size(); ++index) {
    const std::uint64_t weight = candidates().weight(index);
    if (weight == 0) continue;
    const std::uint64_t points = std::max<std::uint64_t>(1, points_each * weight / heaviest);
    const std::uint64_t hash = key_hash(keys()[index]);
    for (std::uint64_t point = 0; point < points; ++point) ring.push_back({place_of(hash + point), index});
  }
  // Points in one place have the order of their keys, so that the order of the list does not matter.
  std::sort(ring.begin(), ring.end(), [this](const Point& left, const Point& right) {
    if (left.place != right.place) return left.place < right.place;
    return std::tie(keys()[left.index], left.index) < std::tie(keys()[right.index], right.index);
  });
  return ring;
}

void ConsistentHash::share_changed(std::uint32_t index, std::uint64_t parts_before) noexcept {
  const bool is = candidates().contains(index);
  if (is == (parts_before > 0)) return;
  if (is) {
    load_of_candidates_ += loads_[index];
  } else {
    load_of_candidates_ -= loads_[index];
  }
}

double ConsistentHash::bound(detail::Tried tried) const noexcept {
  std::uint64_t parts = candidates().parts_of_all();
  std::uint64_t load = load_of_candidates_ + 1;
  for (std::size_t at = 0; at < tried.size(); ++at) {
    const std::uint32_t index = tried[at];
    if (index >= size() || !candidates().contains(index)) continue;
    if (detail::was_tried(tried.first(at), index)) continue;
    parts -= candidates().parts(index);
    load -= loads_[index];
  }
  return parts == 0 ? 0 : options_.load_factor * static_cast<double>(load) / static_cast<double>(parts);
}

bool ConsistentHash::has_room(std::uint32_t index, double bound) const noexcept {
  // The little that is taken away is more than rounding can have added, and less than one call.
  const double most = std::ceil(bound * static_cast<double>(candidates().parts(index)) - 1e-6);
  return loads_[index] < most;
}

std::optional<std::uint32_t> ConsistentHash::pick(const PickRequest& request) noexcept {
  const std::span<const std::uint32_t> all = candidates().all();
  if (all.empty()) return std::nullopt;
  const detail::Tried tried = detail::tried_of(request);
  const double most = bound(tried);
  // One key for all calls that are about nothing would send them to one endpoint.
  const std::uint64_t key = request.key_hash != 0 ? request.key_hash : request.random;
  const std::uint32_t place = place_of(key);
  auto at = std::lower_bound(ring_.begin(), ring_.end(), place,
                             [](const Point& point, std::uint32_t wanted) { return point.place < wanted; });
  for (std::size_t step = 0; step < std::min(ring_.size(), kStepsMax); ++step, ++at) {
    if (at == ring_.end()) at = ring_.begin();
    const std::uint32_t index = at->index;
    if (has_room(index, most) && !detail::was_tried(tried, index)) return index;
  }
  std::size_t next = detail::RandomNumbers{key}.below(static_cast<std::uint32_t>(all.size()));
  std::optional<std::uint32_t> full;
  for (std::size_t step = 0; step < all.size(); ++step, ++next) {
    if (next == all.size()) next = 0;
    const std::uint32_t index = all[next];
    if (detail::was_tried(tried, index)) continue;
    if (has_room(index, most)) return index;
    full = index;
  }
  return full;
}

void ConsistentHash::begun(std::uint32_t index, TimePoint /*now*/) noexcept {
  ++loads_[index];
  if (candidates().contains(index)) ++load_of_candidates_;
}

void ConsistentHash::ended(std::uint32_t index, const CallReport& /*report*/) noexcept {
  // A call that began before its endpoint came into this list was not counted.
  if (loads_[index] == 0) return;
  --loads_[index];
  if (candidates().contains(index)) --load_of_candidates_;
}

}  // namespace weft
