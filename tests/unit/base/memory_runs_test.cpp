// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/memory_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "weft/detail/base/run_cursor.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using Runs = MemoryRuns<std::byte>;
using Cursor = RunCursor<std::byte>;

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

static_assert(std::is_trivially_copyable_v<Runs>);
static_assert(std::is_trivially_copyable_v<Cursor>);

void expect_nothing_of(const Runs& runs, RunsFault fault) {
  EXPECT_EQ(runs.fault(), fault);
  EXPECT_TRUE(runs.empty());
  EXPECT_EQ(runs.count(), 0u);
  EXPECT_EQ(runs.bytes(), 0u);
}

TEST(MemoryRuns, AreOneOrAListOrBlocksAtEqualDistances) {
  std::array<std::byte, 100> memory{};
  const Runs one{std::span{memory}.first(7)};
  EXPECT_EQ(one.count(), 1u);
  EXPECT_EQ(one.bytes(), 7u);
  const std::vector<Runs::Run> list{std::span{memory}.first(1), {}, std::span{memory}.subspan(50)};
  const Runs several{std::span<const Runs::Run>{list}};
  EXPECT_EQ(several.count(), 3u);
  EXPECT_EQ(several.bytes(), 51u);
  EXPECT_EQ(several.run(2).data(), memory.data() + 50);
  const Runs blocks{memory.data(), 10, 3, 10, false};
  EXPECT_EQ(blocks.count(), 10u);
  EXPECT_EQ(blocks.bytes(), 30u);
  EXPECT_EQ(blocks.run(9).data(), memory.data() + 90);
  EXPECT_EQ(blocks.run(9).size(), 3u);
  for (const Runs& runs : {one, several, blocks}) {
    EXPECT_EQ(runs.fault(), RunsFault::kNone);
    EXPECT_FALSE(runs.empty());
  }
}

TEST(MemoryRuns, OfNoBytesAreEmpty) {
  std::byte byte{};
  const std::array<Runs::Run, 3> list{};
  for (const Runs& runs : {Runs{}, Runs{Runs::Run{}}, Runs{std::span<const Runs::Run>{list}},
                           Runs{&byte, 0, 5, 5, false}, Runs{&byte, 5, 0, 0, false}}) {
    EXPECT_TRUE(runs.empty());
    EXPECT_EQ(runs.bytes(), 0u);
    EXPECT_EQ(runs.fault(), RunsFault::kNone);
    EXPECT_TRUE(Cursor{runs}.rest().empty());
  }
}

TEST(MemoryRuns, ThatAreWrittenToDoNotOverlap) {
  std::array<std::byte, 16> memory{};
  expect_nothing_of({memory.data(), 2, 8, 7, false}, RunsFault::kOverlap);
  expect_nothing_of({memory.data(), 2, 8, 0, false}, RunsFault::kOverlap);
  EXPECT_EQ((Runs{memory.data(), 2, 8, 8, false}.bytes()), 16u);
  EXPECT_EQ((Runs{memory.data(), 1, 8, 0, false}.bytes()), 8u) << "one block has no neighbour";
  EXPECT_EQ((Runs{memory.data(), 100, 8, 0, true}.bytes()), 800u) << "what is read may";
}

TEST(MemoryRuns, NeitherOverflowNorWrap) {
  std::array<std::byte, 16> memory{};
  expect_nothing_of({memory.data(), kMost, 2, 2, false}, RunsFault::kTooMany);
  expect_nothing_of({memory.data(), kMost, kMost, kMost, false}, RunsFault::kTooMany);
  expect_nothing_of({memory.data(), kMost, 1, 0, true}, RunsFault::kTooMany);
  expect_nothing_of({memory.data(), kMost / 2, 1, 3, false}, RunsFault::kWrap);
  expect_nothing_of({memory.data(), 2, 1, kMost - 1, false}, RunsFault::kWrap);
  auto* const last = reinterpret_cast<std::byte*>(std::numeric_limits<std::uintptr_t>::max() - 9);
  expect_nothing_of({last, 2, 5, 6, false}, RunsFault::kWrap);
}

TEST(MemoryRuns, StayInTheMemoryThatTheyAreGiven) {
  std::array<std::byte, 100> memory{};
  EXPECT_EQ((Runs{std::span{memory}, 10, 10, 10, false}.bytes()), 100u);
  EXPECT_EQ((Runs{std::span{memory}, 4, 4, 32, false}.bytes()), 16u) << "the last one needs no whole stride";
  EXPECT_EQ((Runs{std::span{memory}, 1, 4, SIZE_MAX, false}.bytes()), 4u) << "nor does the only one";
  expect_nothing_of({std::span{memory}, 4, 5, 32, false}, RunsFault::kOutside);
  expect_nothing_of({std::span{memory}, 101, 1, 0, false}, RunsFault::kOverlap);
  expect_nothing_of({std::span{memory}, 101, 1, 1, false}, RunsFault::kOutside);
  expect_nothing_of({Runs::Run{}, 1, 1, 1, false}, RunsFault::kOutside);
}

TEST(MemoryRuns, OfAListThatHasMoreBytesThanCanBeCountedSaySo) {
  std::array<std::byte, 1> memory{};
  const std::vector<Runs::Run> list{
      {memory.data(), kMost / 2}, {memory.data(), kMost / 2}, {memory.data(), 9}};
  const Runs runs{std::span<const Runs::Run>{list}};
  EXPECT_EQ(runs.bytes(), kMost);
  EXPECT_EQ(runs.fault(), RunsFault::kTooMany);
}

// Every way to cut lists of every shape, against a copy in one run.
TEST(RunCursors, PassTheSameBytesHoweverTheyAreCut) {
  std::vector<std::byte> memory(64);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i);
  const std::vector<std::vector<std::size_t>> shapes{
      {64}, {1, 1, 1, 61}, {0, 3, 0, 0, 7, 54, 0}, {8, 8, 8, 8, 8, 8, 8, 8}, {63, 1}};
  for (const auto& shape : shapes) {
    std::vector<Runs::Run> list;
    std::size_t begin = 0;
    for (const std::size_t size : shape) {
      list.push_back(std::span{memory}.subspan(begin, size));
      begin += size;
    }
    for (std::size_t part = 1; part <= 65; ++part) {
      Cursor taken{Runs{std::span<const Runs::Run>{list}}};
      Cursor advanced = taken;
      std::vector<std::byte> came;
      while (came.size() < memory.size()) {
        const std::size_t bytes = std::min(part, memory.size() - came.size());
        std::array<iovec, 3> places;
        std::size_t unlisted = bytes;
        const std::size_t count = advanced.list(places, unlisted);
        std::size_t at = came.size();
        for (std::size_t i = 0; i < count; ++i) {
          EXPECT_EQ(places[i].iov_base, memory.data() + at);
          at += places[i].iov_len;
        }
        EXPECT_EQ(at + unlisted, came.size() + bytes);
        EXPECT_TRUE(unlisted == 0 || count == places.size());
        taken.take(bytes, [&](Runs::Run run) { came.insert(came.end(), run.begin(), run.end()); });
        advanced.advance(bytes);
      }
      EXPECT_TRUE(came == memory);
      EXPECT_TRUE(taken.rest().empty());
      EXPECT_TRUE(advanced.rest().empty());
    }
  }
}

}  // namespace
}  // namespace weft
