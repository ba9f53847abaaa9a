// SPDX-License-Identifier: Apache-2.0
// CR-14: limits of a server, on a clock that stands still: adaptive limits, rates of callers and of methods,
// and what those who are refused hear.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "simulation/gated_world.hpp"

namespace weft::simulation {
namespace {

constexpr double kPeakPerSecond = 1600;  // 16 workers, 10 ms each

Task<void> count_end(Call<int> call, Calls* calls) {
  const Result<int> result = co_await std::move(call);
  calls->count(result.status());
}

/// Calls at a steady rate that does not depend on the answers.
Task<void> call_steadily(Client* client, Loop* loop, double per_second, Duration time, Scope* scope,
                         Calls* calls) {
  const TimePoint end = loop->now() + time;
  const Duration tick = std::max<Duration>(1ms, std::chrono::duration_cast<Duration>(1s / per_second));
  const double each = per_second * std::chrono::duration<double>(tick).count();
  for (double due = each; loop->now() < end; due += each) {
    for (; due >= 1; due -= 1) {
      scope->spawn(&count_end, client->start<&SlowThing::work>(calls->started++), calls);
    }
    [[maybe_unused]] const auto slept = co_await sleep_for(tick);
  }
}

double goodput_under(GatedWorld& world, double per_second, Duration time, Calls& calls) {
  Scope scope;
  world.spawn(scope, &call_steadily, &world.client(), &world.loop(), per_second, time, &scope, &calls);
  while (scope.count() != 0 && world.step()) {
  }
  return calls.good / std::chrono::duration<double>(time).count();
}

TEST(AdaptiveLimits, TenTimesTheLoadKeepsTheGoodputOfTheServer) {
  ServerOptions options;
  options.adaptive_limit = AdaptiveLimitOptions{};
  GatedWorld world{std::move(options)};
  Calls warm;
  goodput_under(world, kPeakPerSecond / 2, 2s, warm);
  Calls calls;
  const double goodput = goodput_under(world, kPeakPerSecond * 10, 5s, calls);
  std::printf("with an adaptive limit %.0f of %.0f good calls a second, %d refused, %d otherwise\n", goodput,
              kPeakPerSecond, calls.refused, calls.other);
  EXPECT_GE(goodput, kPeakPerSecond * 0.85);
  EXPECT_EQ(calls.good + calls.refused + calls.other, calls.started);
  EXPECT_LE(calls.other, calls.started / 100);
  EXPECT_GT(calls.waits_told, Duration::zero());
  EXPECT_EQ(world.server().stats().refused[RefusalReason::kOverAdaptiveLimit],
            static_cast<std::uint64_t>(calls.refused + warm.refused));
}

TEST(AdaptiveLimits, WithoutOneTenTimesTheLoadLeavesHardlyAnyGoodput) {
  GatedWorld world{ServerOptions{}};
  Calls calls;
  EXPECT_LE(goodput_under(world, kPeakPerSecond * 10, 2s, calls), kPeakPerSecond * 0.3);
}

TEST(AdaptiveLimits, OfAMethodHoldsItsGoodputToo) {
  HandlerOptions handler;
  handler.adaptive_limit = AdaptiveLimitOptions{};
  GatedWorld world{ServerOptions{}, 1, handler};
  Calls warm;
  goodput_under(world, kPeakPerSecond / 2, 2s, warm);
  Calls calls;
  EXPECT_GE(goodput_under(world, kPeakPerSecond * 10, 5s, calls), kPeakPerSecond * 0.85);
}

TEST(AdaptiveLimits, GreedyCallersLeaveRoomForOneWhoAsksForLittle) {
  ServerOptions options;
  options.adaptive_limit = AdaptiveLimitOptions{};
  GatedWorld world{std::move(options), 4};
  Scope scope;
  Calls greedy[3];
  Calls modest;
  for (std::size_t i = 0; i < 3; ++i) {
    world.spawn(scope, &call_steadily, &world.client(i), &world.loop(), kPeakPerSecond * 4, Duration{6s},
                &scope, &greedy[i]);
  }
  world.pass(1s);
  world.spawn(scope, &call_steadily, &world.client(3), &world.loop(), 20.0, Duration{5s}, &scope, &modest);
  while (scope.count() != 0 && world.step()) {
  }
  std::printf("the modest one: %d of %d; the greedy ones: %d, %d, %d\n", modest.good, modest.started,
              greedy[0].good, greedy[1].good, greedy[2].good);
  EXPECT_GE(modest.good, modest.started * 95 / 100);
  const int all = greedy[0].good + greedy[1].good + greedy[2].good;
  for (const Calls& each : greedy) EXPECT_NEAR(each.good, all / 3, all / 10);
}

TEST(AdaptiveLimits, OfOneNeverStandsStill) {
  ServerOptions options;
  options.adaptive_limit = AdaptiveLimitOptions{.limit_initial = 1,
                                                .limit_max = 1,
                                                .window = 1ms,
                                                .window_calls_min = 1,
                                                .probe_interval = 5ms,
                                                .probe_limit = 1,
                                                .probe_calls = 2,
                                                .probe_time_max = 3ms};
  GatedWorld world{std::move(options), 9, {}, SlowThing{1, 1ms}, 50ms};
  for (std::size_t round = 0; round < 8; ++round) {
    Scope scope;
    Calls calls;
    // Some are answered, most are refused, one is given up, and a whole connection is lost.
    world.spawn(scope, &call_steadily, &world.client(8), &world.loop(), 3000.0, Duration{20ms}, &scope,
                &calls);
    auto given_up = world.client(round).start<&SlowThing::work>(1);
    world.pass(1us);
    given_up.cancel();
    auto lost = world.client(round).start<&SlowThing::work>(1);
    world.pass(1us);
    lost = {};
    world.lose_client(round);
    while (scope.count() != 0 && world.step()) {
    }
    EXPECT_GT(calls.good, 5);
    EXPECT_EQ(calls.other, 0);
  }
  world.pass(1s);
  world.run([&world]() -> Task<void> {
    const Result<int> last = co_await world.client(8).call<&SlowThing::work>(7);
    EXPECT_TRUE(last.ok()) << last.status().to_string();
  });
}

TEST(AdaptiveLimits, RefuseNothingOfWhatTheServerCanBear) {
  ServerOptions options;
  options.adaptive_limit = AdaptiveLimitOptions{};
  GatedWorld world{std::move(options)};
  Calls calls;
  goodput_under(world, kPeakPerSecond / 8, 3s, calls);
  EXPECT_EQ(calls.good, calls.started);
}

/// Calls with a tenant's name as fast as it may: it waits for as long as it is told to.
Task<void> call_as(Client* client, Loop* loop, std::string tenant, Duration time, Calls* calls) {
  Metadata metadata;
  metadata.set("tenant", tenant).value();
  CallOptions options;
  options.metadata = metadata;
  const TimePoint end = loop->now() + time;
  while (loop->now() < end) {
    ++calls->started;
    const Result<int> result = co_await client->call<&SlowThing::plain>(options, 1);
    calls->count(result.status());
    if (result.ok()) continue;
    const Duration wait = result.status().retry_after();
    EXPECT_GT(wait, Duration::zero());
    [[maybe_unused]] const auto slept = co_await sleep_for(wait);
  }
}

TEST(CallerRates, EachCallerHasItsOwnAndWhoWaitsAsToldIsServed) {
  ServerOptions options;
  options.caller_rates.push_back({.rate = {.per_second = 50, .burst = 5}, .key = by_metadata("tenant")});
  GatedWorld world{std::move(options)};
  Calls calls[3];
  Scope scope;
  for (std::size_t i = 0; i < 3; ++i) {
    world.spawn(scope, &call_as, &world.client(), &world.loop(), "tenant " + std::to_string(i), Duration{10s},
                &calls[i]);
  }
  while (scope.count() != 0 && world.step()) {
  }
  for (const Calls& each : calls) {
    EXPECT_LE(each.good, 5 + 50 * 10 + 1);
    EXPECT_GE(each.good, 50 * 10 - 10);
    // Waiting as told suffices each time, so at most every other call is refused.
    EXPECT_LE(each.refused, each.good + 1);
    EXPECT_EQ(each.other, 0);
  }
  EXPECT_EQ(world.server().stats().refused[RefusalReason::kOverCallerRate],
            static_cast<std::uint64_t>(calls[0].refused + calls[1].refused + calls[2].refused));
  EXPECT_EQ(world.thing.runs, calls[0].good + calls[1].good + calls[2].good);
}

TEST(CallerRates, InventedNamesGetNoMoreThanTheTableHasAndTakeNobodysRate) {
  constexpr std::size_t kCallersMax = 50;
  ServerOptions options;
  options.caller_rates.push_back(
      {.rate = {.per_second = 10, .burst = 2}, .key = by_metadata("tenant"), .callers_max = kCallersMax});
  GatedWorld world{std::move(options), 2};
  Calls honest;
  Calls liar;
  Scope scope;
  world.spawn(scope, &call_as, &world.client(0), &world.loop(), std::string{"honest"}, Duration{5s}, &honest);
  world.pass(10ms);
  world.run([&]() -> Task<void> {
    for (int i = 0; i < 20'000; ++i) {
      Metadata metadata;
      metadata.set("tenant", "liar " + std::to_string(i)).value();
      CallOptions call;
      call.metadata = metadata;
      const Result<int> result = co_await world.client(1).call<&SlowThing::plain>(call, 1);
      liar.count(result.status());
      if (i % 10 == 0) {
        [[maybe_unused]] const auto slept = co_await sleep_for(1ms);
      }
    }
  });
  while (scope.count() != 0 && world.step()) {
  }
  // In two seconds: (callers + 1) buckets, each with its burst and its rate.
  EXPECT_LE(liar.good, static_cast<int>((kCallersMax + 1) * (2 + 10 * 2 + 1)));
  EXPECT_GE(honest.good, 10 * 5 - 5);
}

TEST(CallerRates, WithoutAKeyAreThoseOfHosts) {
  ServerOptions options;
  options.caller_rates.push_back({.rate = {.per_second = 1, .burst = 3}});
  GatedWorld world{std::move(options), 2};
  Calls calls;
  world.run([&]() -> Task<void> {
    for (int i = 0; i < 10; ++i) {
      const Result<int> result =
          co_await world.client(static_cast<std::size_t>(i % 2)).call<&SlowThing::plain>(1);
      calls.count(result.status());
    }
  });
  EXPECT_EQ(calls.good, 3);  // two connections of one host
  EXPECT_EQ(calls.refused, 7);
}

TEST(MethodRates, BoundOrdinaryFunctionsToo) {
  HandlerOptions handler;
  handler.rate = Rate{.per_second = 100, .burst = 10};
  GatedWorld world{ServerOptions{}, 1, handler};
  Calls calls;
  world.run([&]() -> Task<void> {
    for (int i = 0; i < 1000; ++i) {
      const Result<int> result = co_await world.client().call<&SlowThing::plain>(1);
      calls.count(result.status());
      [[maybe_unused]] const auto slept = co_await sleep_for(1ms);
    }
  });
  EXPECT_NEAR(calls.good, 110, 2);
  EXPECT_EQ(calls.other, 0);
  EXPECT_EQ(world.server().stats().refused[RefusalReason::kOverMethodsRate],
            static_cast<std::uint64_t>(calls.refused));
}

TEST(MethodRates, RefuseLargeBodiesAndAttachmentsToo) {
  HandlerOptions handler;
  handler.rate = Rate{.per_second = 1, .burst = 1};
  GatedWorld world{ServerOptions{}, 1, handler, SlowThing{1, 1ms}, 10s};
  Calls bodies;
  Calls attachments;
  world.run([&]() -> Task<void> {
    const std::string text(1 << 20, 't');
    const Buffer attachment = blob(1 << 20);
    CallOptions options;
    options.attachment = attachment.bytes();
    for (int i = 0; i < 4; ++i) {
      const Result<std::uint64_t> body = co_await world.client().call<&SlowThing::swallow>(text);
      bodies.count(body.status());
      const Result<std::uint64_t> attached = co_await world.client().call<&SlowThing::take>(options, 1);
      attachments.count(attached.status());
    }
  });
  EXPECT_EQ(bodies.good, 1);
  EXPECT_EQ(bodies.refused, 3);
  EXPECT_EQ(attachments.good, 1);
  EXPECT_EQ(attachments.refused, 3);
  EXPECT_EQ(world.thing.runs, 2);
}

TEST(ServerLimits, ThatMakeNoSenseAreRefusedByName) {
  const auto start = [](ServerOptions options, const HandlerOptions& handler, bool of_function) {
    Transports transports;
    transports.add(std::make_unique<MemoryNetwork>());
    options.listen = {"memory://server"};
    SlowThing thing{1, 1ms};
    Server server{std::move(options), transports};
    if (of_function) {
      server.register_handler<&SlowThing::plain>(&thing, handler);
    } else {
      server.register_handler<&SlowThing::work>(&thing, handler);
    }
    return server.start().status().to_string();
  };
  ServerOptions no_rate;
  no_rate.caller_rates.push_back({.rate = {.per_second = 0}});
  EXPECT_NE(start(std::move(no_rate), {}, true).find("caller_rates"), std::string::npos);
  ServerOptions no_callers;
  no_callers.caller_rates.push_back({.callers_max = 0});
  EXPECT_NE(start(std::move(no_callers), {}, true).find("callers_max"), std::string::npos);
  ServerOptions no_limit;
  no_limit.adaptive_limit = AdaptiveLimitOptions{.limit_initial = 0};
  EXPECT_NE(start(std::move(no_limit), {}, true).find("adaptive_limit"), std::string::npos);
  HandlerOptions of_handler;
  of_handler.adaptive_limit = AdaptiveLimitOptions{};
  EXPECT_NE(start({}, of_handler, true).find("adaptive_limit"), std::string::npos);
  HandlerOptions bad_rate;
  bad_rate.rate = Rate{.per_second = 5, .burst = 0};
  EXPECT_NE(start({}, bad_rate, false).find("HandlerOptions::rate"), std::string::npos);
}

}  // namespace
}  // namespace weft::simulation
