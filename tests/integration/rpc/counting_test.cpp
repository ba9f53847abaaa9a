// SPDX-License-Identifier: Apache-2.0
// What a call costs, counted and not timed: allocations and questions to the kernel, of both sides together.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <weft/weft.hpp>

#include "support/counting_clock.hpp"
#include "support/heap_count.hpp"
#include "support/kernel_calls.hpp"
#include "support/steady_calls.hpp"

namespace weft {
namespace {

using Payload = std::array<std::uint64_t, 16>;

Payload echo(Payload payload) {
  ++payload[0];
  return payload;
}
Task<Payload> echo_in_coroutine(Payload payload) {
  ++payload[0];
  co_return payload;
}
Task<Payload> echo_after_a_turn(CallContext&, Payload payload) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(Duration{1});
  ++payload[0];
  co_return payload;
}
std::uint64_t echo_with_context(CallContext& context, std::uint64_t number) {
  return context.deadline().is_infinite() ? 0 : number + 1;
}

std::string_view echo_text(std::string_view text) {
  return text;
}

using Count = testing::SteadyCalls<testing::heap_allocations, testing::kernel_calls>;
constexpr std::size_t kAllocations = 0;
constexpr std::size_t kKernelCalls = 1;

template <auto M, typename Calls = Client>
Task<void> call_again_and_again(Calls* client, Count* count) {
  Payload payload{};
  while (count->more()) {
    Result<Payload> answer = co_await client->template call<M>(payload);
    count->end_one(answer.ok() && (*answer)[0] == payload[0] + 1);
    ++payload[0];
  }
}

Task<void> call_with_context(Client* client, Count* count) {
  while (count->more()) {
    Result<std::uint64_t> answer = co_await client->call<echo_with_context>(1u);
    count->end_one(answer.ok() && *answer == 2);
  }
}

Task<void> start_again_and_again(Client* client, Count* count) {
  Payload payload{};
  while (count->more()) {
    Call<Payload> first = client->start<echo>(payload);
    Call<Payload> second = client->start<echo_in_coroutine>(payload);
    Result<Payload> later = co_await std::move(second);
    Result<Payload> sooner = co_await std::move(first);
    count->end_one(later.ok());
    count->end_one(sooner.ok());
  }
}

Task<void> call_two_at_once(Client* client, Count* count) {
  Payload payload{};
  while (count->more()) {
    auto [one, other] =
        co_await when_all(client->call<echo>(payload), client->call<echo_in_coroutine>(payload));
    count->end_one(one.ok());
    count->end_one(other.ok());
  }
}

Task<void> call_a_lambda(Client* client, Count* count) {
  while (count->more()) {
    Result<std::uint64_t> answer = co_await client->call<remote<"lambda", std::uint64_t(std::uint64_t)>>(1u);
    count->end_one(answer.ok() && *answer == 2);
  }
}

constexpr std::size_t kTextBytes = 12 * 1024;

Task<void> call_into_one_value(Client* client, Count* count) {
  const std::string text(kTextBytes, 't');
  std::string value;
  while (count->more()) {
    Result<void> read = co_await client->call<echo_text>(text).into(value);
    count->end_one(read.ok() && value == text);
  }
}

Task<void> look_again_and_again(Client* client, Count* count) {
  const std::string text(kTextBytes, 't');
  while (count->more()) {
    Result<Received<std::string_view>> seen = co_await client->call<echo_text>(text).view();
    count->end_one(seen.ok() && **seen == text);
  }
}

Task<void> call_for_new_values(Client* client, Count* count) {
  const std::string text(kTextBytes, 't');
  while (count->more()) {
    Result<std::string> answer = co_await client->call<echo_text>(text);
    count->end_one(answer.ok() && *answer == text);
  }
}

class CountedCalls : public ::testing::Test {
 protected:
  CountedCalls() {
    server_.register_handler<echo>();
    server_.register_handler<echo_in_coroutine>();
    server_.register_handler<echo_after_a_turn>();
    server_.register_handler<echo_with_context>();
    server_.register_handler<echo_text>();
    server_.register_handler("lambda",
                             [add = std::uint64_t{1}](std::uint64_t number) { return number + add; });
    server_.start().value();
    client_ = std::make_unique<Client>(*loop_, ClientOptions{.connect = server_.urls().front()});
  }

