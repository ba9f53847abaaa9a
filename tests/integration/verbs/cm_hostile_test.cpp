// SPDX-License-Identifier: Apache-2.0
// CR-19: whoever can reach a listener of rdma_cm can ask it. Nothing comes of that without a token
// that is awaited, and nobody else notices.
#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "integration/verbs/cm_stranger.hpp"
#include "integration/verbs/simulated_testing.hpp"

namespace weft::verbs_testing {

using namespace weft::detail;
namespace {

using verbs_carrier::CmAddress;
using verbs_carrier::CmToken;
using Kind = verbs::CmEvent::Kind;

class CmHostile : public ::testing::Test {
 protected:
  CmHostile() { world.expect_alive(honest); }
  void expect_others_fine() {
    world.expect_alive(honest);
    EXPECT_EQ(honest.stats().connections, 1u) << "F4";
  }
  void expect_alone() {
    EXPECT_TRUE(turn_until(world.loop(), [&] { return server.stats().connections == 1; })) << "F5";
    expect_others_fine();
  }
  SimulatedWorld simulated;
  World& world = simulated.world;
  testing::SimulatedCm& manager = simulated.rdma.manager();
  const VerbsOptions options = by_cm(simulated.options());
  Server& server = world.serve(options);
  const std::string url = server.urls().front();
  Client& honest = world.client(url, options);
};

TEST_F(CmHostile, RequestsOfAnyLengthAndContentAreRefused) {
  Stranger stranger{manager, url};
  std::mt19937 random{7};
  for (int i = 0; i < 300; ++i) {
    verbs::CmParameters asked;
    asked.queue_pair = static_cast<std::uint32_t>(random());
    asked.private_bytes = random() % (asked.private_data.size() + 1);
    for (std::byte& each : asked.private_data) each = static_cast<std::byte>(random());
    if (i % 3 == 0) {
      // A right beginning.
      const auto content = verbs_carrier::encode_request({});
      std::memcpy(asked.private_data.data(), content.data(), content.size() - 1);
    }
    stranger.ask(manager.listening_port(), asked);
    EXPECT_EQ(stranger.answer(), Kind::kRejected);
  }
  expect_alone();
}

TEST_F(CmHostile, ATokenIsGoodForOneRequestOfItsOwnConnection) {
  RawCmPeer peer{url};
  ASSERT_TRUE(peer.greet());
  const CmAddress address = peer.server();
  Stranger stranger{manager, url};
  CmToken wrong = address.listening->token;
  wrong.back() ^= std::byte{1};
  stranger.ask(manager.listening_port(), asking(wrong));
  EXPECT_EQ(stranger.answer(), Kind::kRejected);
  // The terms come behind the request, which waits for them.
  stranger.ask(manager.listening_port(), asking(address.listening->token));
  stranger.ask(manager.listening_port(), asking(address.listening->token));
  EXPECT_EQ(stranger.answer(), Kind::kRejected) << "the second one";
  ASSERT_TRUE(peer.say(wire::CarrierStep::kAddress, CmAddress{.terms = address.terms}.encode()));
  EXPECT_EQ(stranger.answer(), Kind::kResponse);
  EXPECT_TRUE(peer.hear(wire::CarrierStep::kReady));
  stranger.ask(manager.listening_port(), asking(address.listening->token));
  EXPECT_EQ(stranger.answer(), Kind::kRejected) << "a third one";
  expect_others_fine();
}

TEST_F(CmHostile, ATokenEndsWithItsConnection) {
  CmToken token;
  {
    RawCmPeer peer{url};
    ASSERT_TRUE(peer.greet());
    token = peer.server().listening->token;
  }
  expect_alone();
  Stranger stranger{manager, url};
  stranger.ask(manager.listening_port(), asking(token));
  EXPECT_EQ(stranger.answer(), Kind::kRejected);
  expect_others_fine();
}

// A request that waits for its base carrier ends with it, and one whose sender is gone is answered by nobody.
TEST_F(CmHostile, APeerThatLeavesInTheMiddleLeavesNothing) {
  for (const bool stream_first : {false, true}) {
    auto peer = std::make_unique<RawCmPeer>(url);
    ASSERT_TRUE(peer->greet());
    const CmAddress address = peer->server();
    auto stranger = std::make_unique<Stranger>(manager, url);
    stranger->ask(manager.listening_port(), asking(address.listening->token));
    if (stream_first) {
      peer.reset();
      EXPECT_EQ(stranger->answer(), Kind::kRejected);
    }
    stranger.reset();
    peer.reset();
    expect_alone();
  }
}

TEST_F(CmHostile, ImpossibleQueuePairsEndOnlyTheirOwnConnection) {
  for (const std::uint32_t number : {0u, 1u, 0xFF'FFFFu, 0xFFFF'FFFFu}) {
    RawCmPeer peer{url};
    ASSERT_TRUE(peer.greet());
    const CmAddress address = peer.server();
    ASSERT_TRUE(peer.say(wire::CarrierStep::kAddress, CmAddress{.terms = address.terms}.encode()));
    Stranger stranger{manager, url};
    verbs::CmParameters asked = asking(address.listening->token);
    asked.queue_pair = number;
    asked.reads_served = asked.reads_asked = number == 0 ? 0 : 255;
    stranger.ask(manager.listening_port(), asked);
    stranger.answer();
  }
  expect_alone();
}

TEST_F(CmHostile, AddressesThatNoClientSaysAreRefused) {
  std::mt19937 random{11};
  for (int i = 0; i < 200; ++i) {
    RawCmPeer peer{url};
    ASSERT_TRUE(peer.greet());
    std::string address = peer.server().encode();  // that of a listening side
    if (i != 0) address.resize(random() % 48);
    for (std::size_t at = 0; i != 0 && at < address.size(); ++at) address[at] = static_cast<char>(random());
    ASSERT_TRUE(peer.say(wire::CarrierStep::kAddress, address));
    EXPECT_TRUE(peer.hear(wire::CarrierStep::kDown)) << i;
  }
  expect_alone();
}

TEST_F(CmHostile, AFloodOfRequestsDoesNotStopTheOthers) {
  Stranger stranger{manager, url};
  for (int i = 0; i < 2000; ++i) stranger.ask(manager.listening_port(), {});
  expect_others_fine();
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(stranger.answer(), Kind::kRejected);
  world.expect_alive(world.client(url, options));
}

}  // namespace
}  // namespace weft::verbs_testing
