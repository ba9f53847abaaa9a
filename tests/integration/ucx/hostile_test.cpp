// SPDX-License-Identifier: Apache-2.0
// BU-5: a peer that speaks the hello and the carrier frames, and then what it should not, over UCX. Its
// connection ends with a status; the worker, which it shares with an honest client in error mode peer, lives.
#include <gmock/gmock.h>

#include <algorithm>

#include "integration/carrier_misdeeds.hpp"
#include "integration/ucx/raw_ucx_peer.hpp"
#include "integration/ucx/ucx_testing.hpp"
#include "support/wire_bytes.hpp"

namespace weft::ucx_testing {

using namespace weft::detail;
namespace {

using ucx_carrier::ActiveMessageHeader;

constexpr const char* kHostileKinds[] = {"peer_tcp", "none_shm"};

class UcxHostilePeers : public UcxTest {
 protected:
  UcxHostilePeers()
      : server_(serve(transports())),
        honest_(client(server_.urls().front())),
        mode_(options_of(GetParam()).error_mode) {
    expect_alive(honest_);
  }
  std::unique_ptr<RawUcxPeer> peer() { return std::make_unique<RawUcxPeer>(server_.urls().front(), mode_); }
  std::unique_ptr<RawUcxPeer> peer_on_carrier() {
    auto made = peer();
    EXPECT_TRUE(made->come_up());
    return made;
  }
  void expect_dismissed(RawUcxPeer& peer) {
    EXPECT_TRUE(peer.dismissed()) << "the connection goes on";
    EXPECT_TRUE(eventually([&] { return server_.stats().connections == 1; })) << "F5";
    expect_others_fine();
  }
  void expect_others_fine() {
    const std::vector<std::byte> bytes = pattern(std::size_t{1} << 20);
    const auto sum = wait_for(honest_.start<sum_up>({.attachment = Bytes{bytes}}));
    EXPECT_TRUE(sum.ok() && *sum == sum_of(bytes)) << "F4: " << sum.status().to_string();
    EXPECT_EQ(honest_.stats().connections, 1u) << "F4";
  }
  /// Nothing follows from it for the connection, which still serves.
  void expect_served(RawUcxPeer& peer) {
    const std::uint64_t calls = server_.stats().calls;
    peer.send(MessageKind::kBytes, faults::request_bytes<&add>(7, 1, 2));
    EXPECT_TRUE(peer.progress_until([&] { return server_.stats().calls > calls; }));
    expect_others_fine();
  }

