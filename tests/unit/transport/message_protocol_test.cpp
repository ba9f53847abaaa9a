// SPDX-License-Identifier: Apache-2.0
// The protocol of messages by itself: two ends, and a post between them that a test can stop.
#include "transport/message_protocol.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace weft {

using namespace weft::detail;
namespace {

using Control = MessageProtocol::Control;

constexpr std::uint32_t kEverything = (bit_of(kLastMessageKind) << 1) - 2;
constexpr std::uint32_t kWindow = 8;

MessageProtocol::Rules rules(bool all_cost = true) {
  return {
      .kinds = kEverything, .credit_max = 100, .all_cost = all_cost, .credit_due = 5, .over = "in a test"};
}

/// One end, and what a carrier would have done for it.
struct End {
  explicit End(bool all_cost = true, std::uint32_t window = kWindow) : protocol(rules(all_cost)) {
    protocol.credit().begin(window);
    protocol.credit().take_terms(window);
  }
  /// Posts what is due, until nothing is or the post fails.
  std::vector<MessageHeader> post(std::size_t at_most = SIZE_MAX) {
    std::vector<MessageHeader> posted;
    while (posted.size() < at_most) {
      const auto control = protocol.due();
      if (!control) break;
      posted.push_back(protocol.stamp(*control));
    }
    return posted;
  }
  bool receive(const MessageHeader& header) {
    return protocol.check(header, has_content(header.kind) ? 1 : 0) && protocol.take(header);
  }
  void receive(const std::vector<MessageHeader>& headers) {
    for (const MessageHeader& header : headers) receive(header);
  }
  std::string misdeed() const { return std::string{protocol.misbehaviour().message()}; }

