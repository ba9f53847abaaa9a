// SPDX-License-Identifier: Apache-2.0
// CR-15, CR-19 on a real RDMA stack and its connection manager: the route chooses the device, peers are
// killed, strangers ask. Only in the emulated machine, whose two devices are the ends of a wire.
#include <gmock/gmock.h>

#include <cstdio>

#include "integration/deaths_testing.hpp"
#include "integration/verbs/cm_stranger.hpp"
#include "support/counted_rdma.hpp"

namespace weft::verbs_testing {

using namespace weft::detail;
namespace {

using ::testing::HasSubstr;
using Kind = verbs::CmEvent::Kind;

constexpr int kKills = 4;

/// This process's, as the kernel lists them.
std::size_t cm_ids() {
  std::FILE* const list = ::popen("rdma resource show cm_id", "r");
  const std::string ours = "pid " + std::to_string(::getpid()) + " ";
  std::size_t found = 0;
  for (char line[512]; list != nullptr && std::fgets(line, sizeof line, list) != nullptr;) {
    if (std::string_view{line}.find(ours) != std::string_view::npos) ++found;
  }
  if (list != nullptr) ::pclose(list);
  return found;
}

class VerbsRealCm : public ::testing::Test {
 protected:
  ~VerbsRealCm() override {
    world_.end();
    EXPECT_EQ(rdma_.live(), testing::CountedRdma::Objects{}) << "F5";
    EXPECT_EQ(cm_ids(), 0u) << "F5";
  }
  VerbsOptions its() { return by_cm(options_of("plain", rdma_)); }
  std::string where() { return routed_url(rdma_); }

  testing::CountedRdma rdma_{verbs::system_driver()};
  World world_;
};

TEST_F(VerbsRealCm, TheRouteChoosesTheDevice) {
  const std::string url = world_.serve(its(), World::Where::kOwnThread, where()).urls().front();
  EXPECT_THAT(world_.way_to(url, its()).report.description, HasSubstr("rxe1, port 1, from 10.77.0.2"));
  VerbsOptions named = its();
  named.devices = {"rxe0"};
  named.connecting = CarrierPolicy::kPrefer;
  const World::Way other = world_.way_to("tcp" + url.substr(5), named);
  EXPECT_THAT(other.report.reason, HasSubstr("leads over rxe1"));
}

TEST_F(VerbsRealCm, AClientThatIsKilledLeavesNothingBehind) {
  Server& server = world_.serve(its(), World::Where::kHere, where());
  Client& neighbour = world_.client(server.urls().front(), its());
  world_.expect_alive(neighbour);
  std::size_t descriptors = 0;
  std::size_t ids = 0;
  for (int round = 0; round < kKills && !HasFailure(); ++round) {
    Victim victim{WEFT_VERBS_VICTIM, {"client", server.urls().front(), "cm"}};
    const std::uint64_t before = server.stats().calls;
    ASSERT_TRUE(turn_until(world_.loop(), [&] { return server.stats().calls >= before + 18; }));
    victim.kill();
    ASSERT_TRUE(turn_until(world_.loop(), [&] {
      return server.stats().connections == 1 && server.stats().calls_running == 0;
    })) << "F1, F5";
    world_.expect_alive(neighbour);
    EXPECT_EQ(neighbour.stats().connections, 1u) << "F4";
    ASSERT_TRUE(turn_until(world_.loop(), [&] { return rdma_.live().queue_pairs == 2; })) << "F5";
    if (round == 0) {
      descriptors = faults::open_descriptors();
      ids = cm_ids();
      EXPECT_GE(ids, 3u) << "the listener's, and both ends' of the neighbour";
    }
    EXPECT_EQ(cm_ids(), ids) << "F5";
    EXPECT_LE(faults::open_descriptors(), descriptors) << "F5";
  }
}

TEST_F(VerbsRealCm, AServerThatIsKilledFailsEachCallInFlightOnceAndIsFoundAgain) {
  std::string url = where();
  auto victim = std::make_unique<Victim>(WEFT_VERBS_VICTIM, std::vector<std::string>{"server", url, "cm"});
  url = victim->read_line();
  Client& caller = world_.client(url, its());
  world_.expect_alive(caller);
  for (int round = 0; round < kKills && !HasFailure(); ++round) {
    Calls calls{std::size_t{1} << 20};
    calls.start(caller);
    for (int turn = 0; turn < round * 4; ++turn) world_.loop().run_once(0ms);
    victim->kill();
    ASSERT_TRUE(turn_until(world_.loop(), [&] { return calls.ended(); })) << "F1";
    calls.expect_all_lost(world_.loop());
    victim = std::make_unique<Victim>(WEFT_VERBS_VICTIM, std::vector<std::string>{"server", url, "cm"});
    ASSERT_EQ(victim->read_line(), url);
    world_.expect_alive(caller);
  }
}

TEST_F(VerbsRealCm, StrangersAreRefusedByARealManagerToo) {
  Server& server = world_.serve(its(), World::Where::kOwnThread, where());
  const std::string url = server.urls().front();
  Client& honest = world_.client(url, its());
  world_.expect_alive(honest);
  {
    RawCmPeer peer{url};
    ASSERT_TRUE(peer.greet());
    const verbs_carrier::CmAddress address = peer.server();
    const std::uint16_t port = address.listening->port;
    Stranger stranger{*verbs::system_driver().cm(), url};
    stranger.ask(port, {});
    EXPECT_EQ(stranger.answer(), Kind::kRejected);
    verbs_carrier::CmToken wrong = address.listening->token;
    wrong.front() ^= std::byte{1};
    stranger.ask(port, asking(wrong));
    EXPECT_EQ(stranger.answer(), Kind::kRejected);
    stranger.ask(port, asking(address.listening->token));
    stranger.ask(port, asking(address.listening->token));
    EXPECT_EQ(stranger.answer(), Kind::kRejected) << "the second one";
    ASSERT_TRUE(
        peer.say(wire::CarrierStep::kAddress, verbs_carrier::CmAddress{.terms = address.terms}.encode()));
    EXPECT_EQ(stranger.answer(), Kind::kResponse);
  }
  EXPECT_TRUE(eventually([&] { return server.stats().connections == 1; })) << "F5";
  world_.expect_alive(honest);
  EXPECT_EQ(honest.stats().connections, 1u) << "F4";
}

}  // namespace
}  // namespace weft::verbs_testing
