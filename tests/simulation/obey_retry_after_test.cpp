// SPDX-License-Identifier: Apache-2.0
// CR-12, CR-14: pools and clients that leave a server alone for as long as it said.
#include "weft/detail/calls/client/obey_retry_after.hpp"

#include <gtest/gtest.h>

#include "simulation/gated_world.hpp"
#include "weft/detail/calls/client/with_retry.hpp"

namespace weft::simulation {
namespace {

class Obeying : public ::testing::Test {
 protected:
  Obeying() {
    PoolOptions options;
    options.client.interceptors = {std::make_shared<ObeyRetryAfter>(world.loop())};
    pool = world.make_pool(std::move(options));
  }
  static HandlerOptions one_each_second() {
    HandlerOptions handler;
    handler.rate = Rate{.per_second = 1, .burst = 1};
    return handler;
  }
  std::uint64_t refused() { return world.server().stats().refused[RefusalReason::kOverMethodsRate]; }

  GatedWorld world{ServerOptions{}, 1, one_each_second()};
  std::unique_ptr<ConnectionPool> pool;
};

TEST_F(Obeying, APoolSendsNoCallOfTheMethodBeforeItsTime) {
  world.run([&]() -> Task<void> {
    EXPECT_TRUE((co_await pool->call<&SlowThing::plain>(1)).ok());
    EXPECT_EQ((co_await pool->call<&SlowThing::plain>(2)).status().code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(refused(), 1u);
    // More often than the wait is rounded up to, which must not make it longer.
    for (int i = 0; i < 9000; ++i) {
      const Result<int> answer = co_await pool->call<&SlowThing::plain>(3);
      EXPECT_EQ(answer.status().code(), StatusCode::kResourceExhausted);
      EXPECT_TRUE(answer.status().unprocessed());
      const std::string text = answer.status().to_string();
      EXPECT_TRUE(text.find(" for another ") != std::string::npos && text.ends_with(" ms")) << text;
      EXPECT_GT(answer.status().retry_after(), Duration::zero());
      EXPECT_LE(answer.status().retry_after(), 1s);
      [[maybe_unused]] const auto slept = co_await sleep_for(100us);
    }
    EXPECT_EQ(refused(), 1u) << "they failed here, and no request told the server";
    [[maybe_unused]] const auto slept = co_await sleep_for(150ms);
    EXPECT_TRUE((co_await pool->call<&SlowThing::plain>(4)).ok());
  });
}

TEST_F(Obeying, OtherMethodsGoOn) {
  world.run([&]() -> Task<void> {
    EXPECT_TRUE((co_await pool->call<&SlowThing::plain>(1)).ok());
    EXPECT_FALSE((co_await pool->call<&SlowThing::plain>(2)).ok());
    EXPECT_TRUE((co_await pool->call<&SlowThing::work>(3)).ok());
  });
}

TEST_F(Obeying, ARetryWaitsForTheTimeThatIsLeft) {
  world.run([&]() -> Task<void> {
    EXPECT_TRUE((co_await pool->call<&SlowThing::plain>(1)).ok());
    EXPECT_FALSE((co_await pool->call<&SlowThing::plain>(2)).ok());
    const TimePoint begun = world.now();
    const RetryPolicy policy;
    const Result<int> answer = co_await with_retry(policy, [&] { return pool->call<&SlowThing::plain>(3); });
    EXPECT_TRUE(answer.ok());
    EXPECT_GE(world.now() - begun, 990ms);
    EXPECT_EQ(refused(), 1u);
  });
}

/// Calls a method that two calls at a time may run, each 10 ms, whenever the last call has failed or ended.
Task<void> call_on(ConnectionPool* pool, int calls, int* answered) {
  for (int i = 0; i < calls; ++i) {
    const RetryPolicy policy{.attempts_max = 10'000, .wait_min = 1ms, .wait_max = 10ms};
    const Result<int> answer = co_await with_retry(policy, [&] { return pool->call<&SlowThing::work>(1); });
    *answered += answer.ok() ? 1 : 0;
  }
}

void obey_estimates(const HandlerOptions& handler, RefusalReason reason) {
  GatedWorld world{ServerOptions{}, 0, handler};
  PoolOptions options;
  options.client.interceptors = {std::make_shared<ObeyRetryAfter>(world.loop())};
  const auto pool = world.make_pool(std::move(options));
  world.run([&]() -> Task<void> {
    Result<int> first = co_await pool->call<&SlowThing::work>(1);
    EXPECT_TRUE(first.ok());
  });
  constexpr int kCallers = 20;
  int answered = 0;
  {
    Scope scope;
    for (int i = 0; i < kCallers; ++i) world.spawn(scope, &call_on, pool.get(), 10, &answered);
    const TimePoint begun = world.now();
    while (scope.count() != 0) ASSERT_TRUE(world.step());
    EXPECT_LT(world.now() - begun, 5s) << "200 calls of 10 ms, two at a time, are a second";
  }
  EXPECT_EQ(answered, 10 * kCallers);
  // One caller's refusal tells them all.
  const std::uint64_t refused = world.server().stats().refused[reason];
  EXPECT_GT(refused, 0u);
  EXPECT_LT(refused, 2'000u);
}

TEST(ObeyingEstimates, APoolRestsForAboutTheTimeOfACallThatIsOverRunningMax) {
  obey_estimates({.running_max = 2}, RefusalReason::kOverRunning);
}

TEST(ObeyingEstimates, APoolRestsForAboutTheTimeOfACallThatIsOverAnAdaptiveLimit) {
  HandlerOptions handler;
  handler.adaptive_limit = AdaptiveLimitOptions{.limit_initial = 2, .limit_max = 2};
  obey_estimates(handler, RefusalReason::kOverAdaptiveLimit);
}

}  // namespace
}  // namespace weft::simulation
