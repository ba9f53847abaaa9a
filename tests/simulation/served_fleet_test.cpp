// SPDX-License-Identifier: Apache-2.0
// CR-13, X-6: clients of whole fleets, with their pools, policies and retries, on a clock that stands still,
// while servers are slow, silent, restarted or overloaded.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "simulation/served_fleets.hpp"
#include "weft/detail/balancing/random_pick.hpp"
#include "weft/detail/balancing/round_robin.hpp"

namespace weft::simulation {
namespace {

FleetOptions plain(std::size_t /*client*/) {
  return {};
}
template <typename Policy>
FleetOptions by(std::size_t /*client*/) {
  FleetOptions options;
  options.balancing = std::make_unique<Policy>();
  return options;
}
/// A few servers for each client of a large fleet.
FleetOptions of_a_subset(std::size_t client) {
  FleetOptions options;
  options.subset = SubsetOptions{.size = 20, .client = client};
  return options;
}

TEST(ServedFleets, ShareCallsWithinThreePercentByRoundRobin) {
  ServedFleet world{plan_of(100, kAll ? 20 : 4, 1ms), &by<RoundRobin>};
  world.call_on();
  world.pass(5s);
  world.take_requests();
  world.pass(5s);
  const std::vector<std::uint64_t> requests = world.take_requests();
  const auto [least, most] = std::minmax_element(requests.begin(), requests.end());
  EXPECT_LE(static_cast<double>(*most), 1.03 * static_cast<double>(*least)) << *least << " to " << *most;
  expect_no_failure(world.take_outcomes());
}

TEST(ServedFleets, AreAtLeastAsGoodByTwoChoicesAsAtRandomWhenOneServerIsTenTimesSlower) {
  std::uint64_t p99[2] = {};
  for (const bool is_random : {false, true}) {
    fleet::Plan plan = plan_of(20, 20, 10ms);
    plan.work = 2ms;
    ServedFleet world{plan, is_random ? &by<RandomPick> : &plain};
    world.plan(7).work = 20ms;
    world.call_on(2);
    world.pass(5s);
    world.take_outcomes();
    world.pass(10s);
    const Outcomes outcomes = world.take_outcomes();
    expect_no_failure(outcomes);
    p99[is_random] = outcomes.latencies.value_at(0.99);
  }
  std::printf("p99 %llu us by two choices, %llu us at random\n", static_cast<unsigned long long>(p99[0]),
              static_cast<unsigned long long>(p99[1]));
  EXPECT_LE(p99[0], p99[1]);
}

// A quarter takes everything and answers nothing, a quarter hears and is not heard.
TEST(ServedFleets, LoseNoCallForGoodWhenOneHalfIsABlackHole) {
  fleet::Plan plan = plan_of(20, kAll ? 20 : 5, 50ms);
  plan.call_timeout = 30s;
  ServedFleet world{plan, &impatient};
  world.call_on(2);
  world.pass(10s);
  expect_no_failure(world.take_outcomes());
  for (std::size_t i = 0; i < 20; i += 4) world.station(i).host().stop();
  for (std::size_t i = 2; i < 20; i += 4) {
    SimulatedLink mute = world.station(i).host().outgoing();
    mute.blocked = true;
    world.station(i).host().set_outgoing(mute);
  }
  world.pass(60s);
  const Outcomes holed = world.take_outcomes();
  expect_no_failure(holed);
  // Once they are known, hardly a call meets one of them.
  world.pass(60s);
  const Outcomes settled = world.take_outcomes();
  expect_no_failure(settled);
  EXPECT_LT(settled.latencies.value_at(0.99), 10'000u);
}

TEST(ServedFleets, LeaveAServerAloneThatAcceptsAndNeverAnswers) {
  fleet::Plan plan = plan_of(5, 10, 20ms);
  plan.call_timeout = 30s;
  ServedFleet world{plan, &impatient};
  world.station(3).host().stop();
  world.call_on(2);
  world.pass(30s);
  expect_no_failure(world.take_outcomes());
  world.pass(30s);
  const Outcomes settled = world.take_outcomes();
  expect_no_failure(settled);
  EXPECT_LT(settled.latencies.value_at(0.99), 10'000u);
  // It is found when it answers again.
  world.station(3).host().resume();
  world.pass(60s);
  world.take_requests();
  world.pass(60s);
  EXPECT_GT(world.take_requests()[3], 100u);
}

TEST(ServedFleets, OfAThousandServersLoseNoCallWhileAllAreRestarted) {
  const std::size_t servers = kAll ? 1000 : 60;
  ServedFleet world{plan_of(servers, servers / 5, 200ms), &of_a_subset};
  world.call_on(2);
  world.pass(5s);
  expect_no_failure(world.take_outcomes());
  // Every server once: asked to leave, or dead at once.
  for (std::size_t i = 0; i < servers; ++i) {
    if (i % 2 == 0) world.station(i).stop(1s);
    if (i % 2 != 0) world.station(i).crash();
    world.pass(20ms);
    world.station(i).clear();
    world.station(i).serve();
  }
  world.pass(30s);
  expect_no_failure(world.take_outcomes());
  world.take_requests();
  world.pass(30s);
  const std::vector<std::uint64_t> requests = world.take_requests();
  EXPECT_GT(*std::min_element(requests.begin(), requests.end()), 0u) << "every server has calls again";
  expect_no_failure(world.take_outcomes());
  EXPECT_EQ(world.stats().ejected, 0u);
}

// 8 servers of 4 workers, each of which does 50 calls a second.
TEST(ServedFleets, HoldTheirGoodputUnderTenTimesTheLoadThatTheyCanBear) {
  const auto goodput = [](std::size_t clients) {
    fleet::Plan plan = plan_of(8, clients, 100ms);
    plan.work = 20ms;
    plan.calls_running_max = 32;
    ServedFleet world{plan, &plain};
    world.call_on(8);
    world.pass(5s);
    world.take_outcomes();
    world.pass(5s);
    return world.take_outcomes().succeeded / 5;
  };
  std::uint64_t peak = 0;
  for (const std::size_t clients : {20, 30, 50}) peak = std::max(peak, goodput(clients));
  EXPECT_GE(peak, 1400u);
  const std::uint64_t overloaded = goodput(kAll ? 250 : 100);
  std::printf("peak %llu calls/s, %llu when overloaded\n", static_cast<unsigned long long>(peak),
              static_cast<unsigned long long>(overloaded));
  EXPECT_GE(overloaded, peak * 85 / 100);
}

}  // namespace
}  // namespace weft::simulation
