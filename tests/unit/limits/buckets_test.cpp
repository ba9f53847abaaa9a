// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "support/heap_count.hpp"
#include "weft/detail/base/random_numbers.hpp"
#include "weft/detail/limits/backoff.hpp"
#include "weft/detail/limits/rate_limiters.hpp"
#include "weft/detail/limits/retry_budget.hpp"
#include "weft/detail/limits/token_bucket.hpp"

namespace weft::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds{1000}};
constexpr std::uint64_t kLeast = 0;
constexpr std::uint64_t kMost = ~std::uint64_t{0};

TEST(TokenBuckets, GiveTheBurstAndThenTheRate) {
  TokenBucket bucket{{.per_second = 10, .burst = 3}, kStart};
  for (int token = 0; token < 3; ++token) EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_FALSE(bucket.try_take(kStart));
  EXPECT_FALSE(bucket.try_take(kStart + milliseconds{99}));
  EXPECT_TRUE(bucket.try_take(kStart + milliseconds{101}));
  EXPECT_FALSE(bucket.try_take(kStart + milliseconds{101}));
}

TEST(TokenBuckets, AreNoFullerThanTheirBurst) {
  TokenBucket bucket{{.per_second = 10, .burst = 3}, kStart};
  EXPECT_TRUE(bucket.try_take(kStart, 3));
  EXPECT_DOUBLE_EQ(bucket.available(kStart + seconds{3600}), 3);
}

TEST(TokenBuckets, TakeNothingWhereThereIsTooLittle) {
  TokenBucket bucket{{.per_second = 10, .burst = 3}, kStart};
  EXPECT_FALSE(bucket.try_take(kStart, 3.5));
  EXPECT_DOUBLE_EQ(bucket.available(kStart), 3);
  EXPECT_EQ(bucket.wait(kStart, 3.5), kNoTimeout);
}

TEST(TokenBuckets, SayTheWaitAfterWhichTheyGive) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    RandomNumbers random{seed};
    const Rate rate{random.between(0.001, 1e6), random.between(1, 1000)};
    TokenBucket bucket{rate, kStart};
    EXPECT_TRUE(bucket.try_take(kStart, rate.burst));
    const double wanted = random.between(0.1, rate.burst);
    const Duration wait = bucket.wait(kStart, wanted);
    EXPECT_GT(wait, Duration::zero());
    TokenBucket early = bucket;
    EXPECT_FALSE(early.try_take(kStart + wait * 99 / 100, wanted)) << "seed " << seed;
    EXPECT_TRUE(bucket.try_take(kStart + wait, wanted)) << "seed " << seed;
  }
}

TEST(TokenBuckets, IgnoreAClockThatGoesBack) {
  TokenBucket bucket{{.per_second = 10, .burst = 1}, kStart};
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_FALSE(bucket.try_take(kStart - seconds{10}));
  EXPECT_FALSE(bucket.try_take(kStart));
}

TEST(TokenBuckets, NeverGiveMoreThanBurstAndRateInAnyTime) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    RandomNumbers random{seed};
    TokenBucket bucket{{.per_second = 100, .burst = 20}, kStart};
    TimePoint now = kStart;
    int taken = 0;
    for (int step = 0; step < 5000; ++step) {
      now += Duration{random.below(20'000'000)};
      taken += static_cast<int>(bucket.try_take(now));
      const double most = 20 + 100 * std::chrono::duration<double>(now - kStart).count();
      ASSERT_LE(taken, most + 1e-6) << "seed " << seed << " step " << step;
    }
  }
}

TEST(RateLimits, AreOfEachCaller) {
  RateLimiters limiters{{.per_second = 1, .burst = 2}, 10, kStart};
  for (std::uint64_t caller = 0; caller < 3; ++caller) {
    EXPECT_EQ(limiters.take(kStart, caller), Duration::zero());
    EXPECT_EQ(limiters.take(kStart, caller), Duration::zero());
    EXPECT_GE(limiters.take(kStart, caller), seconds{1});
  }
  EXPECT_EQ(limiters.size(), 3u);
}

