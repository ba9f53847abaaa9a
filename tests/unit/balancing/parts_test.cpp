// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "unit/balancing/fleet.hpp"
#include "weft/detail/balancing/locality_first.hpp"
#include "weft/detail/balancing/random_pick.hpp"
#include "weft/detail/balancing/round_robin.hpp"
#include "weft/detail/balancing/subset.hpp"

namespace weft {
namespace {

using testing::kFleetStart;
using testing::ListOfServers;

class InZones : public ::testing::Test {
 protected:
  InZones() {
    for (std::size_t index = 0; index < 10; ++index) list_.specs[index].zone = "here";
    EXPECT_TRUE(policy_.set_endpoints(list_.specs).ok());
  }
  /// Returns the part of the picks that stays.
  double near_picks() {
    int near = 0;
    for (int pick = 0; pick < 10'000; ++pick) {
      near += static_cast<int>(policy_.pick({.now = kFleetStart, .random = random_.next()}).value() < 10);
    }
    return near / 10'000.0;
  }

  ListOfServers list_{30};
  LocalityFirst policy_{{.zone = "here", .healthy_share_min = 0.8},
                        std::make_unique<RoundRobin>(),
                        std::make_unique<RoundRobin>()};
  detail::RandomNumbers random_{1};
};

TEST_F(InZones, AllStaysWhileEnoughIsHealthy) {
  EXPECT_EQ(near_picks(), 1.0);
  policy_.set_share(0, 0);
  policy_.set_share(1, 0);
  EXPECT_EQ(near_picks(), 1.0);
}

TEST_F(InZones, WhatIsTooMuchSpillsOver) {
  for (std::uint32_t index = 0; index < 6; ++index) policy_.set_share(index, 0);
  EXPECT_NEAR(policy_.near_part(), 0.5, 1e-6);
  EXPECT_NEAR(near_picks(), 0.5, 0.03);
  for (std::uint32_t index = 0; index < 10; ++index) policy_.set_share(index, 0);
  EXPECT_EQ(near_picks(), 0.0);
  for (std::uint32_t index = 0; index < 10; ++index) policy_.set_share(index, 1);
  EXPECT_EQ(near_picks(), 1.0);
}

TEST_F(InZones, HealthGoesWithWhoMovesToAnotherZone) {
  policy_.set_share(12, 0);
  list_.specs[12].zone = "here";
  ASSERT_TRUE(policy_.set_endpoints(list_.specs).ok());
  for (std::uint64_t number = 0; number < 1000; ++number) {
    EXPECT_NE(policy_.pick({.now = kFleetStart, .random = number}).value(), 12u);
  }
}

std::set<std::string_view> members(const std::vector<EndpointSpec>& list, std::uint64_t client) {
  detail::Subset subset{{.size = 20, .client = client}, std::make_unique<RandomPick>()};
  EXPECT_TRUE(subset.set_endpoints(list).ok());
  std::set<std::string_view> keys;
  for (const std::uint32_t index : subset.members()) keys.insert(list[index].key);
  return keys;
}

TEST(Subsets, LoadServersEvenly) {
  const ListOfServers list{100};
  for (const std::uint64_t clients : {50u, 128u, 300u, 1000u}) {
    std::map<std::string_view, int> loads;
    for (std::uint64_t client = 0; client < clients; ++client) {
      const std::set<std::string_view> used = members(list.specs, client);
      EXPECT_EQ(used.size(), 20u);
      for (const std::string_view key : used) ++loads[key];
    }
    const double mean = static_cast<double>(clients) * 20 / 100;
    EXPECT_EQ(loads.size(), 100u);
    for (const auto& [key, load] : loads) EXPECT_NEAR(load, mean, 4) << clients << " clients, " << key;
  }
}

TEST(Subsets, ExchangeTwoAtMostWhenOneLeavesOrComes) {
  const ListOfServers list{100};
  double exchanged = 0;
  for (std::size_t leaves = 0; leaves < 100; leaves += 9) {
    const std::vector<EndpointSpec> rest = list.without(leaves);
    for (std::uint64_t client = 0; client < 64; ++client) {
      const std::set<std::string_view> before = members(list.specs, client);
      std::size_t stayed = 0;
      for (const std::string_view key : members(rest, client)) stayed += before.count(key);
      EXPECT_GE(stayed, 18u) << "client " << client;
      exchanged += 20.0 - static_cast<double>(stayed);
    }
  }
  EXPECT_LE(exchanged / (12 * 64), 1.0);
}

}  // namespace
}  // namespace weft
