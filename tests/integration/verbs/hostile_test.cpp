// SPDX-License-Identifier: Apache-2.0
// CR-18, CR-19: a peer that speaks the hello and the carrier frames, and then what it should not, through its
// own queue pair. Its connection ends with a status; an honest client of the same server, whose receives it
// shares, notices nothing.
#include <gmock/gmock.h>

#include "integration/verbs/hostile_testing.hpp"

namespace weft::verbs_testing {

using namespace weft::detail;
namespace {

class VerbsHostilePeers : public HostileTest {};
INSTANTIATE_TEST_SUITE_P(Verbs, VerbsHostilePeers, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsHostilePeers, AHandMadePeerIsServedWhenItBehaves) {
  const auto peer = peer_on_carrier();
  const std::uint64_t calls = server_.stats().calls;
  peer->send(MessageKind::kBytes, faults::request_bytes<&add>(7, 1, 2));
  EXPECT_TRUE(peer->progress_until([&] { return server_.stats().calls > calls; }));
  expect_others_fine();
}

TEST_P(VerbsHostilePeers, AnotherVersionOfTheOfferIsDeclined) {
  for (const char* offer : {"\x09", "", "\x7f\x01"}) {
    const auto one = peer();
    ASSERT_TRUE(one->greet(offer));
    EXPECT_TRUE(one->hear(wire::CarrierStep::kDown));
  }
  expect_alone();
}

TEST_P(VerbsHostilePeers, ImpossibleMessagesAndCreditsAreDeclined) {
  constexpr std::uint32_t kImpossible[][2] = {{0, 8},     {1023, 8},  {(1u << 20) + 1, 8}, {~0u, 8},
                                              {16384, 0}, {16384, 2}, {16384, 4097},       {16384, ~0u}};
  for (const auto& [message_bytes, granted] : kImpossible) {
    const auto one = peer();
    ASSERT_TRUE(one->greet() && one->open());
    ASSERT_TRUE(one->say(wire::CarrierStep::kAddress, one->address_with(message_bytes, granted)));
    EXPECT_TRUE(one->hear(wire::CarrierStep::kDown)) << message_bytes << ' ' << granted;
  }
  expect_alone();
}

TEST_P(VerbsHostilePeers, WhoLeavesDuringBringUpLeavesNothing) {
  for (int steps = 0; steps < 5; ++steps) {
    const auto one = peer();
    ASSERT_TRUE(steps == 0 || one->greet());
    ASSERT_TRUE(steps < 2 || one->open());
    ASSERT_TRUE(steps != 3 || one->say(wire::CarrierStep::kAddress, one->address()));
    ASSERT_TRUE(steps < 4 || one->connect());
    one->base().close();
    expect_alone();
  }
}

TEST_P(VerbsHostilePeers, StepsOutOfTurnEndTheConnection) {
  using enum wire::CarrierStep;
  const std::string none;
  for (const auto step : {kReady, kUp}) {
    const auto one = peer();
    ASSERT_TRUE(one->greet() && one->open());
    ASSERT_TRUE(one->say(step, none));
    // A verdict before the carrier was heard is kept; a second one is too much.
    one->say(step, none);
    expect_dismissed(*one);
  }
  const auto twice = peer();
  ASSERT_TRUE(twice->greet() && twice->open() && twice->connect());
  ASSERT_TRUE(twice->say(kReady));
  expect_dismissed(*twice);
}

constexpr auto kUnknownKind = static_cast<std::uint8_t>(static_cast<unsigned>(kLastMessageKind) + 1);

constexpr auto kCreditKind = static_cast<std::uint8_t>(MessageKind::kCredit);

std::string message_text(std::uint8_t version, std::uint8_t kind, std::uint8_t zero = 0) {
  std::string text(kMessageHeaderBytes, '\0');
  text[0] = static_cast<char>(version);
  text[1] = static_cast<char>(kind);
  text[2] = static_cast<char>(zero);
  text[4] = 40;
  return text;
}

MessageHeader with_value(RawVerbsPeer& peer, MessageKind kind, std::uint32_t value) {
  MessageHeader header = peer.header(kind);
  header.value = value;
  return header;
}

/// `runs` of 0 are as many as there are whole ones.
void offer(RawVerbsPeer& peer, const std::string& content, std::size_t runs = 0) {
  MessageHeader header = peer.header(MessageKind::kOffer);
  const std::size_t whole = content.size() / verbs::RemoteMemory::kEncodedBytes;
  header.runs = static_cast<std::uint8_t>(runs > 0 ? runs : whole);
  peer.send(header, content);
}

MessageHeader with_granted(RawVerbsPeer& peer, std::uint32_t difference) {
  MessageHeader header = peer.header(MessageKind::kCredit);
  header.granted += difference;
  return header;
}

/// A frame that is never whole, so that nobody takes it.
std::string endless_frame() {
  wire::FrameHeader frame;
  frame.type = wire::FrameType::kRequest;
  frame.id = 1;
  frame.body_bytes = 1u << 20;
  return testing::header_bytes(frame);
}

std::string offer_text(std::uint64_t bytes) {
  const auto encoded = verbs::RemoteMemory{.address = 4096, .bytes = bytes, .rkey = 1}.encode();
  return std::string{as_text(encoded)};
}

/// Lists the misdeeds of a peer.
const std::vector<carrier_testing::Misdeed<RawVerbsPeer>> kMisdeeds = carrier_testing::misdeeds_with<RawVerbsPeer>({
    {"another version",
     [](RawVerbsPeer& peer) { peer.send_text(message_text(kMessageVersion + 1, kCreditKind)); }},
    {"an unknown kind",
     [](RawVerbsPeer& peer) { peer.send_text(message_text(kMessageVersion, kUnknownKind)); }},
    {"kind 0", [](RawVerbsPeer& peer) { peer.send_text(message_text(kMessageVersion, 0)); }},
    {"reserved bytes",
     [](RawVerbsPeer& peer) { peer.send_text(message_text(kMessageVersion, kCreditKind, 1)); }},
    {"a short header",
     [](RawVerbsPeer& peer) { peer.send_text(message_text(kMessageVersion, kCreditKind).substr(0, 15)); }},
    {"no header", [](RawVerbsPeer& peer) { peer.send_text(""); }},
    {"bytes that are none", [](RawVerbsPeer& peer) { peer.send(MessageKind::kBytes); }},
    {"credit with bytes", [](RawVerbsPeer& peer) { peer.send(MessageKind::kCredit, "x"); }},
    {"a number that means nothing",
     [](RawVerbsPeer& peer) { peer.send(with_value(peer, MessageKind::kCredit, 1)); }},
    {"a message longer than the receive",
     [](RawVerbsPeer& peer) { peer.send(MessageKind::kBytes, std::string(20'000, 'x')); }},
    {"messages without credit",
     [](RawVerbsPeer& peer) {
       peer.send(MessageKind::kBytes, endless_frame());
       // More at once than the server gives out; where time passes, again and again.
       for (int i = 0; i < 1000 && !peer.lost(); ++i) peer.send_many(24);
     }},
    {"credit taken back",
     [](RawVerbsPeer& peer) {
       peer.send(with_granted(peer, 1));
       peer.send(with_granted(peer, 0));
     }},
    {"credit beyond every window", [](RawVerbsPeer& peer) { peer.send(with_granted(peer, 5000)); }},
    {"returns credit that it does not have",
     [](RawVerbsPeer& peer) { peer.send(with_value(peer, MessageKind::kReturn, 1000)); }},
    {"returns all the credit of the world",
     [](RawVerbsPeer& peer) { peer.send(with_value(peer, MessageKind::kReturn, ~0u)); }},
    {"a message again",
     [](RawVerbsPeer& peer) {
       MessageHeader again = peer.header(MessageKind::kCredit);
       again.sequence -= 1;
       peer.send(again);
     }},
    {"a kind that only UCX has", [](RawVerbsPeer& peer) { peer.send(MessageKind::kAsk); }},
    {"a return of nothing", [](RawVerbsPeer& peer) { peer.send(MessageKind::kReturn); }},
    {"a second probe", [](RawVerbsPeer& peer) { peer.send(MessageKind::kProbe); }},
    {"bytes after the end",
     [](RawVerbsPeer& peer) {
       peer.send(MessageKind::kEnd);
       peer.send(MessageKind::kBytes, "x");
     }},
    {"an offer after the end",
     [](RawVerbsPeer& peer) {
       peer.send(MessageKind::kEnd);
       offer(peer, offer_text(100'000));
     }},
    {"an offer of nothing", [](RawVerbsPeer& peer) { offer(peer, offer_text(0)); }},
    {"an offer of a gigabyte",
     [](RawVerbsPeer& peer) { offer(peer, offer_text(1u << 30)); }},
    {"an offer beyond the end of all memory",
     [](RawVerbsPeer& peer) { offer(peer, offer_text(~std::uint64_t{0})); }},
    {"an offer of a list with nothing in it",
     [](RawVerbsPeer& peer) { offer(peer, offer_text(100) + offer_text(0) + offer_text(100)); }},
    {"an offer of a list with more than may be offered",
     [](RawVerbsPeer& peer) { offer(peer, offer_text(1u << 20) + offer_text(1)); }},
    {"an offer of a list beyond the end of all memory",
     [](RawVerbsPeer& peer) {
       offer(peer, offer_text(1000) + offer_text(~std::uint64_t{0} - 999));
     }},
    {"an offer of too many runs",
     [](RawVerbsPeer& peer) {
       std::string runs;
       for (int i = 0; i < 33; ++i) runs += offer_text(4096);
       offer(peer, runs);
     }},
    {"a list and half a run",
     [](RawVerbsPeer& peer) { offer(peer, offer_text(9) + offer_text(9).substr(1), 2); }},
    {"half an offer", [](RawVerbsPeer& peer) { offer(peer, offer_text(9).substr(1), 1); }},
    {"an offer that names no memory",
     [](RawVerbsPeer& peer) { peer.send(MessageKind::kOffer, offer_text(9)); }},
    {"bytes that name memory",
     [](RawVerbsPeer& peer) {
       MessageHeader header = peer.header(MessageKind::kBytes);
       header.runs = 1;
       peer.send(header, offer_text(9));
     }},
    {"bytes that tell of more than was offered",
     [](RawVerbsPeer& peer) { peer.send(with_value(peer, MessageKind::kBytes, 1), endless_frame()); }},
    {"fetches what was not offered",
     [](RawVerbsPeer& peer) { peer.send(with_value(peer, MessageKind::kFetched, 1)); }},
    {"fetches nothing", [](RawVerbsPeer& peer) { peer.send(MessageKind::kFetched); }},
    {"declines what was not offered",
     [](RawVerbsPeer& peer) { peer.send(with_value(peer, MessageKind::kDecline, 1)); }},
    {"begins again where nothing was declined",
     [](RawVerbsPeer& peer) { peer.send(MessageKind::kAgain); }},
    {"ends before what it offers is answered",
     [](RawVerbsPeer& peer) {
       peer.send(MessageKind::kBytes, endless_frame());
       for (int i = 0; i < 2; ++i) offer(peer, offer_text(100'000));
       peer.send(MessageKind::kEnd);
     }},
    {"two ends",
     [](RawVerbsPeer& peer) {
       peer.send(MessageKind::kEnd);
       peer.send(MessageKind::kEnd);
     }},
});

TEST_P(VerbsHostilePeers, WhatAPeerMayNotDoEndsItsConnectionAndNothingElse) {
  for (const auto& misdeed : kMisdeeds) {
    SCOPED_TRACE(misdeed.name);
    const auto peer = peer_on_carrier();
    misdeed.commit(*peer);
    expect_dismissed(*peer);
    if (HasFailure()) return;
  }
}

TEST_P(VerbsHostilePeers, WhoDoesNotBeginWithAProbeIsTurnedAway) {
  for (const auto kind : {MessageKind::kBytes, MessageKind::kCredit, MessageKind::kEnd}) {
    const auto one = peer();
    ASSERT_TRUE(one->greet() && one->open() && one->connect());
    one->send(kind, kind == MessageKind::kBytes ? "x" : "");
    EXPECT_TRUE(one->progress_until([&] { return one->base().readable_within(0ms); }));
    EXPECT_TRUE(one->hear(wire::CarrierStep::kDown));
  }
  expect_alone();
}

// Asking for credits again and again, or giving them back, is allowed, and costs the others nothing.
TEST_P(VerbsHostilePeers, APeerThatOnlyAsksForCreditDisturbsNobody) {
  const auto peer = peer_on_carrier();
  for (std::uint32_t i = peer->sent(); i + 1 < peer->credit(); ++i) peer->send(MessageKind::kReclaim);
  expect_others_fine();
  EXPECT_EQ(server_.stats().connections, 2u);
}

}  // namespace
}  // namespace weft::verbs_testing