TEST(RateLimits, ForgetOnlyWhoIsIdle) {
  RateLimiters limiters{{.per_second = 1, .burst = 2}, 2, kStart};
  EXPECT_EQ(limiters.take(kStart, 1, 2), Duration::zero());
  EXPECT_EQ(limiters.take(kStart, 2, 2), Duration::zero());
  // The table is full: newcomers share one bucket, and nobody loses what it used up.
  EXPECT_EQ(limiters.take(kStart, 3, 2), Duration::zero());
  EXPECT_GT(limiters.take(kStart, 4, 1), Duration::zero());
  EXPECT_GT(limiters.take(kStart + milliseconds{500}, 1), Duration::zero());
  // Caller 2 was idle for the two seconds that fill its bucket, caller 1 was not.
  EXPECT_EQ(limiters.take(kStart + seconds{2}, 5, 2), Duration::zero());
  EXPECT_EQ(limiters.take(kStart + seconds{2}, 1, 1), Duration::zero());
  EXPECT_GT(limiters.take(kStart + seconds{2}, 1, 2), Duration::zero());
  EXPECT_EQ(limiters.size(), 2u);
}

TEST(RateLimits, GiveThoseWhoInventKeysNoMoreThanTheTableHas) {
  constexpr std::size_t kCallers = 100;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    RandomNumbers random{seed};
    RateLimiters limiters{{.per_second = 10, .burst = 5}, kCallers, kStart};
    TimePoint now = kStart;
    double taken = 0;
    for (int step = 0; step < 100'000; ++step) {
      now += Duration{100'000};
      if (limiters.take(now, random.next()) == Duration::zero()) ++taken;
    }
    // Ten seconds.
    EXPECT_LE(taken, (kCallers + 1) * (5.0 + 10 * 10)) << "seed " << seed;
    EXPECT_LE(limiters.size(), kCallers);
  }
}

TEST(RateLimits, AgreeWithABucketForEachWhileThereIsRoom) {
  RandomNumbers random{7};
  RateLimiters limiters{{.per_second = 10, .burst = 5}, 64, kStart};
  std::array<TokenBucket, 64> buckets = [] {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return std::array{((void)I, TokenBucket{{.per_second = 10, .burst = 5}, kStart})...};
    }(std::make_index_sequence<64>{});
  }();
  TimePoint now = kStart;
  for (int step = 0; step < 50'000; ++step) {
    now += Duration{random.below(3'000'000)};
    const std::uint32_t caller = random.below(64);
    ASSERT_EQ(limiters.take(now, caller * 0x1000u) == Duration::zero(), buckets[caller].try_take(now));
  }
}

TEST(RateLimits, TakeNoMemoryOnceMade) {
  RateLimiters limiters{{.per_second = 10, .burst = 5}, 64, kStart};
  const std::size_t before = testing::heap_allocations();
  for (std::uint64_t step = 0; step < 10'000; ++step) {
    (void)limiters.take(kStart + milliseconds{static_cast<int>(step)}, step % 500);
  }
  EXPECT_TRUE(!testing::kHeapIsCounted || testing::heap_allocations() == before);
}

TEST(RetryBudgets, PayAShareOfCallsAndAFloor) {
  RetryBudget budget{{.share_of_calls = 0.5, .floor_per_second = 0, .saved_max = 3}, kStart};
  EXPECT_TRUE(budget.try_retry(kStart));  // one is there from the first
  EXPECT_FALSE(budget.try_retry(kStart));
  budget.on_call();
  EXPECT_FALSE(budget.try_retry(kStart));
  budget.on_call();
  EXPECT_TRUE(budget.try_retry(kStart));
  for (int call = 0; call < 100; ++call) budget.on_call();
  EXPECT_DOUBLE_EQ(budget.available(kStart), 3);

  RetryBudget floor{{.share_of_calls = 0, .floor_per_second = 2, .saved_max = 2}, kStart};
  EXPECT_TRUE(floor.try_retry(kStart));
  EXPECT_TRUE(floor.try_retry(kStart));
  EXPECT_FALSE(floor.try_retry(kStart));
  EXPECT_TRUE(floor.try_retry(kStart + milliseconds{500}));
}

