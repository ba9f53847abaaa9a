// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "unit/balancing/fleet.hpp"
#include "weft/detail/balancing/consistent_hash.hpp"
#include "weft/detail/balancing/least_loaded.hpp"
#include "weft/detail/balancing/random_pick.hpp"
#include "weft/detail/balancing/round_robin.hpp"
#include "weft/detail/balancing/smooth_weighted_round_robin.hpp"

namespace weft {
namespace {

using testing::kFleetStart;
using testing::ListOfServers;

std::uint32_t pick_at(BalancingPolicy& policy, std::uint64_t number, TimePoint now = kFleetStart) {
  return policy.pick({.now = now, .random = number, .key_hash = number}).value();
}

TEST(RoundRobins, TakeOneAfterTheOther) {
  RoundRobin policy;
  const ListOfServers list{5};
  ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
  const std::uint32_t first = pick_at(policy, 3);
  for (std::uint32_t turn = 1; turn < 20; ++turn) EXPECT_EQ(pick_at(policy, turn), (first + turn) % 5);
}

TEST(RoundRobins, GiveWhoHasAPartOfItsShareAPart) {
  RoundRobin policy;
  const ListOfServers list{10};
  ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
  policy.set_share(4, 0.25);
  std::vector<int> picks(10);
  for (std::uint64_t number = 0; number < 97'500; ++number) ++picks[pick_at(policy, number)];
  EXPECT_NEAR(picks[4], 2632, 200);
  EXPECT_NEAR(picks[3], 10'541, 300);
}

TEST(SmoothWeights, AreKeptWithinOneTurnInAnyStretch) {
  const std::vector<std::uint32_t> weights{5, 1, 1, 3};
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SmoothWeightedRoundRobin policy{seed};
    const ListOfServers list{4, weights};
    ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
    std::vector<int> picks(4);
    for (int turn = 1; turn <= 1000; ++turn) {
      ++picks[pick_at(policy, 0)];
      for (std::size_t index = 0; index < 4; ++index) {
        ASSERT_NEAR(picks[index], turn * weights[index] / 10.0, 2) << "seed " << seed << " turn " << turn;
      }
    }
    for (std::size_t index = 0; index < 4; ++index) EXPECT_NEAR(picks[index], 100 * weights[index], 1);
  }
}

TEST(RandomPicks, FollowTheWeights) {
  RandomPick policy;
  const ListOfServers list{4, {1, 2, 3, 4}};
  ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
  std::vector<int> picks(4);
  for (std::uint64_t number = 0; number < 100'000; ++number) ++picks[pick_at(policy, number)];
  for (std::size_t index = 0; index < 4; ++index) EXPECT_NEAR(picks[index], 10'000 * (index + 1.0), 500);
  policy.set_share(3, 0.5);
  picks.assign(4, 0);
  for (std::uint64_t number = 0; number < 80'000; ++number) ++picks[pick_at(policy, number)];
  EXPECT_NEAR(picks[3], 20'000, 500);
}

TEST(FewestLoads, ArePeaksThatRiseAtOnceAndFallSlowly) {
  LeastLoaded policy{{.decay = std::chrono::seconds{10}}};
  const ListOfServers list{1};
  ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
  const auto report = [&](int at_seconds, Duration latency) {
    policy.begun(0, kFleetStart);
    policy.ended(0, {kFleetStart + std::chrono::seconds{at_seconds}, CallOutcome::kSuccess, latency});
  };
  report(0, Duration{1000});
  EXPECT_EQ(policy.latency(0, kFleetStart), Duration{1000});
  report(1, Duration{5000});
  EXPECT_EQ(policy.latency(0, kFleetStart + std::chrono::seconds{1}), Duration{5000});
  report(11, Duration{1000});
  EXPECT_EQ(policy.latency(0, kFleetStart + std::chrono::seconds{11}), Duration{2471});  // 1000 + 4000 / e
  EXPECT_EQ(policy.in_flight(0), 0u);
}

TEST(FewestLoads, AreUnknownOfWhoWasGone) {
  LeastLoaded policy;
  const ListOfServers list{2};
  ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
  for (const std::uint32_t index : {0u, 1u}) {
    policy.begun(index, kFleetStart);
    policy.ended(index,
                 {kFleetStart, index == 0 ? CallOutcome::kFailure : CallOutcome::kSuccess, Duration{1000}});
  }
  for (std::uint64_t number = 0; number < 100; ++number) EXPECT_EQ(pick_at(policy, number), 1u);
  policy.set_share(0, 0.5);
  for (std::uint64_t number = 0; number < 100; ++number) EXPECT_EQ(pick_at(policy, number), 1u);
  policy.set_share(0, 0);
  policy.set_share(0, 1);
  EXPECT_EQ(policy.latency(0, kFleetStart), Duration::zero());
  for (std::uint64_t number = 0; number < 100; ++number) EXPECT_EQ(pick_at(policy, number), 0u);
}

// CR-13: one failure keeps a server without calls for as long as the options say, and no longer: here ten
// seconds, where the others answer in a tenth of a millisecond.
TEST(FewestLoads, ForgetAFailureAfterItsTimeHoweverFastTheOthersAre) {
  LeastLoaded policy{{.failure_decay = std::chrono::seconds{10}}};
  const ListOfServers list{2};
  ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
  constexpr Duration kFast = std::chrono::microseconds{100};
  const auto report = [&](std::uint32_t index, TimePoint at, CallOutcome outcome) {
    policy.begun(index, at);
    policy.ended(index, {at, outcome, kFast});
  };
  for (const std::uint32_t index : {0u, 1u}) report(index, kFleetStart, CallOutcome::kSuccess);
  report(0, kFleetStart, CallOutcome::kFailure);
  EXPECT_EQ(policy.latency(0, kFleetStart), std::chrono::seconds{1});
  EXPECT_EQ(policy.latency(0, kFleetStart + std::chrono::seconds{5}), std::chrono::milliseconds{500});
  Duration picked_after = Duration::max();
  for (int tenths = 0; tenths < 1000 && picked_after == Duration::max(); ++tenths) {
    const Duration passed = std::chrono::milliseconds{100} * tenths;
    const std::optional<std::uint32_t> index =
        policy.pick({kFleetStart + passed, static_cast<std::uint64_t>(tenths), 0, {}});
    ASSERT_TRUE(index);
    if (*index == 0) picked_after = passed;
    report(*index, kFleetStart + passed, CallOutcome::kSuccess);
  }
  EXPECT_GE(picked_after, std::chrono::milliseconds{9900});
  EXPECT_LE(picked_after, std::chrono::seconds{10});
}

TEST(FewestLoads, FollowWhoStaysToItsNewIndex) {
  LeastLoaded policy;
  const ListOfServers list{3};
  ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
  policy.begun(2, kFleetStart);
  policy.begun(2, kFleetStart);
  ASSERT_TRUE(policy.set_endpoints(list.without(0)).ok());
  EXPECT_EQ(policy.in_flight(0), 0u);
  EXPECT_EQ(policy.in_flight(1), 2u);
}

TEST(ConsistentHashes, MoveOnlyTheKeysOfWhoLeaves) {
  constexpr std::size_t kServers = 50;
  const ListOfServers list{kServers};
  for (std::size_t leaves = 0; leaves < kServers; leaves += 7) {
    ConsistentHash before;
    ConsistentHash after;
    const std::vector<EndpointSpec> rest = list.without(leaves);
    ASSERT_TRUE(before.set_endpoints(list.specs).ok());
    ASSERT_TRUE(after.set_endpoints(rest).ok());
    double moved = 0;
    for (std::uint64_t key = 0; key < 20'000; ++key) {
      const std::uint32_t first = pick_at(before, key);
      if (list.specs[first].key == rest[pick_at(after, key)].key) continue;
      EXPECT_EQ(first, leaves);
      ++moved;
    }
    // A ring of 128 points for each gives it a ninth more or less of its part.
    EXPECT_NEAR(moved / 20'000, 1.0 / kServers, 0.5 / kServers);
  }
}

TEST(ConsistentHashes, ChooseTheSameInWhateverOrderTheListIs) {
  const ListOfServers list{30};
  std::vector<EndpointSpec> reversed{list.specs.rbegin(), list.specs.rend()};
  ConsistentHash one;
  ConsistentHash other;
  ASSERT_TRUE(one.set_endpoints(list.specs).ok());
  ASSERT_TRUE(other.set_endpoints(reversed).ok());
  for (std::uint64_t key = 0; key < 5000; ++key) EXPECT_EQ(pick_at(one, key), 29 - pick_at(other, key));
}

TEST(ConsistentHashes, NeverLoadOneBeyondTheFactor) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    detail::RandomNumbers random{seed};
    const double factor = random.between(1.01, 2);
    ConsistentHash policy{{.load_factor = factor}};
    const ListOfServers list{40};
    ASSERT_TRUE(policy.set_endpoints(list.specs).ok());
    std::vector<std::uint32_t> running;
    for (int step = 0; step < 10'000; ++step) {
      if (!running.empty() && random.below(100) < 45) {
        const std::uint32_t at = random.below(static_cast<std::uint32_t>(running.size()));
        policy.ended(running[at], {.now = kFleetStart});
        running[at] = running.back();
        running.pop_back();
        continue;
      }
      // Few keys, and most calls are about one of them.
      const std::uint32_t picked = pick_at(policy, random.below(4) == 0 ? random.below(50) : 0);
      policy.begun(picked, kFleetStart);
      running.push_back(picked);
      const double most = std::ceil(factor * static_cast<double>(running.size()) / 40);
      ASSERT_LE(policy.in_flight(picked), most) << "seed " << seed << " step " << step;
    }
    EXPECT_GT(running.size(), 500u);
  }
}

}  // namespace
}  // namespace weft
