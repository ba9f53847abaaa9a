// SPDX-License-Identifier: Apache-2.0
// Every family of operations between two workers of one loop, over each way: UX-2, UX-3, UX-4.
// Capabilities: UX-5.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "unit/ucx/pair.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/coro/yield.hpp"

namespace weft::ucx {
namespace {

using testing::Pair;
using testing::text;
using testing::text_of;
using testing::Way;

class UcxFamilies : public ::testing::TestWithParam<Way> {
 protected:
  Pair pair_{GetParam()};
};

constexpr std::size_t kLarge = 1 << 20;

Memory pattern(std::size_t size, unsigned seed) {
  Memory memory = Memory::allocate(size);
  for (std::size_t i = 0; i < size; ++i) memory.data()[i] = static_cast<std::byte>(i * 7 + seed);
  return memory;
}

bool same(const Memory& one, const Memory& other) {
  return one.size() == other.size() &&
         (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

TEST_P(UcxFamilies, ATaggedMessageArrivesWithItsTagAndSize) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const Memory into = Memory::allocate(64);
    auto [sent, received] = co_await when_all(tag_send(pair.to_b, 0x1234, text("hello")),
                                              tag_receive(*pair.b, 0x0034, 0x00ff, into));
    EXPECT_TRUE(sent.ok()) << sent.status().to_string();
    EXPECT_TRUE(received.ok()) << received.status().to_string();
    if (!received.ok()) co_return;
    EXPECT_EQ(received->tag, 0x1234U);
    EXPECT_EQ(text_of(into, received->bytes), "hello");
  };
  pair_.run(exchange(pair_));
}

TEST_P(UcxFamilies, ASynchronousSendAndALargeMessageArrive) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const Memory from = pattern(kLarge, 3);
    const Memory into = Memory::allocate(kLarge);
    auto [sent, received] =
        co_await when_all(tag_send_sync(pair.to_b, 1, from), tag_receive(*pair.b, 1, kWholeTag, into));
    EXPECT_TRUE(sent.ok()) << sent.status().to_string();
    EXPECT_TRUE(received.ok()) << received.status().to_string();
    EXPECT_TRUE(same(from, into));
  };
  pair_.run(exchange(pair_));
}

TEST_P(UcxFamilies, AMessageThatIsTooLongIsSaidToBe) {
  const auto exchange = [](Pair& pair) -> Task<> {
    auto [sent, received] = co_await when_all(tag_send(pair.to_b, 1, text("much too long")),
                                              tag_receive(*pair.b, 1, kWholeTag, Memory::allocate(4)));
    EXPECT_EQ(received.status().code(), StatusCode::kOutOfRange);
    EXPECT_EQ(received.status().native(), UCS_ERR_MESSAGE_TRUNCATED);
    EXPECT_EQ(received.status().layer(), Layer::kTransport);
  };
  pair_.run(exchange(pair_));
}

TEST_P(UcxFamilies, AProbedMessageIsReceivedIntoMemoryOfItsSize) {
  const auto send = [](Pair& pair) -> Task<> {
    EXPECT_TRUE((co_await tag_send(pair.to_b, 77, text("probed"))).ok());
    EXPECT_TRUE((co_await tag_send(pair.to_b, 78, text("thrown away"))).ok());
  };
  pair_.run(send(pair_));
  pair_.until([&] { return tag_peek(*pair_.b, 78, kWholeTag).has_value(); });
  EXPECT_FALSE(try_tag_probe(*pair_.b, 1, kWholeTag).has_value());
  try_tag_probe(*pair_.b, 78, kWholeTag).reset();
  EXPECT_FALSE(tag_peek(*pair_.b, 78, kWholeTag).has_value());
  auto message = try_tag_probe(*pair_.b, 77, kWholeTag);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->bytes(), 6U);
  const Memory into = Memory::allocate(message->bytes());
  const auto received = pair_.loop->block_on(std::move(*message).receive(into));
  ASSERT_TRUE(received.ok()) << received.status().to_string();
  EXPECT_EQ(text_of(into, received->bytes), "probed");
}

TEST_P(UcxFamilies, AProbeWaitsForAMessageThatMatches) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const auto answer = [](Pair* both) -> Task<Result<void>> {
      for (int turn = 0; turn < 5; ++turn) co_await yield();
      const Result<void> other = co_await tag_send(both->to_b, 0x0177, text("another"));
      EXPECT_TRUE(other.ok());
      co_return co_await tag_send(both->to_b, 0x0277, text("awaited"));
    };
    auto [message, sent] = co_await when_all(tag_probe(*pair.b, 0x0200, 0xff00), answer(&pair));
    EXPECT_TRUE(sent.ok() && message.ok());
    EXPECT_EQ(message->tag(), 0x0277u);
    const Memory into = Memory::allocate(message->bytes());
    EXPECT_TRUE((co_await std::move(*message).receive(into)).ok());
    EXPECT_EQ(as_text(into.bytes()), "awaited");
    auto other = co_await tag_probe(*pair.b, 0x0100, 0xff00);  // there already
    EXPECT_EQ(other.value().bytes(), 7U);
  };
  pair_.run(exchange(pair_));
}

