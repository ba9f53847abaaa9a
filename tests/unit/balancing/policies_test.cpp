// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "support/heap_count.hpp"
#include "unit/balancing/fleet.hpp"
#include "weft/detail/balancing/consistent_hash.hpp"
#include "weft/detail/balancing/least_loaded.hpp"
#include "weft/detail/balancing/locality_first.hpp"
#include "weft/detail/balancing/outlier_ejection.hpp"
#include "weft/detail/balancing/random_pick.hpp"
#include "weft/detail/balancing/round_robin.hpp"
#include "weft/detail/balancing/smooth_weighted_round_robin.hpp"
#include "weft/detail/balancing/subset.hpp"

namespace weft {
namespace {

using testing::kFleetStart;
using testing::ListOfServers;

struct NamedPolicy {
  const char* name;
  std::unique_ptr<BalancingPolicy> (*make)();
};

std::unique_ptr<BalancingPolicy> least_loaded() {
  return std::make_unique<LeastLoaded>();
}

constexpr NamedPolicy kPolicies[] = {
    {"RoundRobin", []() -> std::unique_ptr<BalancingPolicy> { return std::make_unique<RoundRobin>(); }},
    {"Smooth",
     []() -> std::unique_ptr<BalancingPolicy> { return std::make_unique<SmoothWeightedRoundRobin>(7); }},
    {"RandomPick", []() -> std::unique_ptr<BalancingPolicy> { return std::make_unique<RandomPick>(); }},
    {"LeastLoaded", &least_loaded},
    {"ConsistentHash",
     []() -> std::unique_ptr<BalancingPolicy> { return std::make_unique<ConsistentHash>(); }},
    {"LocalityFirst",
     []() -> std::unique_ptr<BalancingPolicy> {
       return std::make_unique<LocalityFirst>(LocalityFirstOptions{.zone = "a"}, least_loaded(),
                                              least_loaded());
     }},
    {"Subset",
     []() -> std::unique_ptr<BalancingPolicy> {
       return std::make_unique<detail::Subset>(SubsetOptions{.size = 100}, least_loaded());
     }},
    {"OutlierEjection",
     []() -> std::unique_ptr<BalancingPolicy> {
       return std::make_unique<detail::OutlierEjection>(OutlierOptions{}, least_loaded());
     }},
};

class EveryPolicy : public ::testing::TestWithParam<NamedPolicy> {
 protected:
  std::unique_ptr<BalancingPolicy> policy_ = GetParam().make();
};

TEST_P(EveryPolicy, PicksNothingFromNothing) {
  EXPECT_FALSE(policy_->pick({.now = kFleetStart}).has_value());
  ASSERT_TRUE(policy_->set_endpoints({}).ok());
  EXPECT_FALSE(policy_->pick({.now = kFleetStart}).has_value());
}

TEST_P(EveryPolicy, PicksEachOfAFewThatWereNotTried) {
  const ListOfServers list{8};
  ASSERT_TRUE(policy_->set_endpoints(list.specs).ok());
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    detail::RandomNumbers random{seed};
    std::vector<std::uint32_t> tried;
    for (int attempt = 0; attempt < 8; ++attempt) {
      const auto picked =
          policy_->pick({.now = kFleetStart, .random = random.next(), .key_hash = seed, .tried = tried});
      ASSERT_TRUE(picked.has_value()) << "seed " << seed;
      ASSERT_EQ(std::count(tried.begin(), tried.end(), *picked), 0) << "seed " << seed;
      tried.push_back(*picked);
    }
    EXPECT_FALSE(policy_->pick({.now = kFleetStart, .random = random.next(), .tried = tried}).has_value());
  }
}

TEST_P(EveryPolicy, LeavesOutWhoHasNoShareAndNoWeight) {
  const ListOfServers list{4, {1, 0, 1, 1}};
  ASSERT_TRUE(policy_->set_endpoints(list.specs).ok());
  policy_->set_share(3, 0);
  std::vector<int> picks(4);
  for (std::uint64_t number = 0; number < 1000; ++number) {
    ++picks[policy_->pick({.now = kFleetStart, .random = number, .key_hash = number}).value()];
  }
  EXPECT_GT(picks[0], 300);
  EXPECT_EQ(picks[1], 0);
  EXPECT_GT(picks[2], 300);
  EXPECT_EQ(picks[3], 0);
}

TEST_P(EveryPolicy, RefusesAListThatIsTooLongAndKeepsTheLast) {
  const ListOfServers list{3};
  ASSERT_TRUE(policy_->set_endpoints(list.specs).ok());
  const std::vector<EndpointSpec> many(kEndpointsMax + 1, EndpointSpec{.key = "x"});
  EXPECT_EQ(policy_->set_endpoints(many).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(policy_->size(), 3u);
  EXPECT_TRUE(policy_->pick({.now = kFleetStart}).has_value());
}

/// A churn of lists, shares, picks and ends, which checks what must hold always. Returns the picks.
std::vector<std::uint32_t> churn(BalancingPolicy& policy, std::uint64_t seed) {
  detail::RandomNumbers random{seed};
  const ListOfServers all{40};
  std::vector<std::uint32_t> trace;
  TimePoint now = kFleetStart;
  for (int epoch = 0; epoch < 30; ++epoch) {
    std::vector<EndpointSpec> list;
    for (const EndpointSpec& spec : all.specs) {
      if (random.below(3) == 0) continue;
      list.push_back({spec.key, random.below(4), random.below(2) == 0 ? "a" : "b"});
    }
    EXPECT_TRUE(policy.set_endpoints(list).ok());
    for (int step = 0; step < 300; ++step) {
      now += Duration{random.below(100'000'000)};
      const std::uint32_t some = random.below(static_cast<std::uint32_t>(list.size()));
      if (random.below(10) == 0) policy.set_share(some, random.below(5) / 4.0);
      const std::vector<std::uint32_t> tried{some, random.below(static_cast<std::uint32_t>(list.size()))};
      const auto picked =
          policy.pick({.now = now, .random = random.next(), .key_hash = random.next(), .tried = tried});
      if (!picked) continue;
      EXPECT_LT(*picked, list.size()) << "seed " << seed;
      EXPECT_GT(list[*picked].weight, 0u) << "seed " << seed;
      EXPECT_EQ(std::count(tried.begin(), tried.end(), *picked), 0) << "seed " << seed;
      trace.push_back(*picked);
      policy.begun(*picked, now);
      if (random.below(4) == 0) continue;  // its end never comes, or comes under another list
      policy.ended(*picked,
                   {now + Duration{1000}, static_cast<CallOutcome>(random.below(3)), Duration{1000}});
    }
  }
  return trace;
}

TEST_P(EveryPolicy, StandsAChurnAndRepeatsItExactly) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto first = GetParam().make();
    const auto second = GetParam().make();
    const std::vector<std::uint32_t> trace = churn(*first, seed);
    EXPECT_GT(trace.size(), 5000u) << "seed " << seed;
    EXPECT_EQ(trace, churn(*second, seed)) << "seed " << seed;
  }
}

TEST_P(EveryPolicy, TakesNoMemoryForPicksAndReports) {
  const ListOfServers list{1000};
  ASSERT_TRUE(policy_->set_endpoints(list.specs).ok());
  const std::size_t before = testing::heap_allocations();
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    const TimePoint now = kFleetStart + std::chrono::milliseconds{number};
    const std::uint32_t tried[] = {static_cast<std::uint32_t>(number % 1000)};
    const auto picked = policy_->pick({.now = now, .random = number, .key_hash = number, .tried = tried});
    if (!picked) continue;
    policy_->begun(*picked, now);
    policy_->ended(*picked,
                   {now, number % 3 == 0 ? CallOutcome::kFailure : CallOutcome::kSuccess, Duration{5}});
    policy_->set_share(static_cast<std::uint32_t>(number % 1000), number % 5 / 4.0);
  }
  EXPECT_TRUE(!testing::kHeapIsCounted || testing::heap_allocations() == before);
}

INSTANTIATE_TEST_SUITE_P(All, EveryPolicy, ::testing::ValuesIn(kPolicies),
                         [](const auto& policy) { return std::string{policy.param.name}; });

}  // namespace
}  // namespace weft
