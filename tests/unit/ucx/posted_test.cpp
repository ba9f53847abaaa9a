// SPDX-License-Identifier: Apache-2.0
// Operations are posted where they are called, and what they give is awaited, left alone or dropped later.
// Capabilities: UX-1, UX-3, UX-5, UX-6.
#include <gtest/gtest.h>

#include <string>

#include "unit/ucx/pair.hpp"
#include "unit/ucx/watched.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/coro/yield.hpp"

namespace weft::ucx {
namespace {

using testing::Pair;
using testing::text;
using testing::Watched;
using testing::Way;

class UcxPosted : public ::testing::TestWithParam<Way> {
 protected:
  Pair pair{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Ways, UcxPosted, ::testing::ValuesIn(testing::ways()), testing::way_name);

TEST_P(UcxPosted, SeveralArePostedBeforeTheFirstIsAwaited) {
  const auto exchange = [](Pair* both) -> Task<> {
    const Memory first = Memory::allocate(16);
    const Memory second = Memory::allocate(16);
    auto one = tag_receive(*both->b, 1, kWholeTag, first);
    auto two = tag_receive(*both->b, 2, kWholeTag, second);
    EXPECT_EQ(both->b->operations_out(), 2u);
    auto later = tag_send(both->to_b, 2, text("second"));
    EXPECT_TRUE((co_await tag_send(both->to_b, 1, text("one"))).ok());
    EXPECT_TRUE((co_await std::move(later)).ok());
    const auto last = co_await std::move(two);
    const auto before = co_await std::move(one);
    EXPECT_TRUE(last.ok() && before.ok());
    EXPECT_EQ(before->bytes, 3u);
    EXPECT_EQ(before->tag, 1u);
    EXPECT_EQ(last->bytes, 6u);
    EXPECT_EQ(as_text(second.first(6).bytes()), "second");
  };
  pair.run(exchange(&pair));
  pair.until([&] { return pair.a->operations_out() + pair.b->operations_out() == 0; });
}

// Both are done when they are posted, and share the record that none of them needed.
TEST_P(UcxPosted, WhatWasDoneAtOnceKeepsItsOwnValue) {
  const auto exchange = [](Pair* both) -> Task<> {
    for (const std::string_view word : {"a", "four"}) {
      EXPECT_TRUE((co_await tag_send(both->to_b, word.size(), text(word))).ok());
    }
    while (!tag_peek(*both->b, 1, kWholeTag) || !tag_peek(*both->b, 4, kWholeTag)) co_await yield();
    auto four = tag_receive(*both->b, 4, kWholeTag, Memory::allocate(8));
    auto one = tag_receive(*both->b, 1, kWholeTag, Memory::allocate(8));
    EXPECT_EQ(both->b->operations_out(), 0u);
    EXPECT_EQ((co_await std::move(four)).value().bytes, 4u);
    EXPECT_EQ((co_await std::move(one)).value().bytes, 1u);
  };
  pair.run(exchange(&pair));
}

TEST_P(UcxPosted, WhatCompletedAndWasNotAwaitedGivesItsMemoryBack) {
  Watched into{64};
  {
    auto dropped = tag_receive(*pair.b, 1, kWholeTag, into.memory());
    ASSERT_TRUE(tag_send(pair.to_b, 1, text("x")).abandon().ok());
    pair.until([&] { return dropped.await_ready(); });
    EXPECT_FALSE(into.given_back());
  }
  EXPECT_TRUE(into.given_back());
  EXPECT_EQ(pair.b->operations_out(), 0u);
}

TEST_P(UcxPosted, AReceiveThatWasNotAwaitedIsTakenBack) {
  Watched into{64};
  {
    auto dropped = tag_receive(*pair.b, 1, kWholeTag, into.memory());
  }
  pair.until([&] { return into.given_back(); });
  EXPECT_EQ(pair.b->operations_out(), 0u);
}

TEST_P(UcxPosted, TheWorkerEndsBeforeWhatWasPostedIsLookedAt) {
  Watched into{64};
  auto pending = tag_receive(*pair.b, 1, kWholeTag, into.memory());
  Watched abandoned{64};
  ASSERT_TRUE(tag_receive(*pair.b, 2, kWholeTag, abandoned.memory()).abandon().ok());
  pair.to_a = Endpoint{};
  pair.b.reset();
  EXPECT_TRUE(abandoned.given_back());
  const auto look = [](decltype(pending) posted) -> Task<Status> {
    co_return (co_await std::move(posted)).status();
  };
  EXPECT_EQ(pair.loop->block_on(look(std::move(pending))).code(), StatusCode::kCancelled);
  EXPECT_TRUE(into.given_back());
}

constexpr std::size_t kLarge = 500'000;

// UCX calls the completion of these inside the call that posts the receive.
TEST_P(UcxPosted, ALargeProbedMessageIsThrownAwayOrDoesNotFit) {
  const auto exchange = [](Pair* both) -> Task<> {
    for (const std::size_t into : {std::size_t{0}, std::size_t{100}}) {
      auto sent = tag_send(both->to_b, 1, Memory::allocate(kLarge));
      {
        auto message = co_await tag_probe(*both->b, 1, kWholeTag);
        EXPECT_EQ(message.value().bytes(), kLarge);
        if (into > 0) {
          const auto got = co_await std::move(*message).receive(Memory::allocate(into));
          EXPECT_EQ(got.status().code(), StatusCode::kOutOfRange);
        }
      }
      EXPECT_TRUE((co_await std::move(sent)).ok());
    }
  };
  pair.run(exchange(&pair));
  pair.until([&] { return pair.a->operations_out() + pair.b->operations_out() == 0; });
}

TEST_P(UcxPosted, ALargeActiveMessageFitsExactlyOrIsRefused) {
  AmReceiver at_b{*pair.b, 5};
  const auto exchange = [](Pair* both, AmReceiver* receiver, std::size_t size, std::size_t into) -> Task<> {
    const AmSendOptions options{.protocol = AmProtocol::kRendezvous};
    auto sent = am_send(both->to_b, 5, as_bytes("h"), Memory::allocate(size), options);
    auto message = co_await receiver->receive();
    const auto got = co_await std::move(message).value().receive_into(Memory::allocate(into));
    if (into < size) {
      EXPECT_EQ(got.status().code(), StatusCode::kOutOfRange) << got.status().to_string();
    } else {
      EXPECT_TRUE(got.ok()) << got.status().to_string();
      EXPECT_EQ(got.ok() ? *got : 0, size);
    }
    EXPECT_TRUE((co_await std::move(sent)).ok());
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{300}, kLarge}) {
    for (const std::size_t into : {std::size_t{0}, size / 2, size, 2 * size}) {
      SCOPED_TRACE(std::to_string(size) + " into " + std::to_string(into));
      pair.run(exchange(&pair, &at_b, size, into));
    }
  }
}

TEST_P(UcxPosted, AHeaderThatIsTooLongIsRefused) {
  const Memory header = Memory::allocate(pair.a->am_header_bytes_max() + 1);
  const Memory data = text("x");
  const auto send = [](Pair* both, Memory head, Memory body) -> Task<Status> {
    co_return (co_await am_send(both->to_b, 5, head, body)).status();
  };
  EXPECT_EQ(pair.loop->block_on(send(&pair, header, data)).code(), StatusCode::kOutOfRange);
}

// The way back to the sender is closed when its rendezvous is asked for.
TEST_P(UcxPosted, ARendezvousOfAnEndpointThatWasClosedEnds) {
  if (pair.mode == ErrorMode::kNone) return;  // nothing can be closed by force there
  AmReceiver at_b{*pair.b, 5};
  const auto exchange = [](Pair* both, AmReceiver* receiver) -> Task<> {
    const AmSendOptions options{.protocol = AmProtocol::kRendezvous};
    auto sent = am_send(both->to_b, 5, as_bytes("h"), Memory::allocate(kLarge), options);
    auto message = co_await receiver->receive();
    both->to_a = Endpoint{};
    const auto got = co_await std::move(message).value().receive_into(Memory::allocate(kLarge));
    EXPECT_FALSE(got.ok());
    both->to_b = Endpoint{};
    const Result<void> ended = co_await std::move(sent);
    EXPECT_FALSE(ended.ok());
  };
  pair.run(exchange(&pair, &at_b));
}

}  // namespace
}  // namespace weft::ucx
