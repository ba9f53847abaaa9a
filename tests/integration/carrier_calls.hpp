// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "integration/carrier_handlers.hpp"
#include "support/pattern.hpp"

/// Calls that the tests of each carrier make, to a server with the handlers of carrier_handlers.hpp.
namespace weft::carrier_testing {

template <typename R>
Task<Result<Answer<R>>> answer_of(Call<R> call) {
  Result<Answer<R>> result = co_await std::move(call).with_attachment();
  co_return result;
}

/// An attachment of `size` bytes goes there and back, and lands in the caller's memory and nowhere else.
inline void expect_both_ways(Loop& loop, Client& caller, std::size_t size) {
  const std::vector<std::byte> sent = pattern(size);
  std::vector<std::byte> landing(size + 8, std::byte{0xEE});
  const auto answer =
      loop.block_on(answer_of(caller.start<give_back>({.attachment = Bytes{sent}, .landing = landing})));
  ASSERT_TRUE(answer.ok()) << size << ": " << answer.status().to_string();
  EXPECT_EQ(answer->value, size);
  EXPECT_TRUE(testing::same_bytes(MutableBytes{landing}.first(size), sent)) << size;
  EXPECT_EQ(landing[size], std::byte{0xEE});
  // The same into pages, from the last to the first.
  const std::size_t page = size / 7 + 1;
  std::vector<std::byte> pages(7 * page, std::byte{0xEE});
  std::vector<MutableBytes> list;
  for (std::size_t i = 7; i > 0; --i) list.push_back(MutableBytes{pages}.subspan((i - 1) * page, page));
  ASSERT_TRUE(
      loop.block_on(answer_of(caller.start<give_back>({.attachment = Bytes{sent}, .landing = list}))).ok());
  for (std::size_t i = 0; i < 7 * page; ++i) {
    ASSERT_EQ(list[i / page][i % page], i < size ? sent[i] : std::byte{0xEE}) << size << " " << i;
  }
  const auto sum = loop.block_on(answer_of(caller.start<sum_up>({.attachment = Bytes{sent}})));
  EXPECT_EQ(sum.value().value, sum_of(sent));
  const auto placed = loop.block_on(answer_of(caller.start<receive_in_place>({.attachment = Bytes{sent}})));
  ASSERT_TRUE(placed.ok()) << size << ": " << placed.status().to_string();
  EXPECT_EQ(placed->value, sum_of(sent)) << size;
  const auto refused = loop.block_on(answer_of(caller.start<refuse>({.attachment = Bytes{sent}})));
  EXPECT_EQ(refused.status().native(), static_cast<int>(size % 1000));
}

/// `blocks` blocks of `size` bytes, which the handler has in one run, come back in runs of its own, as a list
/// and at equal distances, and land in blocks of another size.
inline void expect_answers_in_blocks(Loop& loop, Client& caller, std::size_t size, std::size_t blocks) {
  const std::vector<std::byte> sent = pattern(size * blocks, 5);
  const std::size_t into = size + size / 3 + 1;
  for (const bool others : {false, true}) {
    std::vector<std::byte> expected;
    for (std::size_t i = 0; i < blocks; i += others ? 2 : 1) {
      const Bytes block = Bytes{sent}.subspan((others ? i : blocks - 1 - i) * size, size);
      expected.insert(expected.end(), block.begin(), block.end());
    }
    const std::size_t places = (expected.size() + into - 1) / into;
    std::vector<std::byte> memory(places * (into + 1), std::byte{0xEE});
    const auto named = caller.register_memory(memory);
    const CallOptions options{.attachment = Bytes{sent},
                              .landing = LandingView::strided(memory, places, into, into + 1)};
    const auto answer = loop.block_on(answer_of(caller.start<give_back_blocks>(options, size, others)));
    ASSERT_TRUE(answer.ok()) << size << ": " << answer.status().to_string();
    ASSERT_EQ(answer->attachment_bytes, expected.size());
    std::vector<std::byte> landed(memory.size(), std::byte{0xEE});
    for (std::size_t i = 0; i < expected.size(); ++i) landed[i / into * (into + 1) + i % into] = expected[i];
    EXPECT_TRUE(memory == landed) << size << (others ? " every other one" : " reversed");
  }
}

/// `blocks` blocks of `size` bytes, as a list and at equal distances, go there and back, and land in blocks
/// of another size: in the caller's memory and nowhere between its blocks.
inline void expect_lists_both_ways(Loop& loop, Client& caller, std::size_t size, std::size_t blocks) {
  const std::size_t bytes = size * blocks;
  const std::size_t gap = 3;
  const std::vector<std::byte> sent = pattern(bytes);
  std::vector<std::byte> apart(blocks * (size + gap));
  std::vector<Bytes> list;
  for (std::size_t i = 0; i < blocks; ++i) {
    const MutableBytes block = MutableBytes{apart}.subspan(i * (size + gap), size);
    std::ranges::copy(Bytes{sent}.subspan(i * size, size), block.begin());
    list.emplace_back(block);
  }
  const std::size_t into = size + size / 3 + 1;
  const std::size_t places = (bytes + into - 1) / into;
  for (const bool listed : {false, true}) {
    std::vector<std::byte> memory(places * (into + gap), std::byte{0xEE});
    std::vector<MutableBytes> place;
    for (std::size_t i = 0; i < places; ++i) {
      place.push_back(MutableBytes{memory}.subspan(i * (into + gap), into));
    }
    const auto lent = caller.register_memory(apart);
    const auto named = caller.register_memory(memory);
    ASSERT_TRUE(lent.ok() && named.ok());
    CallOptions options{.attachment = AttachmentView::strided(apart, blocks, size, size + gap),
                        .landing = LandingView::strided(memory, places, into, into + gap)};
    if (listed) {
      options.attachment = std::span<const Bytes>{list};
      options.landing = std::span<const MutableBytes>{place};
    }
    const auto answer = loop.block_on(answer_of(caller.start<give_back>(options)));
    ASSERT_TRUE(answer.ok()) << size << ": " << answer.status().to_string();
    ASSERT_EQ(answer->attachment_bytes, bytes);
    std::vector<std::byte> expected(memory.size(), std::byte{0xEE});
    for (std::size_t i = 0; i < places; ++i) {
      const std::size_t part = std::min(into, bytes - i * into);
      std::ranges::copy(Bytes{sent}.subspan(i * into, part),
                        MutableBytes{expected}.subspan(i * (into + gap)).begin());
    }
    EXPECT_TRUE(memory == expected) << size;
  }
  expect_answers_in_blocks(loop, caller, size, blocks);
}

inline void expect_many_in_flight_are_answered(Loop& loop, Client& caller) {
  std::vector<Call<int>> calls;
  for (int i = 0; i < 1000; ++i) calls.push_back(caller.start<add>(i, 1));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(loop.block_on(answer_of(std::move(calls[static_cast<std::size_t>(i)]))).value().value, i + 1);
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

}  // namespace weft::carrier_testing
