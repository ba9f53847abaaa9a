// SPDX-License-Identifier: Apache-2.0
// Measures the cost of balancing one call: a pick, its begin and its end, for each policy and size of fleet.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "weft/detail/balancing/consistent_hash.hpp"
#include "weft/detail/balancing/least_loaded.hpp"
#include "weft/detail/balancing/locality_first.hpp"
#include "weft/detail/balancing/outlier_ejection.hpp"
#include "weft/detail/balancing/random_pick.hpp"
#include "weft/detail/balancing/round_robin.hpp"
#include "weft/detail/balancing/smooth_weighted_round_robin.hpp"
#include "weft/detail/balancing/subset.hpp"
#include "weft/detail/base/random_numbers.hpp"

namespace weft {
namespace {

using Made = std::unique_ptr<BalancingPolicy>;

Made round_robin() {
  return std::make_unique<RoundRobin>();
}
Made smooth() {
  return std::make_unique<SmoothWeightedRoundRobin>(1);
}
Made random_pick() {
  return std::make_unique<RandomPick>();
}
Made least_loaded() {
  return std::make_unique<LeastLoaded>();
}
Made consistent_hash() {
  return std::make_unique<ConsistentHash>();
}
Made locality_first() {
  return std::make_unique<LocalityFirst>(LocalityFirstOptions{.zone = "0"}, least_loaded(), least_loaded());
}
Made subset() {
  return std::make_unique<detail::Subset>(SubsetOptions{}, least_loaded());
}
Made outlier_ejection() {
  return std::make_unique<detail::OutlierEjection>(OutlierOptions{}, least_loaded());
}

void fill(BalancingPolicy& policy, std::size_t count) {
  static const std::string zones[] = {"0", "1", "2"};
  std::vector<std::string> keys;
  keys.reserve(count);
  std::vector<EndpointSpec> list;
  for (std::size_t index = 0; index < count; ++index) {
    keys.push_back("tcp://server-" + std::to_string(index) + ":9000");
    list.push_back({keys.back(), static_cast<std::uint32_t>(1 + index % 3), zones[index % 3]});
  }
  if (!policy.set_endpoints(list).ok()) std::abort();
}

void BM_Call(benchmark::State& state, Made (*make)()) {
  const Made policy = make();
  fill(*policy, static_cast<std::size_t>(state.range(0)));
  detail::RandomNumbers random{1};
  TimePoint now{std::chrono::seconds{1}};
  // A window of calls in flight, so that there is a load to compare.
  std::vector<std::uint32_t> window(64, 0);
  for (std::uint32_t& index : window) {
    index = policy->pick({.now = now, .random = random.next(), .key_hash = random.next()}).value();
    policy->begun(index, now);
  }
  std::size_t oldest = 0;
  for (auto _ : state) {
    now += Duration{1000};
    std::uint32_t& index = window[oldest];
    oldest = (oldest + 1) % window.size();
    policy->ended(index, {now, CallOutcome::kSuccess, Duration{64'000}});
    index = policy->pick({.now = now, .random = random.next(), .key_hash = random.next()}).value();
    policy->begun(index, now);
  }
}

void BM_NewList(benchmark::State& state, Made (*make)()) {
  const Made policy = make();
  for (auto _ : state) fill(*policy, static_cast<std::size_t>(state.range(0)));
}

#define WEFT_POLICY(make)                                                           \
  BENCHMARK_CAPTURE(BM_Call, make, &make)->Arg(1)->Arg(16)->Arg(1000)->Arg(10'000); \
  BENCHMARK_CAPTURE(BM_NewList, make, &make)->Arg(10'000)->Unit(benchmark::kMillisecond)

WEFT_POLICY(round_robin);
WEFT_POLICY(smooth);
WEFT_POLICY(random_pick);
WEFT_POLICY(least_loaded);
WEFT_POLICY(consistent_hash);
WEFT_POLICY(locality_first);
WEFT_POLICY(subset);
WEFT_POLICY(outlier_ejection);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
