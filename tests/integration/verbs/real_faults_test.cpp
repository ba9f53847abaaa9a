// SPDX-License-Identifier: Apache-2.0
// CR-19, CR-20 on a real RDMA stack: what simulated devices can only be told to
// do.
#include <gmock/gmock.h>

#include <barrier>
#include <functional>

#include "integration/deaths_testing.hpp"
#include "integration/verbs/hostile_testing.hpp"
#include "integration/verbs/locked_memory.hpp"
#include "support/counted_rdma.hpp"

namespace weft::verbs_testing {

using namespace weft::detail;
namespace {

using ::testing::HasSubstr;

class VerbsRealFaults : public ::testing::Test {
 protected:
  ~VerbsRealFaults() override {
    world_.end();
    EXPECT_EQ(rdma_.live(), testing::CountedRdma::Objects{}) << "F5";
    EXPECT_EQ(servers_rdma_.live(), testing::CountedRdma::Objects{}) << "F5";
  }
  static VerbsOptions preferring(testing::CountedRdma& rdma) {
    VerbsOptions its = options_of("plain", rdma);
    its.connecting = its.listening = CarrierPolicy::kPrefer;
    return its;
  }

  testing::CountedRdma rdma_{verbs::system_driver()};
  testing::CountedRdma servers_rdma_{verbs::system_driver()};
  World world_;
};

TEST_F(VerbsRealFaults, AQueuePairForcedIntoErrorUnderLoadEndsItsCallsOnce) {
  Server& server = world_.serve(options_of("plain", servers_rdma_));
  Client& caller = world_.client(server.urls().front(), options_of("plain", rdma_));
  world_.expect_alive(caller);
  Times ended;
  Times found;
  for (int round = 0; round < 8 && !HasFailure(); ++round) {
    Calls calls{std::size_t{1} << 20};
    calls.start(caller);
    for (int turn = 0; turn < round * 5; ++turn) world_.loop().run_once(0ms);
    const auto at = Times::Clock::now();
    ASSERT_TRUE((round % 2 == 0 ? rdma_ : servers_rdma_).force_error());
    ASSERT_TRUE(turn_until(world_.loop(), [&] { return calls.ended(); })) << "F1";
    ended.add(Times::Clock::now() - at);
    calls.expect_all_lost(world_.loop());
    const auto again = Times::Clock::now();
    const Result<int> sum = world_.wait_for(caller.start<add>({.timeout = 5s}, 20, 22));
    EXPECT_TRUE(sum.ok() && *sum == 42) << sum.status().to_string();
    found.add(Times::Clock::now() - again);
    EXPECT_TRUE(eventually([&] { return servers_rdma_.live().queue_pairs == 1; })) << "F5";
    EXPECT_EQ(rdma_.live().queue_pairs, 1) << "F5";
  }
  ended.print("from the queue pair's error to the end of the last call");
  found.print("from there to the first answer");
}

TEST_F(VerbsRealFaults, ALimitOf64KiBOfLockedMemoryIsNamedOrDoneWithout) {
  const LockedMemory limit{64 * 1024};
  ASSERT_TRUE(limit.lowered());
  const std::string url =
      world_.serve(preferring(servers_rdma_), World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
  const Status required =
      world_.wait_for(world_.client("verbs" + url.substr(3), preferring(rdma_)).start<add>(1, 2)).status();
  EXPECT_EQ(required.code(), StatusCode::kResourceExhausted) << required.to_string();
  EXPECT_THAT(required.to_string(), HasSubstr("RLIMIT_MEMLOCK allows, which is 64 KiB"));
  Client& preferred = world_.client(url, preferring(rdma_));
  world_.expect_alive(preferred);
  EXPECT_EQ(preferred.stats().connections, 1u);
  EXPECT_THAT(world_.way_to(url, preferring(rdma_)).report.reason, HasSubstr("RLIMIT_MEMLOCK"));
}

// Two processes in one: each serves the other, and both connect in the same moment.
TEST_F(VerbsRealFaults, BothSidesMayConnectAtOnce) {
  constexpr int kRounds = 5;
  std::barrier together{2};
  std::array<std::string, 2> urls;
  const auto side = [&](std::size_t mine) {
    testing::CountedRdma rdma{verbs::system_driver()};
    {
      World world;
      urls[mine] = world.serve(options_of("plain", rdma)).urls().front();
      for (int round = 0; round < kRounds; ++round) {
        together.arrive_and_wait();
        world.expect_alive(world.client(urls[1 - mine], options_of("plain", rdma)));
        world.end_clients();
      }
      together.arrive_and_wait();
    }
    EXPECT_EQ(rdma.live(), testing::CountedRdma::Objects{}) << "F5";
  };
  std::thread other{[&] { side(1); }};
  side(0);
  other.join();
}

class VerbsNowhere : public HostileTest {};
INSTANTIATE_TEST_SUITE_P(Verbs, VerbsNowhere, ::testing::Values("plain"), name_of);

// The kernel looks for the way to such an address for a second, and whoever asked it waits.
TEST_P(VerbsNowhere, APeerWhoseAddressNobodyAnswersToHoldsNobodyUp) {
  std::vector<std::unique_ptr<RawVerbsPeer>> peers;
  for (int i = 0; i < 4; ++i) {
    peers.push_back(peer());
    ASSERT_TRUE(peers.back()->greet() && peers.back()->open());
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    std::string address = peers[i]->address();
    // The last byte of the GID, and so of the IPv4 address.
    address[31] = static_cast<char>(200 + i);
    ASSERT_TRUE(peers[i]->say(wire::CarrierStep::kAddress, address));
  }
  Times times;
  for (int i = 0; i < 20; ++i) {
    const auto at = Times::Clock::now();
    const Result<int> sum = world.wait_for(honest_.start<add>({.timeout = 500ms}, 20, 22));
    EXPECT_TRUE(sum.ok() && *sum == 42) << "F4: " << sum.status().to_string();
    times.add(Times::Clock::now() - at);
  }
  times.print("a call beside peers whose address nobody answers to");
  for (const auto& one : peers) EXPECT_TRUE(one->hear(wire::CarrierStep::kDown));
  peers.clear();
  expect_alone();
}

}  // namespace
}  // namespace weft::verbs_testing
