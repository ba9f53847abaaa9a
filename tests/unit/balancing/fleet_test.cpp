// SPDX-License-Identifier: Apache-2.0
#include "unit/balancing/fleet.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "weft/detail/balancing/consistent_hash.hpp"
#include "weft/detail/balancing/least_loaded.hpp"
#include "weft/detail/balancing/outlier_ejection.hpp"
#include "weft/detail/balancing/random_pick.hpp"
#include "weft/detail/balancing/round_robin.hpp"
#include "weft/detail/balancing/subset.hpp"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Fleet;
using testing::kFleetStart;
using testing::ListOfServers;

TEST(FleetModel, RoundRobinIsEvenWithinThreePercent) {
  const ListOfServers list{16};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Fleet fleet{seed, 16, milliseconds{1}};
    RoundRobin policy;
    ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
    fleet.run(policy, 100'000, 10'000);
    for (std::size_t index = 0; index < 16; ++index) {
      EXPECT_NEAR(static_cast<double>(fleet[index].calls), 6250, 6250 * 0.03) << "seed " << seed;
    }
  }
}

TEST(FleetModel, LeastLoadedIsAsGoodAsRandomWhenOneIsTenTimesSlower) {
  const ListOfServers list{16};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto p99 = [&](BalancingPolicy& policy) {
      Fleet fleet{seed, 16, milliseconds{1}};
      fleet[5].service = milliseconds{10};
      EXPECT_TRUE(policy.set_endpoints(list.specs).ok());
      return testing::percentile(fleet.run(policy, 100'000, 8'000), 0.99);
    };
    LeastLoaded two_choices;
    RandomPick random;
    const Duration loaded = p99(two_choices);
    const Duration any = p99(random);
    EXPECT_LE(loaded, any) << "seed " << seed;
    EXPECT_LE(loaded, milliseconds{10}) << "seed " << seed;
  }
}

TEST(FleetModel, BoundedLoadHoldsWhileCallsRun) {
  const ListOfServers list{16};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Fleet fleet{seed, 16, milliseconds{1}};
    ConsistentHash policy{{.load_factor = 1.25}};
    ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
    const std::vector<Duration> latencies = fleet.run(policy, 50'000, 12'000, [&](std::uint32_t picked) {
      double all = 1;
      for (std::size_t index = 0; index < 16; ++index) all += fleet[index].in_flight;
      ASSERT_LE(policy.in_flight(picked) + 1, std::ceil(1.25 * all / 16)) << "seed " << seed;
    });
    EXPECT_EQ(latencies.size(), 50'000u);
  }
}

TEST(FleetModel, AFailingServerIsEjectedAndComesBackBitByBit) {
  const ListOfServers list{16};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Fleet fleet{seed, 16, milliseconds{1}};
    detail::OutlierEjection policy{{}, std::make_unique<RoundRobin>()};
    ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
    fleet[3].fails = true;
    fleet.run(policy, 8'000, 1'000);  // eight seconds
    EXPECT_TRUE(policy.is_ejected(3));
    EXPECT_EQ(policy.ejected(), 1u);
    EXPECT_LE(fleet.failures, 6u) << "seed " << seed;

    fleet[3].fails = false;
    fleet.run(policy, 4'000, 1'000);  // its ten seconds end within
    EXPECT_FALSE(policy.is_ejected(3));
    EXPECT_LT(policy.share(3), 0.5) << "seed " << seed;
    const std::uint64_t early = fleet[3].calls;
    fleet.run(policy, 4'000, 1'000);
    EXPECT_GT(fleet[3].calls, early) << "seed " << seed;
    fleet.run(policy, 10'000, 1'000);
    EXPECT_EQ(policy.share(3), 1);
    fleet.run(policy, 4'000, 1'000);
    EXPECT_NEAR(static_cast<double>(fleet[3].calls), 250, 3) << "seed " << seed;
  }
}

TEST(FleetModel, HalfOfTheFleetInABlackHoleCostsFewCalls) {
  const ListOfServers list{16};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Fleet fleet{seed, 16, milliseconds{1}};
    detail::OutlierEjection policy{{}, std::make_unique<LeastLoaded>()};
    ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
    fleet.run(policy, 5'000, 2'000);
    for (std::size_t index = 0; index < 8; ++index) fleet[index].black_hole = true;
    fleet.run(policy, 60'000, 2'000);  // thirty seconds, with three ejections of each
    EXPECT_EQ(fleet.none, 0u);
    EXPECT_LE(fleet.failures, 60'000 * 0.02) << "seed " << seed;
    for (std::size_t index = 0; index < 8; ++index) fleet[index].black_hole = false;
    fleet.run(policy, 400'000, 2'000);  // longer than the longest ejection by then
    EXPECT_EQ(policy.ejected(), 0u) << "seed " << seed;
    EXPECT_EQ(fleet.failures, 0u) << "seed " << seed;
  }
}

TEST(FleetModel, ASubsetDoesWithoutThoseOfItThatAreBlackHoles) {
  const ListOfServers list{200};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Fleet fleet{seed, 200, milliseconds{1}};
    detail::Subset policy{
        {.size = 20, .client = seed},
        std::make_unique<detail::OutlierEjection>(OutlierOptions{}, std::make_unique<LeastLoaded>())};
    ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
    for (std::size_t member = 0; member < 10; ++member) fleet[policy.members()[member]].black_hole = true;
    fleet.run(policy, 40'000, 2'000);
    EXPECT_LE(fleet.failures, 40'000 * 0.02) << "seed " << seed;
    EXPECT_EQ(fleet.none, 0u);
  }
}

}  // namespace
}  // namespace weft