  MessageProtocol protocol;
};

struct Pair {
  Pair() {
    for (End* end : {&one, &other}) end->protocol.want(MessageKind::kProbe);
    exchange();
    EXPECT_TRUE(one.protocol.heard() && other.protocol.heard());
  }
  void exchange() {
    other.receive(one.post());
    one.receive(other.post());
  }
  End one;
  End other;
};

std::vector<MessageKind> kinds_of(const std::vector<MessageHeader>& headers) {
  std::vector<MessageKind> kinds;
  for (const MessageHeader& header : headers) kinds.push_back(header.kind);
  return kinds;
}

TEST(MessageProtocol, EveryHeadSurvivesBeingWrittenAndAnUnknownOneIsNone) {
  std::byte bytes[kMessageHeaderBytes];
  for (unsigned kind = 0; kind < 256; ++kind) {
    store_message_header(bytes, {static_cast<MessageKind>(kind), 0x01020304, 0x05060708, 0x090A0B0C});
    const auto read = load_message_header(bytes);
    const bool known = kind >= 1 && kind <= static_cast<unsigned>(kLastMessageKind);
    ASSERT_EQ(read.has_value(), known) << kind;
    if (!known) continue;
    EXPECT_EQ(static_cast<unsigned>(read->kind), kind);
    EXPECT_EQ(read->granted, 0x01020304u);
    EXPECT_EQ(read->value, 0x05060708u);
    EXPECT_EQ(read->sequence, 0x090A0B0Cu);
  }
}

TEST(MessageProtocol, WhatAPeerMayNotDoIsNamedAndEndsAllTaking) {
  struct Misdeed {
    const char* named;
    std::function<void(MessageProtocol&, MessageProtocol&)> commit;
  };
  const auto send = [](MessageProtocol& from, MessageProtocol& to, Control control) {
    const MessageHeader header = from.stamp(control);
    if (to.check(header, has_content(control.kind) ? 1 : 0)) to.take(header);
  };
  using enum MessageKind;
  const Misdeed misdeeds[] = {
      {"began twice", [&](auto& from, auto& to) { send(from, to, {kProbe}); }},
      {"took an end that was not sent", [&](auto& from, auto& to) { send(from, to, {kEndTaken}); }},
      {"a number that means nothing", [&](auto& from, auto& to) { send(from, to, {kCredit, 1}); }},
      {"a number that means nothing", [&](auto& from, auto& to) { send(from, to, {kFetched, 0}); }},
      {"sends on after its end",
       [&](auto& from, auto& to) {
         send(from, to, {kEnd});
         send(from, to, {kBytes});
       }},
      {"sends on after its end",
       [&](auto& from, auto& to) {
         send(from, to, {kEnd});
         send(from, to, {kEnd});
       }},
      {"mixes up", [](auto& from, auto& to) { to.check(from.stamp(kBytes), 0); }},
      {"mixes up", [](auto& from, auto& to) { to.check(from.stamp(kEnd), 1); }},
      {"mixes up bytes and offers", [](auto& from, auto& to) { to.check(from.stamp(kOffer), 1); }},
      {"mixes up bytes and offers", [](auto& from, auto& to) { to.check(from.stamp({kBytes, 0, 1}), 1); }},
      {"in another order",
       [&](auto& from, auto& to) {
         from.stamp(kCredit);
         send(from, to, {kCredit});
       }},
      {"takes credit back",
       [](auto& from, auto& to) {
         MessageHeader header = from.stamp(kCredit);
         header.granted -= 1;
         to.take(header);
       }},
      {"takes credit back",
       [](auto& from, auto& to) {
         MessageHeader header = from.stamp(kCredit);
         header.granted += 1000;
         to.take(header);
       }},
  };
  for (const Misdeed& misdeed : misdeeds) {
    SCOPED_TRACE(misdeed.named);
    Pair pair;
    misdeed.commit(pair.one.protocol, pair.other.protocol);
    EXPECT_NE(pair.other.misdeed().find(misdeed.named), std::string::npos) << pair.other.misdeed();
    EXPECT_EQ(pair.other.protocol.misbehaviour().code(), StatusCode::kInvalidArgument);
    const std::uint32_t taken = pair.other.protocol.taken();
    EXPECT_FALSE(pair.other.receive(pair.one.protocol.stamp(kBytes)));
    EXPECT_EQ(pair.other.protocol.taken(), taken);
  }
}

TEST(MessageProtocol, AKindThatTheCarrierDoesNotUseIsAMisdeed) {
  MessageProtocol plain{{.credit_max = 100, .over = "in a test"}};
  EXPECT_FALSE(plain.check({MessageKind::kOffer, 0, 0, 0}, 1));
  EXPECT_TRUE(plain.misbehaves());
}

TEST(MessageProtocol, WhoDoesNotBeginWithAProbeMisbehaves) {
  End end;
  EXPECT_FALSE(end.receive({MessageKind::kBytes, kWindow, 0, 0}));
  EXPECT_NE(end.misdeed().find("did not begin with a probe"), std::string::npos);
}

TEST(MessageProtocol, BytesLeaveCreditForAnAnswerAndForNewsOfCredit) {
  Pair pair;
  MessageProtocol& one = pair.one.protocol;
  while (one.may_send_bytes()) pair.other.receive(one.stamp(MessageKind::kBytes));
  EXPECT_EQ(one.credit().left(), MessageCredit::kKeptByBytes);
  one.want(MessageKind::kReclaim);
  EXPECT_FALSE(one.due()) << "it can wait";
  one.want(MessageKind::kFetched, 7);
  const auto answers = pair.one.post();
  ASSERT_EQ(kinds_of(answers), std::vector{MessageKind::kFetched});
  EXPECT_EQ(answers[0].value, 7u);
  EXPECT_EQ(one.credit().left(), MessageCredit::kKept);
  one.want(MessageKind::kDecline, 1);
  EXPECT_FALSE(one.due()) << "the last one is for credit";
  one.credit().grant(1);
  EXPECT_EQ(kinds_of(pair.one.post()), std::vector{MessageKind::kDecline}) << "which an answer tells too";
  EXPECT_EQ(one.credit().left(), 0u);
  one.credit().grant(1);
  one.want(MessageKind::kCredit);
  EXPECT_FALSE(one.due());
}

TEST(MessageProtocol, WhatWasFetchedIsToldWithBytes) {
  for (const MessageKind kind : {MessageKind::kBytes, MessageKind::kOffer}) {
    Pair pair;
    MessageProtocol& one = pair.one.protocol;
    one.want(MessageKind::kFetched, 7);
    one.want(MessageKind::kFetched, 5);
    EXPECT_EQ(one.wanted(), bit_of(MessageKind::kFetched));
    const MessageHeader header =
        one.stamp({kind, 0, kind == MessageKind::kOffer ? std::uint8_t{2} : std::uint8_t{0}});
    EXPECT_EQ(header.value, 12u);
    EXPECT_EQ(header.runs, kind == MessageKind::kOffer ? 2u : 0u);
    EXPECT_TRUE(pair.other.receive(header));
    EXPECT_EQ(one.wanted(), 0u);
    EXPECT_TRUE(pair.one.post().empty()) << "told already";
  }
}

TEST(MessageProtocol, BytesTellOfNothingWhereNothingIsFetched) {
  MessageProtocol plain{{.kinds = kCommonMessageKinds, .credit_max = 100, .over = "in a test"}};
  EXPECT_FALSE(plain.check({MessageKind::kBytes, 0, 1, 0}, 1));
}

TEST(MessageProtocol, APeerWithoutCreditIsFoundOutAndAGrantReachesItWithAnyMessage) {
  Pair pair;
  MessageCredit& of_peer = pair.other.protocol.credit();
  const std::uint32_t left = of_peer.peer_may_send();
  EXPECT_TRUE(of_peer.use(left));
  EXPECT_FALSE(of_peer.use(1));
  of_peer.grant(3);
  const std::uint32_t before = pair.one.protocol.credit().left();
  pair.one.receive(pair.other.protocol.stamp(MessageKind::kBytes));
  EXPECT_EQ(pair.one.protocol.credit().left(), before + 3);
  pair.other.protocol.want(MessageKind::kCredit);
  EXPECT_TRUE(pair.other.post().empty()) << "told already";
}

TEST(MessageProtocol, CreditGoesBackDownToWhatIsDue) {
  Pair pair;
  MessageProtocol& one = pair.one.protocol;
  one.want(MessageKind::kReturn);
  const std::uint32_t left = one.credit().left();
  const auto posted = pair.one.post();
  ASSERT_EQ(posted.size(), 1u);
  EXPECT_EQ(posted[0].value, left - 5);
  EXPECT_EQ(one.credit().left(), 4u) << "the message took one too";
  one.want(MessageKind::kReturn);
  EXPECT_TRUE(pair.one.post().empty());
}

TEST(MessageProtocol, CreditCountsOnOverTheEndOfItsNumbers) {
  constexpr std::uint32_t kNearTheEnd = 0xFFFF'FFFE;
  MessageCredit credit{100};
  credit.begin(kNearTheEnd);
  ASSERT_TRUE(credit.use(kNearTheEnd - 1));
  credit.grant(9);
  EXPECT_TRUE(credit.use(10));
  EXPECT_FALSE(credit.use(1));
  credit.take_terms(kNearTheEnd);
  credit.spend(kNearTheEnd);
  EXPECT_TRUE(credit.take_grant(kNearTheEnd + 50));
  EXPECT_EQ(credit.left(), 50u);
}

TEST(MessageProtocol, WhereOnlyBytesCostControlNeverWaits) {
  End end{false, 0};
  end.protocol.want(MessageKind::kProbe);
  end.protocol.want(MessageKind::kAsk);
  EXPECT_FALSE(end.protocol.may_send_bytes());
  EXPECT_EQ(end.post().size(), 2u);
}

TEST(MessageProtocol, EachEndIsTakenOnceWhicheverComesFirst) {
  for (const bool both_at_once : {true, false}) {
    Pair pair;
    MessageProtocol& one = pair.one.protocol;
    MessageProtocol& other = pair.other.protocol;
    EXPECT_FALSE(one.end_left());
    one.end();
    EXPECT_TRUE(one.ended());
    if (both_at_once) other.end();
    pair.exchange();
    EXPECT_TRUE(one.end_left() && other.end_arrived());
    EXPECT_FALSE(one.peer_took_end());
    EXPECT_TRUE(other.take_end());
    if (!both_at_once) other.end();
    pair.exchange();
    EXPECT_TRUE(one.peer_took_end() && other.end_taken_left());
    EXPECT_FALSE(other.take_end()) << "the peer knows";
    EXPECT_TRUE(one.take_end());
    pair.exchange();
    EXPECT_TRUE(other.peer_took_end() && one.end_taken_left());
    EXPECT_TRUE(one.misbehaviour().ok() && other.misbehaviour().ok());
  }
}

TEST(MessageProtocol, TheEndIsTheLastToLeave) {
  Pair pair;
  pair.one.protocol.end();
  for (const auto kind : {MessageKind::kAsk, MessageKind::kWithdraw, MessageKind::kReclaim}) {
    pair.one.protocol.want(kind);
  }
  const auto kinds = kinds_of(pair.one.post());
  EXPECT_EQ(kinds, (std::vector{MessageKind::kWithdraw, MessageKind::kAsk, MessageKind::kReclaim,
                                MessageKind::kEnd}));
}

// A post that fails is tried again from the same state, so that nothing is lost or said twice.
TEST(MessageProtocol, APostThatFailsAtAnyMessageIsMadeUpFor) {
  for (std::size_t fails_at = 0; fails_at <= 4; ++fails_at) {
    SCOPED_TRACE(fails_at);
    Pair pair;
    MessageProtocol& one = pair.one.protocol;
    one.want(MessageKind::kWithdraw);
    one.want(MessageKind::kPlace, 2);
    one.want(MessageKind::kAsk);
    one.end();
    std::vector<MessageHeader> posted = pair.one.post(fails_at);
    EXPECT_EQ(one.end_left(), fails_at == 4);
    one.want(MessageKind::kPlace, 1);
    const auto rest = pair.one.post();
    posted.insert(posted.end(), rest.begin(), rest.end());
    std::uint32_t places = 0;
    int ends = 0;
    for (const MessageHeader& header : posted) {
      pair.other.receive(header);
      places += header.kind == MessageKind::kPlace ? header.value : 0;
      ends += header.kind == MessageKind::kEnd ? 1 : 0;
    }
    EXPECT_EQ(places, 3u);
    EXPECT_EQ(ends, 1);
    EXPECT_TRUE(pair.other.protocol.misbehaviour().ok()) << pair.other.misdeed();
    EXPECT_TRUE(pair.other.protocol.end_arrived());
  }
}

}  // namespace
}  // namespace weft
