// SPDX-License-Identifier: Apache-2.0
// From when a timeout counts, on a clock that stands still but for the work that is done.
#include <gtest/gtest.h>

#include <optional>

#include "simulation/world.hpp"

namespace weft::simulation {
namespace {

constexpr Duration kLongWork = 25ms;
constexpr Duration kShortTimeout = 20ms;

/// Works for longer than its call may take, and then calls.
struct Caller {
  explicit Caller(Duration client_timeout) : world{{}, {}, {}, client_timeout} {}

  Result<std::uint32_t> result_of(Task<Result<std::uint32_t>> (*work_and_call)(World*)) {
    std::optional<Result<std::uint32_t>> result;
    Scope scope;
    scope.spawn(
        [](World* its, std::optional<Result<std::uint32_t>>* to, auto work) -> Task<void> {
          Task<Result<std::uint32_t>> task = work(its);
          to->emplace(co_await std::move(task));
        },
        &world, &result, work_and_call);
    EXPECT_TRUE(world.run_until([&] { return result.has_value(); }, 1h));
    return *result;
  }

  World world;
};

Task<Result<std::uint32_t>> work_and_nap(World* world) {
  const Result<void> connected = co_await world->client().connect();
  if (!connected.ok()) co_return connected.status();
  world->compute(kLongWork);
  Result<std::uint32_t> result = co_await world->client().call<&Service::nap>(1u, 5u);
  co_return result;
}

Task<Result<std::uint32_t>> work_and_nap_with_a_timeout(World* world) {
  CallOptions options;
  options.timeout = kShortTimeout;
  const Result<void> connected = co_await world->client().connect();
  if (!connected.ok()) co_return connected.status();
  world->compute(kLongWork);
  Result<std::uint32_t> result = co_await world->client().call<&Service::nap>(options, 1u, 5u);
  co_return result;
}

Task<Result<std::uint32_t>> work_and_ask_for_the_time(World* world) {
  CallOptions options;
  options.timeout = kShortTimeout;
  const Result<void> connected = co_await world->client().connect();
  if (!connected.ok()) co_return connected.status();
  world->compute(kLongWork);
  Result<std::uint32_t> result = co_await world->client().call<&Service::microseconds_left>(options);
  co_return result;
}

Task<Result<std::uint32_t>> nap_for_long_without_a_timeout(World* world) {
  CallOptions options;
  options.timeout = kNoTimeout;
  Result<std::uint32_t> result = co_await world->client().call<&Service::nap>(options, 1u, 3'000'000u);
  co_return result;
}

Task<Result<std::uint32_t>> nap_for_long(World* world) {
  Result<std::uint32_t> result = co_await world->client().call<&Service::nap>(1u, 3'000'000u);
  co_return result;
}

TEST(Timeouts, CountFromWhenTheyAreGivenHoweverLongItsTurnHasLasted) {
  const Result<std::uint32_t> result = Caller{kNoTimeout}.result_of(&work_and_nap_with_a_timeout);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
}

TEST(Timeouts, OfAClientCountFromTheBeginningOfEachCall) {
  const Result<std::uint32_t> result = Caller{kShortTimeout}.result_of(&work_and_nap);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
}

TEST(Timeouts, ReachTheServerWithoutTheTimeThatTheTurnHasLasted) {
  const Result<std::uint32_t> result = Caller{kNoTimeout}.result_of(&work_and_ask_for_the_time);
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(*result * 1us, kShortTimeout);
}

TEST(Timeouts, OfThirtySecondsAreWhatACallHasThatSaysNothing) {
  Caller caller{ClientOptions{}.call_timeout};
  const Result<std::uint32_t> result = caller.result_of(&nap_for_long);
  EXPECT_EQ(result.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(caller.world.elapsed(), 30s);
}

TEST(Timeouts, AreSwitchedOffByTheirName) {
  Caller caller{ClientOptions{}.call_timeout};
  const Result<std::uint32_t> result = caller.result_of(&nap_for_long_without_a_timeout);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_GE(caller.world.elapsed(), 3000s);
}

}  // namespace
}  // namespace weft::simulation