Task<> probe(Pair* pair, std::uint64_t tag, std::vector<StatusCode>* ends) {
  ends->push_back((co_await tag_probe(*pair->b, tag, kWholeTag)).status().code());
}

TEST_P(UcxFamilies, AProbeIsCancelledAndTakesNothing) {
  std::vector<StatusCode> ends;
  const auto cancel = [](Pair* pair, std::vector<StatusCode>* into) -> Task<> {
    Scope tasks;
    tasks.spawn(&probe, pair, std::uint64_t{5}, into);
    co_await yield();
    tasks.cancel(CancelReason::kRequested);
    co_await tasks.join();
  };
  pair_.run(cancel(&pair_, &ends));
  EXPECT_EQ(ends, std::vector<StatusCode>{StatusCode::kCancelled});
  EXPECT_TRUE(tag_send(pair_.to_b, 5, text("stays")).abandon().ok());
  pair_.until([&] { return tag_peek(*pair_.b, 5, kWholeTag).has_value(); });
}

// One probe waits still, the other has found its message and did not run yet.
TEST_P(UcxFamilies, TheWorkerEndsUnderItsProbes) {
  std::vector<StatusCode> ends;
  const auto end_worker = [](Pair* pair, std::vector<StatusCode>* into) -> Task<> {
    Scope tasks;
    tasks.spawn(&probe, pair, std::uint64_t{5}, into);
    tasks.spawn(&probe, pair, std::uint64_t{6}, into);
    EXPECT_TRUE(tag_send(pair->to_b, 6, text("found")).abandon().ok());
    while (pair->b->probes().found.empty()) {
      pair->a->poll();
      pair->b->poll();
    }
    pair->to_a = Endpoint{};
    pair->b.reset();
    co_await tasks.join();
  };
  pair_.run(end_worker(&pair_, &ends));
  EXPECT_EQ(ends, (std::vector<StatusCode>{StatusCode::kCancelled, StatusCode::kCancelled}));
}

TEST_P(UcxFamilies, AStreamGivesBytesAsTheyComeAndAllWhenAsked) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const Memory some = Memory::allocate(64);
    auto [sent, received] =
        co_await when_all(stream_send(pair.to_b, text("abc")), stream_receive(pair.to_a, some));
    EXPECT_TRUE(sent.ok()) << sent.status().to_string();
    EXPECT_TRUE(received.ok()) << received.status().to_string();
    if (!received.ok()) co_return;
    EXPECT_EQ(text_of(some, *received), "abc");

    const Memory from = pattern(kLarge, 5);
    const Memory all = Memory::allocate(kLarge);
    auto [sent_all, received_all] =
        co_await when_all(stream_send(pair.to_b, from), stream_receive(pair.to_a, all, StreamWait::kAll));
    EXPECT_TRUE(sent_all.ok());
    EXPECT_TRUE(received_all.ok());
    EXPECT_TRUE(same(from, all));
  };
  pair_.run(exchange(pair_));
}

TEST_P(UcxFamilies, AnActiveMessageBringsHeaderAndDataAndIsAnswered) {
  AmReceiver at_b{*pair_.b, 5};
  AmReceiver at_a{*pair_.a, 6};
  const auto exchange = [](Pair& pair, AmReceiver& b, AmReceiver& a) -> Task<> {
    const AmSendOptions with_reply{.reply_endpoint = true};
    auto sent = co_await am_send(pair.to_b, 5, as_bytes("head"), text("body"), with_reply);
    EXPECT_TRUE(sent.ok()) << sent.status().to_string();
    auto message = co_await b.receive();
    EXPECT_TRUE(message.ok());
    if (!message.ok()) co_return;
    EXPECT_EQ(as_text(message->header()), "head");
    EXPECT_EQ(as_text(message->data()), "body");
    EXPECT_FALSE(message->rendezvous());
    auto answered = co_await am_send(message->reply_endpoint(), 6, Bytes{}, text("answer"));
    EXPECT_TRUE(answered.ok()) << answered.status().to_string();
    auto answer = co_await a.receive();
    EXPECT_TRUE(answer.ok());
    if (!answer.ok()) co_return;
    EXPECT_EQ(as_text(answer->data()), "answer");
    EXPECT_TRUE(answer->header().empty());
    EXPECT_EQ(answer->reply_endpoint().handle, nullptr);
  };
  pair_.run(exchange(pair_, at_b, at_a));
}