TEST(RetryBudgets, TakeTheNearestNumberInRangeAndForNoNumberTheDefault) {
  using Limits = std::numeric_limits<double>;
  for (double RetryBudgetOptions::* field :
       {&RetryBudgetOptions::share_of_calls, &RetryBudgetOptions::floor_per_second,
        &RetryBudgetOptions::saved_max}) {
    struct Bad {
      double number;
      double taken[3];  // for each field, in their order
    };
    const std::size_t which = field == &RetryBudgetOptions::share_of_calls     ? 0
                              : field == &RetryBudgetOptions::floor_per_second ? 1
                                                                               : 2;
    for (const Bad& bad :
         {Bad{-1, {0, 0, 1}}, Bad{-Limits::infinity(), {0, 0, 1}}, Bad{Limits::infinity(), {10, 1e6, 1e18}},
          Bad{Limits::max(), {10, 1e6, 1e18}}, Bad{Limits::quiet_NaN(), {0.2, 10, 100}}}) {
      RetryBudgetOptions given;
      given.*field = bad.number;
      RetryBudgetOptions taken;
      taken.*field = bad.taken[which];
      RetryBudget of_given{given, kStart};
      RetryBudget of_taken{taken, kStart};
      for (int second = 0; second < 100; ++second) {
        const TimePoint now = kStart + seconds{second};
        EXPECT_EQ(of_given.available(now), of_taken.available(now)) << which << ": " << bad.number;
        EXPECT_EQ(of_given.try_retry(now), of_taken.try_retry(now)) << which << ": " << bad.number;
        of_given.on_calls(static_cast<std::uint64_t>(second));
        of_taken.on_calls(static_cast<std::uint64_t>(second));
      }
    }
  }
}

TEST(RetryBudgets, BoundWhatABrokenServerIsAsked) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomNumbers random{seed};
    RetryBudget budget{{.share_of_calls = 0.2, .floor_per_second = 10, .saved_max = 100}, kStart};
    TimePoint now = kStart;
    double calls = 0;
    double attempts = 0;
    for (; calls < 100'000; ++calls) {
      now += Duration{random.below(2'000'000)};  // a thousand calls a second
      budget.on_call();
      ++attempts;
      // Every attempt fails, and each call would go on for ever.
      for (int retry = 0; retry < 10 && budget.try_retry(now); ++retry) ++attempts;
    }
    const double time = std::chrono::duration<double>(now - kStart).count();
    EXPECT_LE(attempts, 1.2 * calls + 10 * time + 100) << "seed " << seed;
    EXPECT_GE(attempts, 1.2 * calls) << "seed " << seed << ": a budget that is not used bounds nothing";
  }
}

TEST(Backoffs, DoubleUpToTheLongestAndBeginAgain) {
  Backoff backoff{milliseconds{20}, milliseconds{100}};
  EXPECT_EQ(backoff.next(kLeast), milliseconds{10});
  EXPECT_EQ(backoff.next(kLeast), milliseconds{20});
  EXPECT_EQ(backoff.next(kLeast), milliseconds{40});
  EXPECT_EQ(backoff.next(kLeast), milliseconds{50});
  EXPECT_EQ(backoff.next(kLeast), milliseconds{50});
  backoff.reset();
  EXPECT_LE(backoff.next(kMost), milliseconds{20});
  EXPECT_GT(backoff.next(kMost), Duration{39'999'000});
}

TEST(Backoffs, StayWithinTheirBoundsWhateverTheseAre) {
  Backoff longest{Duration{1}, Duration::max()};
  for (int attempt = 0; attempt < 200; ++attempt) EXPECT_GE(longest.next(kLeast), Duration::zero());
  EXPECT_GE(longest.next(kLeast), Duration::max() / 2 - seconds{1});
  Backoff none{Duration::zero(), seconds{1}};
  EXPECT_EQ(none.next(kMost), Duration::zero());
  EXPECT_EQ(none.next(kMost), Duration::zero());
  Backoff reversed{seconds{2}, seconds{1}};
  EXPECT_EQ(reversed.next(kLeast), seconds{1});
  EXPECT_EQ(reversed.next(kLeast), seconds{1});
}

TEST(Backoffs, BearAShortestWaitWithoutEnd) {
  Backoff backoff{Duration::max(), Duration::max()};
  for (const std::uint64_t random : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    EXPECT_GE(backoff.next(random), Duration::max() / 2 - Duration{1024});
  }
}

TEST(Backoffs, SpreadManyWhoFailTogether) {
  RandomNumbers random{3};
  std::array<int, 10> tenths{};
  for (int client = 0; client < 10'000; ++client) {
    Backoff backoff{milliseconds{100}, seconds{1}};
    const Duration wait = backoff.next(random.next());
    ++tenths[static_cast<std::size_t>((wait - milliseconds{50}) / milliseconds{5})];
  }
  for (const int clients : tenths) EXPECT_NEAR(clients, 1000, 150);
}

}  // namespace
}  // namespace weft::detail
