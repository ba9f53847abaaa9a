// SPDX-License-Identifier: Apache-2.0
// Deadline and bytes: the values that every layer hands around.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/log.hpp"
#include "weft/detail/base/saturated.hpp"
#include "weft/detail/base/time.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kNow = TimePoint{} + 100s;

using detail::saturated_difference;
using detail::saturated_sum;
using detail::scaled;

TEST(Times, AddUpToTheNearestTimeThereIs) {
  static_assert(saturated_sum(1s, 2s) == 3s);
  static_assert(saturated_sum(Duration::max(), 1ns) == Duration::max());
  static_assert(saturated_sum(Duration::min(), -1ns) == Duration::min());
  static_assert(saturated_sum(kNow, kNoTimeout) == TimePoint::max());
  static_assert(saturated_sum(TimePoint{} - 100s, kNoTimeout) == TimePoint::max());
  static_assert(saturated_sum(TimePoint::min(), -1ns) == TimePoint::min());
  static_assert(saturated_difference(TimePoint::max(), TimePoint::min()) == Duration::max());
  static_assert(saturated_difference(TimePoint::min(), kNow) == Duration::min());
  static_assert(saturated_difference(kNow, kNow - 1s) == 1s);
  static_assert(scaled(10s, 0.5) == 5s);
  static_assert(scaled(Duration::max(), 1) == Duration::max());
  static_assert(scaled(Duration::max(), -2) == Duration::min());
}

TEST(Deadline, AddsTheLongestAndTheShortestTimes) {
  EXPECT_TRUE(Deadline::after(TimePoint::max() - 1ns, 1s).is_infinite());
  EXPECT_TRUE(Deadline::after(kNow, kNoTimeout).is_infinite());
  EXPECT_TRUE(Deadline::after(TimePoint{}, kNoTimeout).is_infinite());
  EXPECT_TRUE(Deadline::after(kNow, Duration::min()).expired(kNow));
  EXPECT_TRUE(Deadline::after(TimePoint{} - 1s, Duration::min()).expired(kNow));
  EXPECT_EQ(Deadline{TimePoint::min()}.remaining(kNow), Duration::zero());
}

TEST(Deadline, WithoutATimeItIsInfiniteAndNeverExpires) {
  constexpr Deadline deadline;
  EXPECT_TRUE(deadline.is_infinite());
  EXPECT_EQ(deadline, Deadline::infinite());
  EXPECT_FALSE(deadline.expired(kNow + 1000h));
  EXPECT_EQ(deadline.remaining(kNow), Duration::max());
}

TEST(Deadline, ExpiresAtItsMomentAndNotBefore) {
  constexpr Deadline deadline = Deadline::after(kNow, 5ms);
  EXPECT_FALSE(deadline.expired(kNow));
  EXPECT_FALSE(deadline.expired(kNow + 5ms - 1ns));
  EXPECT_TRUE(deadline.expired(kNow + 5ms));
}

TEST(Deadline, WhatRemainsShrinksToZeroAndIsNeverNegative) {
  constexpr Deadline deadline = Deadline::after(kNow, 5ms);
  EXPECT_EQ(deadline.remaining(kNow), 5ms);
  EXPECT_EQ(deadline.remaining(kNow + 2ms), 3ms);
  EXPECT_EQ(deadline.remaining(kNow + 1h), 0ms);
}

TEST(Deadline, ATimeoutPastTheEndOfTimeIsInfinite) {
  EXPECT_TRUE(Deadline::after(kNow, Duration::max()).is_infinite());
  EXPECT_TRUE(Deadline::after(kNow, TimePoint::max() - kNow).is_infinite());
  EXPECT_FALSE(Deadline::after(kNow, TimePoint::max() - kNow - 1ns).is_infinite());
}

TEST(Deadline, TheEarlierOfTwoWins) {
  constexpr Deadline soon = Deadline::after(kNow, 1ms);
  constexpr Deadline late = Deadline::after(kNow, 2ms);
  EXPECT_EQ(soon.earlier(late), soon);
  EXPECT_EQ(late.earlier(soon), soon);
  EXPECT_EQ(Deadline::infinite().earlier(late), late);
}

TEST(Deadline, AZeroOrNegativeTimeoutHasAlreadyExpired) {
  EXPECT_TRUE(Deadline::after(kNow, 0ns).expired(kNow));
  EXPECT_TRUE(Deadline::after(kNow, -1s).expired(kNow));
}

TEST(Bytes, TextAndBytesAreViewsOfTheSameMemory) {
  const std::string text{"a\0b", 3};
  const Bytes bytes = as_bytes(text);
  EXPECT_EQ(bytes.size(), 3u);
  EXPECT_EQ(static_cast<const void*>(bytes.data()), text.data());
  EXPECT_EQ(as_text(bytes), text);
  EXPECT_TRUE(as_bytes("").empty());
}

TEST(Bytes, NumbersAreStoredLowByteFirst) {
  std::array<std::byte, 4> memory{};
  detail::store_le(memory.data(), std::uint32_t{0x01020304});
  EXPECT_EQ(memory[0], std::byte{4});
  EXPECT_EQ(memory[3], std::byte{1});
}

template <typename T>
void expect_round_trip(T value) {
  // One byte in, so that the address is odd for everything wider than a byte.
  std::array<std::byte, sizeof(T) + 2> memory;
  memory.fill(std::byte{0xee});
  detail::store_le(memory.data() + 1, value);
  EXPECT_EQ(detail::load_le<T>(memory.data() + 1), value);
  EXPECT_EQ(memory.front(), std::byte{0xee});
  EXPECT_EQ(memory.back(), std::byte{0xee});
}

TEST(Bytes, NumbersOfEachWidthComeBackFromAnyAddressAndTouchNothingElse) {
  enum class Colour : std::uint16_t { kRed = 0xabcd };
  expect_round_trip(std::uint8_t{0xff});
  expect_round_trip(std::numeric_limits<std::int16_t>::min());
  expect_round_trip(std::uint32_t{0xdeadbeef});
  expect_round_trip(std::numeric_limits<std::uint64_t>::max());
  expect_round_trip(-1.5);
  expect_round_trip(true);
  expect_round_trip(Colour::kRed);
}

TEST(Log, TheDefaultLoggerWritesWarningsAndErrorsAndKeepsQuietBelow) {
  testing::internal::CaptureStderr();
  stderr_logger().write(LogLevel::kDebug, "detail");
  stderr_logger().write(LogLevel::kInfo, "news");
  stderr_logger().write(LogLevel::kWarning, "odd");
  stderr_logger().write(LogLevel::kError, "bad");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft warning: odd\nweft error: bad\n");
}

}  // namespace
}  // namespace weft