TEST_P(UcxFamilies, ActiveMessagesOfAllSizesArriveWhole) {
  AmReceiver at_b{*pair_.b, 5};
  const auto exchange = [](Pair& pair, AmReceiver& b, std::size_t size, AmProtocol protocol) -> Task<> {
    const Memory from = pattern(size, 1);
    const Memory into = Memory::allocate(size);
    const auto receive = [](AmReceiver& receiver, Memory memory) -> Task<Result<std::size_t>> {
      auto message = co_await receiver.receive();
      if (!message.ok()) co_return message.status();
      EXPECT_EQ(message->size(), memory.size());
      co_return co_await std::move(*message).receive_into(memory);
    };
    const AmSendOptions options{.protocol = protocol};
    auto [sent, received] =
        co_await when_all(am_send(pair.to_b, 5, as_bytes("h"), from, options), receive(b, into));
    EXPECT_TRUE(sent.ok()) << sent.status().to_string();
    EXPECT_TRUE(received.ok()) << received.status().to_string();
    EXPECT_TRUE(same(from, into)) << size;
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{200}, std::size_t{300},
                                 std::size_t{4096}, std::size_t{70'000}, kLarge}) {
    pair_.run(exchange(pair_, at_b, size, AmProtocol::kAuto));
    pair_.run(exchange(pair_, at_b, size, AmProtocol::kEager));
  }
  pair_.run(exchange(pair_, at_b, 4096, AmProtocol::kRendezvous));
  pair_.run(exchange(pair_, at_b, kLarge, AmProtocol::kRendezvous));
}

TEST_P(UcxFamilies, AnActiveMessageOfSeveralPiecesAndALongHeaderArrive) {
  AmReceiver at_b{*pair_.b, 5};
  const auto exchange = [](Pair& pair, AmReceiver& b) -> Task<> {
    MemoryVector pieces;
    pieces.add(text("one "));
    pieces.add(text("two "));
    pieces.add(text("three"));
    auto sent = co_await am_send(pair.to_b, 5, as_bytes("x"), pieces);
    EXPECT_TRUE(sent.ok()) << sent.status().to_string();
    auto message = co_await b.receive();
    EXPECT_TRUE(message.ok());
    EXPECT_EQ(message.ok() ? as_text(message->data()) : "", "one two three");

    const std::string long_header(300, 'h');
    auto refused = co_await am_send(pair.to_b, 5, as_bytes(long_header), text("x"));
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
    auto kept = co_await am_send(pair.to_b, 5, text(long_header), text("x"));
    EXPECT_TRUE(kept.ok()) << kept.status().to_string();
    auto second = co_await b.receive();
    EXPECT_TRUE(second.ok());
    EXPECT_EQ(second.ok() ? as_text(second->header()) : "", long_header);
  };
  pair_.run(exchange(pair_, at_b));
}

TEST_P(UcxFamilies, PutAndGetReachThePeersMemory) {
  const auto exchange = [](Pair& pair) -> Task<> {
    auto region = MemoryRegion::allocate(pair.context, kLarge).value();
    const auto packed = region.pack_key().value();
    auto key = RemoteKey::unpack(pair.to_b, packed).value();
    std::memset(region.memory().data(), 0, kLarge);
    const Memory from = pattern(kLarge, 9);
    auto written = co_await put(pair.to_b, from, region.address(), key);
    EXPECT_TRUE(written.ok()) << written.status().to_string();
    auto flushed = co_await pair.to_b.flush();
    EXPECT_TRUE(flushed.ok()) << flushed.status().to_string();
    EXPECT_TRUE(same(from, region.memory()));
    const Memory into = Memory::allocate(4096);
    auto fetched = co_await get(pair.to_b, into, region.address() + 4096, key);
    EXPECT_TRUE(fetched.ok()) << fetched.status().to_string();
    EXPECT_TRUE(same(into, from.slice(4096, 4096)));
    EXPECT_TRUE(pair.a->fence().ok());
    EXPECT_TRUE((co_await pair.a->flush()).ok());
  };
  pair_.run(exchange(pair_));
}

TEST_P(UcxFamilies, MemoryOfOnesOwnCanBeRegistered) {
  const auto exchange = [](Pair& pair) -> Task<> {
    auto region = MemoryRegion::register_memory(pair.context, Memory::allocate(8192)).value();
    const auto packed = region.pack_key().value();
    auto key = RemoteKey::unpack(pair.to_b, packed).value();
    auto local = MemoryRegion::register_memory(pair.context, pattern(8192, 2)).value();
    auto written = co_await put(pair.to_b, local.memory(), region.address(), key);
    EXPECT_TRUE(written.ok()) << written.status().to_string();
    EXPECT_TRUE((co_await pair.to_b.flush()).ok());
    EXPECT_TRUE(same(local.memory(), region.memory()));
  };
  pair_.run(exchange(pair_));
}

template <typename T>
Task<> all_atomics(Pair& pair) {
  auto region = MemoryRegion::allocate(pair.context, 4096).value();
  const auto packed = region.pack_key().value();
  auto key = RemoteKey::unpack(pair.to_b, packed).value();
  auto* word = reinterpret_cast<volatile T*>(region.memory().data());
  *word = 0b1100;
  const std::uint64_t at = region.address();
  const EndpointRef peer = pair.to_b;
  const auto value = [&](Result<T> result) {
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? *result : T{};
  };
  EXPECT_EQ(value(co_await atomic_fetch_add<T>(peer, at, key, 3)), T{0b1100});
  EXPECT_EQ(value(co_await atomic_fetch_and<T>(peer, at, key, 0b1010)), T{0b1111});
  EXPECT_EQ(value(co_await atomic_fetch_or<T>(peer, at, key, 1)), T{0b1010});
  EXPECT_EQ(value(co_await atomic_fetch_xor<T>(peer, at, key, 0b11)), T{0b1011});
  EXPECT_EQ(value(co_await atomic_swap<T>(peer, at, key, 5)), T{0b1000});
  EXPECT_EQ(value(co_await atomic_compare_swap<T>(peer, at, key, 4, 9)), T{5});
  EXPECT_EQ(value(co_await atomic_compare_swap<T>(peer, at, key, 5, 0b0110)), T{5});
  EXPECT_EQ(*word, T{0b0110});
  const Result<void> add_done = co_await atomic_add<T>(peer, at, key, 1);
  EXPECT_TRUE(add_done.ok());
  const Result<void> and_done = co_await atomic_and<T>(peer, at, key, 0b0101);
  EXPECT_TRUE(and_done.ok());
  const Result<void> or_done = co_await atomic_or<T>(peer, at, key, 0b1000);
  EXPECT_TRUE(or_done.ok());
  const Result<void> xor_done = co_await atomic_xor<T>(peer, at, key, 0b1);
  EXPECT_TRUE(xor_done.ok());
  const Result<void> flushed = co_await pair.to_b.flush();
  EXPECT_TRUE(flushed.ok());
  EXPECT_EQ(*word, T{0b1100});
}

TEST_P(UcxFamilies, AtomicsOf32BitsDoWhatTheySay) {
  pair_.run(all_atomics<std::uint32_t>(pair_));
}

TEST_P(UcxFamilies, AtomicsOf64BitsDoWhatTheySay) {
  pair_.run(all_atomics<std::int64_t>(pair_));
}

TEST_P(UcxFamilies, AnEndpointIsClosedAfterAFlush) {
  const auto exchange = [](Pair& pair) -> Task<> {
    const Memory into = Memory::allocate(8);
    auto [sent, received] =
        co_await when_all(tag_send(pair.to_b, 1, text("x")), tag_receive(*pair.b, 1, kWholeTag, into));
    EXPECT_TRUE(sent.ok() && received.ok());
    auto closed = co_await pair.to_b.close();
    EXPECT_TRUE(closed.ok()) << closed.status().to_string();
    EXPECT_EQ(pair.to_b.handle(), nullptr);
    auto late = co_await tag_send(pair.to_b, 1, text("x"));
    EXPECT_EQ(late.status().code(), StatusCode::kUnavailable);
    EXPECT_EQ((co_await pair.to_b.close()).status().code(), StatusCode::kUnavailable);
  };
  pair_.run(exchange(pair_));
}

TEST_P(UcxFamilies, AForcedCloseIsRefusedInModeNoneAndEndsOperationsInModePeer) {
  const auto exchange = [](Pair& pair) -> Task<> {
    auto closed = co_await pair.to_b.close(CloseMode::kForce);
    if (pair.mode == ErrorMode::kNone) {
      EXPECT_EQ(closed.status().code(), StatusCode::kInvalidArgument);
      EXPECT_NE(pair.to_b.handle(), nullptr);
    } else {
      EXPECT_TRUE(closed.ok()) << closed.status().to_string();
    }
  };
  pair_.run(exchange(pair_));
}

INSTANTIATE_TEST_SUITE_P(Ways, UcxFamilies, ::testing::ValuesIn(testing::ways()), testing::way_name);

}  // namespace
}  // namespace weft::ucx