  Server& server_;
  Client& honest_;
  const UcxErrorMode mode_;
};

INSTANTIATE_TEST_SUITE_P(Ucx, UcxHostilePeers, ::testing::ValuesIn(kHostileKinds), name_of);

TEST_P(UcxHostilePeers, AHandMadePeerIsServedWhenItBehaves) {
  const auto peer = peer_on_carrier();
  expect_served(*peer);
}

TEST_P(UcxHostilePeers, AnotherVersionOfTheOfferIsDeclined) {
  const auto one = peer();
  ASSERT_TRUE(one->greet(std::string{'\x09', static_cast<char>(mode_)}));
  EXPECT_TRUE(one->hear(wire::CarrierStep::kDown));
  const auto two = peer();
  ASSERT_TRUE(two->greet(std::string{}));
  EXPECT_TRUE(two->hear(wire::CarrierStep::kDown));
  expect_others_fine();
}

TEST_P(UcxHostilePeers, AnotherProtocolsFirstBytesEndTheConnection) {
  const auto one = peer();
  ASSERT_TRUE(one->base().send("GET / HTTP/1.1\r\nHost: weft\r\n\r\n"));
  expect_dismissed(*one);
}

// Whatever is no worker address in its frame; also one whose checksum is right.
TEST_P(UcxHostilePeers, AnAddressThatIsNoneIsDeclined) {
  std::vector<std::string> texts{"", "x", std::string(12, '\0'), std::string(300, '\xff')};
  {
    const auto one = peer();
    ASSERT_TRUE(one->greet() && one->prepare());
    const std::string good = one->address();
    for (std::size_t size = 0; size < good.size(); size += 13) texts.push_back(good.substr(0, size));
    for (std::size_t bit = 12 * 8; bit < good.size() * 8; bit += 77) {
      texts.push_back(good);
      texts.back()[bit / 8] = static_cast<char>(texts.back()[bit / 8] ^ (1 << bit % 8));
    }
  }
  for (const std::string& text : texts) {
    const auto one = peer();
    ASSERT_TRUE(one->greet() && one->say(wire::CarrierStep::kAddress, text));
    EXPECT_TRUE(one->hear(wire::CarrierStep::kDown)) << text.size();
  }
  EXPECT_TRUE(eventually([&] { return server_.stats().connections == 1; })) << "F5";
  expect_others_fine();
}

TEST_P(UcxHostilePeers, AnImpossibleWindowIsDeclined) {
  for (const std::uint32_t window : {0u, 1u, 0xFFFFFFFFu}) {
    const auto one = peer();
    ASSERT_TRUE(one->greet() && one->prepare());
    std::string text = one->address();
    weft::detail::store_le(reinterpret_cast<std::byte*>(text.data()) + 8, window);
    ASSERT_TRUE(one->say(wire::CarrierStep::kAddress, text));
    EXPECT_TRUE(one->hear(wire::CarrierStep::kDown)) << window;
  }
  expect_others_fine();
}

TEST_P(UcxHostilePeers, WhoLeavesDuringBringUpLeavesNothing) {
  for (int steps = 0; steps < 4; ++steps) {
    const auto one = peer();
    ASSERT_TRUE(steps == 0 || one->greet());
    ASSERT_TRUE(steps < 2 || one->prepare());
    ASSERT_TRUE(steps != 2 || one->say(wire::CarrierStep::kAddress, one->address()));
    ASSERT_TRUE(steps < 3 || one->open());
    one->base().close();
    EXPECT_TRUE(eventually([&] { return server_.stats().connections == 1; })) << "F5";
    expect_others_fine();
  }
}

TEST_P(UcxHostilePeers, WhoAsksForUcxAndSaysNothingMoreCostsASocket) {
  constexpr std::size_t kPeers = 20;
  const std::size_t descriptors = open_descriptors();
  std::vector<std::unique_ptr<RawUcxPeer>> peers;
  for (std::size_t i = 0; i < kPeers; ++i) {
    peers.push_back(peer());
    ASSERT_TRUE(peers.back()->greet());
  }
  // Whatever the server does for a hello it has done when it serves the next call.
  expect_others_fine();
  EXPECT_EQ(open_descriptors(), descriptors + 2 * kPeers) << "both ends of the sockets are here";
  peers.clear();
  EXPECT_TRUE(eventually([&] { return server_.stats().connections == 1; })) << "F5";
}

// An address of a worker that lives, and that nobody turns: nothing shows that its owner can come up.
TEST_P(UcxHostilePeers, WhoNeverComesUpIsOneOfAFewAndGivesAllBackInTime) {
  constexpr std::size_t kAtATime = 2;
  TransportOptions few = transports();
  few.ucx.bring_ups_max = kAtATime;
  few.ucx.bring_up_timeout = 300ms;
  Server& server = serve(few);
  RawUcxPeer silent{server.urls().front(), mode_};
  ASSERT_TRUE(silent.greet() && silent.prepare());
  const std::string address = silent.address();
  const std::size_t descriptors = open_descriptors();
  std::vector<std::unique_ptr<RawUcxPeer>> peers;
  for (std::size_t i = 0; i < 3 * kAtATime; ++i) {
    peers.push_back(std::make_unique<RawUcxPeer>(server.urls().front(), mode_));
    ASSERT_TRUE(peers.back()->greet() && peers.back()->say(wire::CarrierStep::kAddress, address));
  }
  const bool shares_a_worker = mode_ == UcxErrorMode::kPeer;
  for (std::size_t i = 0; i < kAtATime; ++i) EXPECT_TRUE(peers[i]->hear(wire::CarrierStep::kAddress));
  if (!shares_a_worker) {
    // Where this takes long, some of the first ones have had their time, and were told so before another had
    // its turn.
    const auto has_heard = [](const std::unique_ptr<RawUcxPeer>& peer) {
      return peer->base().readable_within(0ms);
    };
    const auto brought_up = std::count_if(peers.begin() + kAtATime, peers.end(), has_heard);
    const auto given_up = std::count_if(peers.begin(), peers.begin() + kAtATime, has_heard);
    EXPECT_LE(brought_up, given_up) << "more are brought up at a time";
  }
  // The others may get their turn when the first ones have had their time, and not come up either.
  for (const auto& each : peers) {
    EXPECT_TRUE(each->hear(wire::CarrierStep::kDown) || each->hear(wire::CarrierStep::kDown));
  }
  if (!shares_a_worker) {
    EXPECT_EQ(open_descriptors(), descriptors + 2 * peers.size()) << "only the sockets are left of them";
  }
  peers.clear();
  EXPECT_TRUE(eventually([&] { return server.stats().connections == 1; })) << "F5";
}

TEST_P(UcxHostilePeers, AFewWhoNeverComeUpDoNotKeepAnHonestOneFromIt) {
  TransportOptions few = transports();
  few.ucx.bring_ups_max = 2;
  few.ucx.bring_up_timeout = 3s;
  Server& server = serve(few);
  RawUcxPeer silent{server.urls().front(), mode_};
  ASSERT_TRUE(silent.greet() && silent.prepare());
  std::vector<std::unique_ptr<RawUcxPeer>> peers;
  for (std::size_t i = 0; i < few.ucx.bring_ups_max; ++i) {
    peers.push_back(std::make_unique<RawUcxPeer>(server.urls().front(), mode_));
    ASSERT_TRUE(peers.back()->greet() && peers.back()->say(wire::CarrierStep::kAddress, silent.address()));
    ASSERT_TRUE(peers.back()->hear(wire::CarrierStep::kAddress)) << "it has its place";
  }
  Client& late = client(server.urls().front());
  const auto asked = std::chrono::steady_clock::now();
  expect_alive(late);
  EXPECT_LT(std::chrono::steady_clock::now() - asked, few.ucx.bring_up_timeout / 2);
  EXPECT_EQ(late.carried_by(), "ucx");
}

// No sender of ours does so, but nothing is wrong with it: what is behind the attachment comes to memory of
// the receiver's and is bytes like others.
TEST_P(UcxHostilePeers, APartThatIsLongerThanItsAttachmentLandsNowhereElse) {
  const auto peer = peer_on_carrier();
  std::string frame = faults::request_bytes<&add>(5, 1, 2);
  auto* const at = reinterpret_cast<std::byte*>(frame.data());
  wire::FrameHeader header = wire::load_header(at);
  header.flags = wire::FrameFlags::kAttachment;
  header.attachment_bytes = 40'000;
  wire::store_header(at, header);
  const std::uint64_t calls = server_.stats().calls;
  peer->send(MessageKind::kBytes, frame);
  peer->send(MessageKind::kAsk);
  ASSERT_TRUE(peer->hear_place());
  peer->send(MessageKind::kPart, std::string(40'000, 'x') + faults::request_bytes<&add>(7, 1, 2) +
                                     faults::request_bytes<&add>(9, 1, 2));
  EXPECT_TRUE(peer->progress_until([&] { return server_.stats().calls >= calls + 3; }));
  expect_served(*peer);
}

TEST_P(UcxHostilePeers, HeadersThatAreNoneAreDroppedAndTheConnectionGoesOn) {
  const auto peer = peer_on_carrier();
  peer->send_text("");
  peer->send_text("short");
  peer->send_text(std::string(23, '\1'));
  peer->send_text(std::string(25, '\1'));
  peer->send_text(std::string(24, '\0'), std::string(5000, 'x'));
  std::string other_version(24, '\0');
  other_version[0] = 2;
  peer->send_text(other_version, "x");
  peer->send_text(std::string(24, '\1'), std::string(100'000, 'x'), true);
  expect_served(*peer);
}

TEST_P(UcxHostilePeers, MessagesForSlotsOfNobodyAreDropped) {
  const auto peer = peer_on_carrier();
  ActiveMessageHeader header = peer->header(MessageKind::kBytes);
  const ActiveMessageHeader right = header;
  header.key ^= 1;
  peer->send_header(header, "for whoever had the slot before");
  header.slot = 0xFFFFFFFF;
  peer->send_header(header, "for a slot that never was");
  header.slot = right.slot + 1;
  peer->send_header(header, std::string(100'000, 'x'), true);
  peer->send_header(right, faults::request_bytes<&add>(6, 1, 2));
  expect_served(*peer);
}

TEST_P(UcxHostilePeers, MessagesForAConnectionThatIsClosedAreDropped) {
  const auto peer = peer_on_carrier();
  peer->base().close();
  for (int i = 0; i < 100; ++i) peer->send(MessageKind::kBytes, std::string(1000, 'x'));
  EXPECT_TRUE(peer->progress_until([&] { return server_.stats().connections == 1; })) << "F5";
  for (int i = 0; i < 100; ++i) peer->send(MessageKind::kBytes, std::string(1000, 'x'));
  for (int i = 0; i < 10; ++i) peer->send(MessageKind::kPart, std::string(100'000, 'x'));
  peer->progress_until([&, turns = 0]() mutable { return ++turns > 1000; });
  expect_others_fine();
}

/// One thing that a peer may not do.
const std::vector<carrier_testing::Misdeed<RawUcxPeer>> kMisdeeds =
    carrier_testing::misdeeds_with<RawUcxPeer>({
        {"overruns its window",
         [](RawUcxPeer& peer) {
           // Never whole, so that nobody takes it.
           wire::FrameHeader frame;
           frame.type = wire::FrameType::kRequest;
           frame.id = 1;
           frame.body_bytes = 1u << 20;
           peer.send(MessageKind::kBytes, testing::header_bytes(frame));
           for (int i = 0; i < 3000; ++i) {
             ActiveMessageHeader ahead = peer.header(MessageKind::kBytes);
             ahead.message.sequence += 1;  // the one that is due never comes
             peer.send_header(ahead, std::string(4000, 'x'));
           }
         }},
        {"a message over the whole window",
         [](RawUcxPeer& peer) { peer.send(MessageKind::kBytes, std::string(2u << 20, 'x')); }},
        {"no bytes at all", [](RawUcxPeer& peer) { peer.send(MessageKind::kBytes); }},
        {"a part without a place",
         [](RawUcxPeer& peer) { peer.send(MessageKind::kPart, std::string(100'000, 'x')); }},
        {"an oversized part",
         [](RawUcxPeer& peer) { peer.send(MessageKind::kPart, std::string((1u << 20) + 1, 'x')); }},
        {"an eager part", [](RawUcxPeer& peer) { peer.send_header(peer.header(MessageKind::kPart), "x"); }},
        {"bytes by rendezvous",
         [](RawUcxPeer& peer) {
           peer.send_header(peer.header(MessageKind::kBytes), std::string(100'000, 'x'), true);
         }},
        {"a place that nobody asked for",
         [](RawUcxPeer& peer) {
           ActiveMessageHeader place = peer.header(MessageKind::kPlace);
           place.message.value = 1;
           peer.send_header(place);
         }},
        {"a place for nothing", [](RawUcxPeer& peer) { peer.send(MessageKind::kPlace); }},
        {"a kind that only RDMA has", [](RawUcxPeer& peer) { peer.send(MessageKind::kReclaim); }},
        {"a second probe", [](RawUcxPeer& peer) { peer.send(MessageKind::kProbe); }},
        {"a control message with bytes", [](RawUcxPeer& peer) { peer.send(MessageKind::kCredit, "x"); }},
        {"parts before the last one has landed",
         [](RawUcxPeer& peer) {
           // Far fewer than the attachment has, so that only their haste is wrong.
           std::string frame = faults::request_bytes<&add>(5, 1, 2);
           auto* const at = reinterpret_cast<std::byte*>(frame.data());
           wire::FrameHeader header = wire::load_header(at);
           header.flags = wire::FrameFlags::kAttachment;
           header.attachment_bytes = 32u << 20;
           wire::store_header(at, header);
           peer.send(MessageKind::kBytes, frame);
           peer.send(MessageKind::kAsk);
           peer.hear_place();
           for (int i = 0; i < 16; ++i) peer.send(MessageKind::kPart, std::string(1u << 20, 'x'));
         }},
        {"a sequence number again",
         [](RawUcxPeer& peer) {
           ActiveMessageHeader again = peer.header(MessageKind::kCredit);
           again.message.sequence = 0;
           peer.send_header(again);
         }},
        {"an early sequence number again",
         [](RawUcxPeer& peer) {
           ActiveMessageHeader early = peer.header(MessageKind::kBytes);
           early.message.sequence += 5;
           peer.send_header(early, std::string(4000, 'x'));
           peer.send_header(early, std::string(4000, 'x'));
         }},
        {"an early part again",
         [](RawUcxPeer& peer) {
           ActiveMessageHeader early = peer.header(MessageKind::kPart);
           early.message.sequence += 5;
           peer.send_header(early, std::string(100'000, 'x'), true);
           peer.send_header(early, std::string(100'000, 'x'), true);
         }},
        {"a sequence number far ahead",
         [](RawUcxPeer& peer) {
           ActiveMessageHeader far = peer.header(MessageKind::kBytes);
           far.message.sequence += 1u << 20;
           peer.send_header(far, "x");
         }},
    });

TEST_P(UcxHostilePeers, WhatAPeerMayNotDoEndsItsConnectionAndNothingElse) {
  for (const auto& misdeed : kMisdeeds) {
    SCOPED_TRACE(misdeed.name);
    const auto peer = peer_on_carrier();
    misdeed.commit(*peer);
    expect_dismissed(*peer);
    if (HasFailure()) return;
  }
}

// Sequence numbers count from the peer's first message on, the probe.
TEST_P(UcxHostilePeers, WhoDoesNotBeginWithAProbeIsTurnedAway) {
  const auto one = peer();
  ASSERT_TRUE(one->greet() && one->open());
  one->send(MessageKind::kBytes, "x");
  EXPECT_TRUE(one->progress_until([&] { return one->base().readable_within(0ms); }));
  EXPECT_TRUE(one->hear(wire::CarrierStep::kDown));
  expect_others_fine();
}

}  // namespace
}  // namespace weft::ucx_testing
