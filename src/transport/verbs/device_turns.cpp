// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/device_turns.hpp"

#include <algorithm>
#include <climits>
#include <iterator>
#include <utility>

namespace weft::detail::verbs_carrier {

namespace {

// Nothing is nearer than a node is to itself.
constexpr int kHere = 10;

struct Candidate {
  int distance = kHere;
  std::size_t place = 0;
  std::string name;
};

}  // namespace

// A device with an unknown NUMA node ranks as equal to any other.
int DeviceTurns::distance(int from, const std::string& device) const {
  const int to = from < 0 ? -1 : driver_.numa_node(device.c_str());
  if (to < 0) return -1;
  const int told = driver_.numa_distance(from, to);
  return told < 0 && from == to ? kHere : told;
}

std::vector<std::string> DeviceTurns::next(std::vector<std::string> devices) {
  if (devices.empty()) return devices;
  const bool by_distance = choice_ == DeviceChoice::kNearest;
  const int node = by_distance ? driver_.current_numa_node() : -1;
  std::vector<Candidate> order;
  order.reserve(devices.size());
  int least = INT_MAX;
  for (std::string& name : devices) {
    const int how_far = distance(node, name);
    if (how_far >= 0) least = std::min(least, how_far);
    order.push_back({how_far, order.size(), std::move(name)});
  }
  for (Candidate& each : order) {
    if (each.distance < 0) each.distance = least;
  }
  std::ranges::sort(order, {}, [](const Candidate& each) { return std::pair(each.distance, each.place); });
  const auto equals = std::ranges::upper_bound(order, order.front().distance, {}, &Candidate::distance);
  const auto count = static_cast<std::size_t>(equals - order.begin());
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(asked_[node]++ % count), equals);
  devices.clear();
  for (Candidate& each : order) devices.push_back(std::move(each.name));
  return devices;
}

}  // namespace weft::detail::verbs_carrier
