// SPDX-License-Identifier: Apache-2.0
// A pool on a clock that stands still: when calls wait for a connection, and when they get another one.
#include "simulation/pool_world.hpp"

namespace weft::simulation {
namespace {

// A pool learns from the first connection how many calls the server takes by one.
TEST_F(Pools, ConnectionsAreMadeForTheCallsThatTheFirstOneDoesNotTake) {
  serve(2);
  make(options());
  auto calls = begin<&Kept::held>(6);
  EXPECT_EQ(stats().connections, 3u);
  EXPECT_EQ(stats().calls_in_flight, 6u);
  EXPECT_EQ(stats().calls_waiting, 0u);
  kept_.gate.set();
  run_until_idle();
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(outcome(calls[i]).value(), i * 2);
}

TEST_F(Pools, TheLossOfAConnectionDelaysAnotherOneOnlyIfItWasTheLast) {
  serve();
  PoolOptions its = options();
  its.calls_per_connection = 1;
  its.client.call_timeout = kNoTimeout;
  make(its);
  auto calls = begin<&Kept::ask_back>(2);
  EXPECT_EQ(network_->attempts.size(), 2u);
  pass(30s);
  kept_.peers.at(0).close("gone");
  run_until_idle();
  EXPECT_EQ(stats().connections, 1u);
  auto more = begin<&Kept::ask_back>(1);
  EXPECT_EQ(network_->attempts.size(), 3u) << "the server serves: its other connection stands";
  EXPECT_EQ(stats().connections, 2u);
  pass(30s);
  kept_.peers.at(1).close("gone");
  kept_.peers.at(2).close("gone");
  run_until_idle();
  EXPECT_EQ(stats().connections, 0u);
  auto late = begin<&Kept::twice>(1, 4);
  EXPECT_EQ(network_->attempts.size(), 3u) << "the server may have ended";
  pass(2s);
  EXPECT_EQ(network_->attempts.size(), 4u);
  EXPECT_EQ(outcome(late[0]).value(), 8u);
}

// A handler of the pool calls its server by a connection that has as many calls as the server takes.
TEST_F(Pools, ACallToThePeerWaitsForRoomOnItsConnection) {
  serve(2);
  PoolOptions its = options();
  its.connections_max = 1;
  make(its).register_handler<&Field::thrice, &Field::ask_in_turn>(&field_);
  kept_.gate.set();
  auto calls = begin<&Kept::ask_back>(1, 1);
  EXPECT_EQ(outcome(calls[0]).value(), 3u);
  auto held = begin<&Kept::held_longer>(2);
  EXPECT_EQ(stats().calls_in_flight, 2u);
  auto asked = kept_.peers.at(0).start<&Field::ask_in_turn>(5u);
  run_until_idle();
  EXPECT_FALSE(asked.done());
  EXPECT_EQ(kept_.ran[5], 0);
  kept_.second_gate.set();
  run_until_idle();
  EXPECT_EQ(outcome(asked).value(), 10u);
  EXPECT_EQ(outcome(held[1]).value(), 2u);
}

}  // namespace
}  // namespace weft::simulation
