// SPDX-License-Identifier: Apache-2.0
// CR-14: limits that threads share.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "weft/detail/base/keyed_hash.hpp"
#include "weft/detail/limits/adaptive_limit.hpp"
#include "weft/detail/limits/shared_rate_limiters.hpp"
#include "weft/detail/limits/shared_token_bucket.hpp"

namespace weft::detail {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kBegin{1000s};

TEST(SharedTokenBuckets, LetTheBurstAndTheRateThroughAndSayHowLongToWait) {
  SharedTokenBucket bucket{{.per_second = 10, .burst = 3}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.take(kBegin), Duration::zero());
  EXPECT_EQ(bucket.wait(kBegin), 100ms);
  EXPECT_EQ(bucket.take(kBegin), 100ms);
  EXPECT_EQ(bucket.take(kBegin + 99ms), 1ms);
  EXPECT_EQ(bucket.take(kBegin + 100ms), Duration::zero());
  EXPECT_EQ(bucket.take(kBegin + 100ms), 100ms);
  int taken = 0;
  while (bucket.take(kBegin + 1h) == Duration::zero()) ++taken;
  EXPECT_EQ(taken, 3);
}

TEST(SharedTokenBuckets, GiveThreadsNoMoreThanTheBurst) {
  SharedTokenBucket bucket{{.per_second = 1, .burst = 1000}};
  std::array<int, 4> taken{};
  std::vector<std::thread> threads;
  for (int& count : taken) {
    threads.emplace_back([&bucket, &count] {
      for (int i = 0; i < 1000; ++i) count += bucket.take(kBegin) == Duration::zero() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken[0] + taken[1] + taken[2] + taken[3], 1000);
}

TEST(SharedRateLimiters, GiveEachCallerItsOwnFromAnyThread) {
  SharedRateLimiters limiters{{.per_second = 1, .burst = 50}, 10'000, 4, kBegin};
  const detail::KeyedHash hash = detail::KeyedHash::of_system();
  std::array<int, 4> taken{};
  std::vector<std::thread> threads;
  for (int& count : taken) {
    threads.emplace_back([&limiters, &count, &hash] {
      for (int i = 0; i < 1000; ++i) {
        const std::string caller = "caller " + std::to_string(i % 10);
        count += limiters.take(kBegin, hash(as_bytes(caller))) == Duration::zero() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken[0] + taken[1] + taken[2] + taken[3], 10 * 50);
  EXPECT_EQ(limiters.size(), 10u);
}

TEST(AdaptiveLimits, CountNoCallTwiceFromAnyThread) {
  AdaptiveLimit limit{{.window = 1us}, kBegin};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&limit] {
      TimePoint now = kBegin;
      for (int i = 0; i < 5000; ++i) {
        now += 1us;
        if (!limit.try_begin(now)) continue;
        if (i % 7 == 0) {
          limit.dropped();
        } else if (i % 5 == 0) {
          limit.cancelled(now, 1us);
        } else {
          limit.ended(now, 1us);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(limit.in_flight(), 0u);
  EXPECT_GE(limit.limit(), 1u);
  EXPECT_TRUE(limit.try_begin(kBegin + 1s, 1000)) << "one alone always begins";
}

TEST(AdaptiveLimits, LeavePlacesToOthers) {
  AdaptiveLimit limit{{.limit_initial = 4, .limit_max = 4}, kBegin};
  EXPECT_TRUE(limit.try_begin(kBegin));
  EXPECT_TRUE(limit.try_begin(kBegin));
  EXPECT_FALSE(limit.try_begin(kBegin, 2));
  EXPECT_TRUE(limit.is_full(kBegin, 2));
  EXPECT_TRUE(limit.try_begin(kBegin, 1));
  EXPECT_TRUE(limit.try_begin(kBegin));
  EXPECT_FALSE(limit.try_begin(kBegin));
}

// The example of the paper, appendix A.
TEST(KeyedHashes, AreThoseOfThePaper) {
  std::array<std::byte, 15> input{};
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i);
  const detail::KeyedHash hash{0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
  EXPECT_EQ(hash(input), 0xa129ca6149be45e5u);
}

}  // namespace
}  // namespace weft::detail
