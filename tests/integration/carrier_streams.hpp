// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "support/pattern.hpp"

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

/// Attachment of the item with this number: each fourth item has none, and some are longer than a piece.
inline Buffer attachment_of(std::size_t number) {
  constexpr std::size_t kSizes[] = {0, 1, 7000, 130'000, 0, 64 * 1024, 700'001};
  const std::size_t bytes = kSizes[number % std::size(kSizes)];
  return bytes == 0 ? Buffer{} : Buffer::adopt(testing::pattern(bytes, static_cast<std::uint32_t>(number)));
}
inline bool has_attachment_of(std::size_t number, Bytes attachment) {
  const Buffer expected = attachment_of(number);
  return testing::same_bytes(expected.bytes(), attachment);
}
inline Stream<std::size_t> send_attached(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) co_yield with_attachment(i, attachment_of(i));
}
/// Gives back what comes, as it came.
inline Task<Result<std::size_t>> repeat_attached(Reader<std::size_t>& items, Writer<std::size_t>& back) {
  std::size_t right = 0;
  while (auto number = co_await items.next()) {
    if (has_attachment_of(*number, items.attachment())) ++right;
    Buffer attachment = items.take_attachment();
    if (const bool taken = co_await back.write(*number, std::move(attachment)); !taken)
      co_return back.status();
  }
  co_return right;
}

/// The same memory in runs of 5000 bytes, the second of each two first; what is left is a run. The same runs
/// of what arrives are the memory as it was.
inline Attachment in_swapped_runs(Buffer whole) {
  constexpr std::size_t kRun = 5000;
  std::vector<Bytes> runs;
  Bytes rest = whole.bytes();
  for (; rest.size() >= 2 * kRun; rest = rest.subspan(2 * kRun)) {
    runs.push_back(rest.subspan(kRun, kRun));
    runs.push_back(rest.first(kRun));
  }
  runs.push_back(rest);
  return {runs, std::move(whole)};
}
inline bool has_swapped_attachment_of(std::size_t number, Bytes attachment) {
  const Attachment expected = in_swapped_runs(attachment_of(number));
  for (std::size_t i = 0; i < expected.view().count(); ++i) {
    const Bytes run = expected.view().run(i);
    if (run.size() > attachment.size() || !testing::same_bytes(run, attachment.first(run.size())))
      return false;
    attachment = attachment.subspan(run.size());
  }
  return attachment.empty();
}
inline Stream<std::size_t> send_runs(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Attachment runs = in_swapped_runs(attachment_of(i));
    co_yield with_attachment(i, std::move(runs));
  }
}
/// Swaps the runs of what comes, and gives it back.
inline Task<Result<std::size_t>> swap_runs(Reader<std::size_t>& items, Writer<std::size_t>& back) {
  std::size_t right = 0;
  while (auto number = co_await items.next()) {
    if (has_swapped_attachment_of(*number, items.attachment())) ++right;
    Attachment runs = in_swapped_runs(items.take_attachment());
    if (const bool taken = co_await back.write(*number, std::move(runs)); !taken) co_return back.status();
  }
  co_return right;
}

inline void register_streams(Server& server) {
  server.register_handler<send_items, take_items, repeat_items, swap_items, send_attached, repeat_attached,
                          send_runs, swap_runs>();
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

inline Task<std::size_t> attached_of(Client& caller, std::size_t count) {
  auto stream = caller.open<send_attached>(count);
  std::size_t right = 0;
  std::size_t number = 0;
  while (auto item = co_await stream.next()) {
    if (*item == number && has_attachment_of(number, stream.attachment())) ++right;
    ++number;
  }
  EXPECT_TRUE(stream.status().ok()) << stream.status().to_string();
  EXPECT_EQ(number, count);
  co_return right;
}
inline Task<std::size_t> repeated_attached_of(Client& caller, std::size_t count) {
  auto stream = caller.open<repeat_attached>();
  std::size_t right = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool taken = co_await stream.write(i, attachment_of(i));
    if (!taken) break;
    auto back = co_await stream.next();
    if (back && *back == i && has_attachment_of(i, stream.attachment())) ++right;
  }
  Result<std::size_t> end = co_await stream.finish();
  EXPECT_TRUE(end.ok()) << end.status().to_string();
  EXPECT_EQ(end.ok() ? *end : 0, count);
  co_return right;
}

inline Task<std::size_t> runs_of(Client& caller, std::size_t count) {
  auto stream = caller.open<send_runs>(count);
  std::size_t right = 0;
  std::size_t number = 0;
  while (auto item = co_await stream.next()) {
    if (*item == number && has_swapped_attachment_of(number, stream.attachment())) ++right;
    ++number;
  }
  EXPECT_TRUE(stream.status().ok()) << stream.status().to_string();
  co_return right;
}
inline Task<std::size_t> swapped_runs_of(Client& caller, std::size_t count) {
  auto stream = caller.open<swap_runs>();
  std::size_t right = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Attachment runs = in_swapped_runs(attachment_of(i));
    const bool taken = co_await stream.write(i, std::move(runs));
    if (!taken) break;
    auto back = co_await stream.next();
    if (back && *back == i && has_attachment_of(i, stream.attachment())) ++right;
  }
  Result<std::size_t> end = co_await stream.finish();
  EXPECT_TRUE(end.ok()) << end.status().to_string();
  EXPECT_EQ(end.ok() ? *end : 0, count);
  co_return right;
}

/// All shapes, items of every size, more than the windows are.
inline void expect_streams_of_all_shapes(Loop& loop, Client& caller, std::size_t count = 70) {
  EXPECT_EQ(loop.block_on(received_of(caller, count)), count);
  EXPECT_EQ(loop.block_on(taken_of(caller, count)), count);
  EXPECT_EQ(loop.block_on(repeated_of(caller, count)), count);
  EXPECT_EQ(loop.block_on(swapped_of(caller, count)), count);
  EXPECT_EQ(loop.block_on(attached_of(caller, count / 4)), count / 4);
  EXPECT_EQ(loop.block_on(repeated_attached_of(caller, count / 4)), count / 4);
  EXPECT_EQ(loop.block_on(runs_of(caller, count / 4)), count / 4);
  EXPECT_EQ(loop.block_on(swapped_runs_of(caller, count / 4)), count / 4);
}

}  // namespace weft::carrier_testing