  template <typename Caller>
  Count count(std::size_t in_flight, Caller caller) {
    Count count;
    std::vector<Task<void>> callers;
    for (std::size_t i = 0; i < in_flight; ++i) callers.push_back(caller(client_.get(), &count));
    loop_->block_on(when_all(std::move(callers)));
    EXPECT_EQ(count.failed(), 0u);
    return count;
  }

  static constexpr bool kCountsAllocations = testing::kHeapIsCounted && !detail::kFramePoolBypassed;

  testing::CountingClock clock_;
  std::unique_ptr<Loop> loop_ = Loop::create({.clock = &clock_}).value();
  Server server_{ServerOptions{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop_.get()}};
  std::unique_ptr<Client> client_;
};

TEST_F(CountedCalls, OfOrdinaryHandlersAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  EXPECT_EQ(count(256, call_again_and_again<echo>).growth(kAllocations), 0u);
}
TEST_F(CountedCalls, OfCoroutinesAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  EXPECT_EQ(count(256, call_again_and_again<echo_in_coroutine>).growth(kAllocations), 0u);
}
TEST_F(CountedCalls, OfCoroutinesThatSuspendAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  EXPECT_EQ(count(256, call_again_and_again<echo_after_a_turn>).growth(kAllocations), 0u);
}
TEST_F(CountedCalls, OfHandlersWithAContextAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  EXPECT_EQ(count(256, call_with_context).growth(kAllocations), 0u);
}
TEST_F(CountedCalls, OneAtATimeAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  EXPECT_EQ(count(1, call_again_and_again<echo>).growth(kAllocations), 0u);
}
TEST_F(CountedCalls, OfLambdasAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  EXPECT_EQ(count(256, call_a_lambda).growth(kAllocations), 0u);
}
TEST_F(CountedCalls, IntoAValueOfTheCallerAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  EXPECT_EQ(count(16, call_into_one_value).growth(kAllocations), 0u);
}
TEST_F(CountedCalls, WhoseResultIsLookedAtWhereItWasReceivedAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  EXPECT_EQ(count(1, look_again_and_again).growth(kAllocations), 0u);
  EXPECT_GE(count(1, call_for_new_values).growth(kAllocations), Count::kCounted)
      << "a result in a string of its own allocates it: otherwise nothing was counted";
}
TEST_F(CountedCalls, TwoAtOnceAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  EXPECT_EQ(count(64, call_two_at_once).growth(kAllocations), 0u);
}
TEST_F(CountedCalls, ThatAreStartedAndAwaitedLaterAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  EXPECT_EQ(count(128, start_again_and_again).growth(kAllocations), 0u);
}

TEST_F(CountedCalls, ThroughAPoolAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  PoolOptions options;
  options.client.connect = server_.urls().front();
  options.calls_per_connection = 100;
  ConnectionPool pool{*loop_, options};
  Count count;
  std::vector<Task<void>> callers;
  for (int i = 0; i < 256; ++i) callers.push_back(call_again_and_again<echo>(&pool, &count));
  loop_->block_on(when_all(std::move(callers)));
  EXPECT_EQ(count.failed(), 0u);
  EXPECT_EQ(count.growth(kAllocations), 0u);
  EXPECT_GT(pool.stats().connections, 1u) << "the calls were of several connections";
}

TEST_F(CountedCalls, AskTheKernelLessTheMoreAreInFlight) {
  const auto per_call = [&](std::size_t in_flight) {
    const double asked =
        static_cast<double>(count(in_flight, call_again_and_again<echo>).growth(kKernelCalls));
    return asked / static_cast<double>(Count::kCounted);
  };
  const double one = per_call(1);
  const double sixteen = per_call(16);
  const double many = per_call(256);
  RecordProperty("kernel_calls_per_call_at_256", std::to_string(many));
  EXPECT_GE(one, 4.0) << "two sides that send and receive: otherwise nothing was counted";
  EXPECT_LT(sixteen, one / 8);
  EXPECT_LE(many, 0.05);
}

}  // namespace
}  // namespace weft
