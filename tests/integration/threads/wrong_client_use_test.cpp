// SPDX-License-Identifier: Apache-2.0
// The process ends with a message when a thread uses a client, a pool or a fleet whose loop another thread
// runs, or an object of these. tests/checks/thread_rules.txt names these tests.
#include "integration/threads/misuse.hpp"
#include "weft/connection_pool.hpp"
#include "weft/fleet.hpp"

namespace weft::testing::wrong_client_use_tests {
namespace {

constexpr const char* kNowhere = "tcp://127.0.0.1:1";

// The functions of CallPool.
const Misuse kPoolMisuses[] = {
    {"ConnectionPoolIsClosed",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       pool.close();
     },
     kOfAClient},
    {"ConnectionPoolTellsItsStats",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       static_cast<void>(pool.stats());
     },
     kOfAClient},
    {"ConnectionPoolCalls",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       [[maybe_unused]] const auto call = pool.start<add>(1, 2);
     },
     kOfAClient},
    {"ConnectionPoolConnects",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       const auto connecting = pool.connect();
     },
     kOfAClient},
    {"ConnectionPoolTellsIfConnected",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       pool.connected();
     },
     kOfAClient},
    {"ConnectionPoolRegistersMemory",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       static_cast<void>(pool.register_memory({}));
     },
     kOfAClient},
    {"ConnectionPoolRegistersAHandler",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       pool.register_handler<add>();
     },
     kOfAClient},
    {"ConnectionPoolIsDestroyed",
     [](Loop& loop) {
       auto pool = std::make_unique<ConnectionPool>(loop, PoolOptions{.client = {.connect = kNowhere}});
       run_on(loop, [] {});
       pool.reset();
     },
     "destroyed while another thread runs its loop"},
};

const Misuse kFleetMisuses[] = {
    {"FleetClientTellsItsStats",
     [](Loop& loop) {
       FleetClient fleet{loop, {.name = "static:tcp://127.0.0.1:1"}};
       run_on(loop, [] {});
       static_cast<void>(fleet.stats());
     },
     "a FleetClient was used on another thread"},
    {"FleetClientIsDestroyed",
     [](Loop& loop) {
       auto fleet = std::make_unique<FleetClient>(loop, FleetOptions{.name = "static:tcp://127.0.0.1:1"});
       run_on(loop, [] {});
       fleet.reset();
     },
     "destroyed while another thread runs its loop"},
};

class WrongClientUseDeathTest : public ::testing::TestWithParam<Misuse> {};

TEST_P(WrongClientUseDeathTest, EndsTheProcessWithAMessage) {
  expect_death_by(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Pools, WrongClientUseDeathTest, ::testing::ValuesIn(kPoolMisuses), name_of_misuse);
INSTANTIATE_TEST_SUITE_P(Fleets, WrongClientUseDeathTest, ::testing::ValuesIn(kFleetMisuses), name_of_misuse);

}  // namespace
}  // namespace weft::testing::wrong_client_use_tests
