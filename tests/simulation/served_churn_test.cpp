// SPDX-License-Identifier: Apache-2.0
// CR-13, X-6: clients of whole fleets through a week of servers that crash, vanish and come back, on a clock
// that stands still. It is a program of its own, so that it runs beside the other scenarios.
#include <algorithm>
#include <chrono>

#include "simulation/served_fleets.hpp"

namespace weft::simulation {
namespace {

/// Lets something happen to some server every minute.
void churn(ServedFleet& world, Duration time, Duration period) {
  const Duration end = world.elapsed() + time;
  while (world.elapsed() < end) {
    fleet::Station& station = world.station(world.random()() % world.stations());
    const std::uint64_t event = world.random()() % 4;
    const Duration lasts = std::chrono::seconds{1 + world.random()() % 30};
    if (event == 0) station.crash();
    if (event == 1) station.power_off();
    if (event == 2) station.host().set_blocked(true);
    if (event == 3) station.stop(1s);
    world.pass(lasts);
    station.host().set_blocked(false);
    if (event == 1) station.power_on();
    if (event != 2) {
      station.clear();
      station.serve();
    }
    world.pass(std::max(Duration{1s}, period - lasts));
  }
}

TEST(ServedChurn, FailNoIdempotentCallInAWeekOfChurn) {
  fleet::Plan plan = plan_of(10, 10, 30s);
  plan.call_timeout = 60s;
  ServedFleet world{plan, &impatient};
  world.call_on();
  churn(world, kAll ? Duration{7 * 24h} : Duration{6h}, 10min);
  expect_no_failure(world.take_outcomes());
}

TEST(ServedChurn, DoTheSameInEachRunOfTheSameSeed) {
  const auto trace_of = [](std::uint64_t seed) {
    fleet::Plan plan = plan_of(10, 10, 1s);
    plan.seed = seed;
    plan.link.jitter = 2ms;
    plan.link.loss = 0.01;
    ServedFleet world{plan, &impatient};
    world.call_on(2);
    churn(world, 10min, 20s);
    return world.trace();
  };
  const std::uint64_t trace = trace_of(1);
  EXPECT_EQ(trace_of(1), trace);
  EXPECT_NE(trace_of(2), trace);
}

}  // namespace
}  // namespace weft::simulation
