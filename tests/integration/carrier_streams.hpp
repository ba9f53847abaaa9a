// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <weft/weft.hpp>

/// Streams of all shapes, that the tests of each carrier open on a server with these handlers.
namespace weft::carrier_testing {

inline std::string item_of(std::size_t number) {
  constexpr std::size_t kSizes[] = {0, 1, 100, 1000, 9000, 70'000, 400'000};
  return std::string(kSizes[number % std::size(kSizes)], static_cast<char>('a' + number % 26));
}

inline Stream<std::string> send_items(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::string item = item_of(i);
    co_yield item;
  }
}
/// Returns how many of the items that came are as they should be.
inline Task<std::size_t> take_items(Reader<std::string>& items) {
  std::size_t right = 0;
  std::size_t number = 0;
  while (auto item = co_await items.next()) {
    if (*item == item_of(number++)) ++right;
  }
  co_return right;
}
inline Stream<std::string> repeat_items(Reader<std::string>& items) {
  while (auto item = co_await items.next()) co_yield *item;
}
inline Task<Result<std::size_t>> swap_items(Reader<std::string>& items, Writer<std::size_t>& sizes) {
  std::size_t count = 0;
  while (auto item = co_await items.next()) {
    const std::size_t size = item->size();
    if (const bool taken = co_await sizes.write(size); !taken) co_return sizes.status();
    ++count;
  }
  co_return count;
}

inline void register_streams(Server& server) {
  server.register_handler<send_items, take_items, repeat_items, swap_items>();
}

inline Task<std::size_t> received_of(Client& caller, std::size_t count) {
  auto stream = caller.open<send_items>(count);
  std::size_t right = 0;
  std::size_t number = 0;
  while (auto item = co_await stream.next()) {
    if (*item == item_of(number++)) ++right;
  }
  EXPECT_TRUE(stream.status().ok()) << stream.status().to_string();
  EXPECT_EQ(number, count);
  co_return right;
}
inline Task<std::size_t> taken_of(Client& caller, std::size_t count) {
  auto stream = caller.open<take_items>();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string item = item_of(i);
    const bool written = co_await stream.write(item);
    EXPECT_TRUE(written) << stream.status().to_string();
    if (!written) break;
  }
  Result<std::size_t> right = co_await stream.finish();
  EXPECT_TRUE(right.ok()) << right.status().to_string();
  co_return right.ok() ? *right : 0;
}
inline Task<std::size_t> repeated_of(Client& caller, std::size_t count) {
  auto stream = caller.open<repeat_items>();
  std::size_t right = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string item = item_of(i);
    if (const bool taken = co_await stream.write(item); !taken) break;
    auto back = co_await stream.next();
    if (back && *back == item) ++right;
  }
  Result<void> end = co_await stream.finish();
  EXPECT_TRUE(end.ok()) << end.status().to_string();
  co_return right;
}
inline Task<std::size_t> swapped_of(Client& caller, std::size_t count) {
  auto stream = caller.open<swap_items>();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string item = item_of(i);
    if (const bool taken = co_await stream.write(item); !taken) break;
    auto size = co_await stream.next();
    EXPECT_TRUE(size && *size == item.size());
  }
  Result<std::size_t> end = co_await stream.finish();
  EXPECT_TRUE(end.ok()) << end.status().to_string();
  co_return end.ok() ? *end : 0;
}

/// All shapes, items of every size, more than the windows are.
inline void expect_streams_of_all_shapes(Loop& loop, Client& caller, std::size_t count = 70) {
  EXPECT_EQ(loop.block_on(received_of(caller, count)), count);
  EXPECT_EQ(loop.block_on(taken_of(caller, count)), count);
  EXPECT_EQ(loop.block_on(repeated_of(caller, count)), count);
  EXPECT_EQ(loop.block_on(swapped_of(caller, count)), count);
}

}  // namespace weft::carrier_testing
