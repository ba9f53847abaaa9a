// SPDX-License-Identifier: Apache-2.0
// Whole clients and servers, deterministic: a cancel at every point where a call can be suspended, and random
// runs over connections that break. A failure names the step or the seed that repeats it.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <vector>

#include "simulation/world.hpp"
#include "weft/detail/coro/combine.hpp"

namespace weft::simulation {

using namespace weft::detail;
namespace {

using Number = std::uint32_t;

// ---- A cancel at every step ----

constexpr Number kAttachmentBytes = 6000;

using Scenario = Task<bool> (*)(World* world);

bool right(const Result<Number>& result, Number number) {
  return result.ok() && *result == Service::answer_to(number);
}

Task<bool> plain_call(World* world) {
  const Result<Number> result = co_await world->client().call<&Service::plain>(1u);
  co_return right(result, 1);
}
Task<bool> coroutine_call(World* world) {
  const Result<Number> result = co_await world->client().call<&Service::nap>(1u, 5u);
  co_return right(result, 1);
}
Task<bool> delayed_call(World* world) {
  const Result<Number> result = co_await world->client().call<&Service::later>(1u);
  co_return right(result, 1);
}
Task<bool> call_with_deadline(World* world) {
  CallOptions options;
  options.timeout = 1s;
  const Result<Number> result = co_await world->client().call<&Service::nap>(options, 1u, 5u);
  co_return right(result, 1);
}
Task<bool> call_that_brings_an_attachment(World* world) {
  const Buffer bytes = blob(kAttachmentBytes);
  CallOptions options;
  options.attachment = bytes.bytes();
  const Result<Number> result = co_await world->client().call<&Service::take>(options, 1u, kAttachmentBytes);
  co_return right(result, 1);
}
Task<bool> call_that_fetches_an_attachment(World* world) {
  const CallOptions options;
  const Result<Answer<Number>> answer =
      co_await world->client().call<&Service::give>(options, 1u, kAttachmentBytes).with_attachment();
  co_return answer.ok() && answer->attachment_bytes == kAttachmentBytes;
}
Task<bool> call_that_names_a_landing(World* world) {
  std::vector<std::byte> landing(kAttachmentBytes);
  CallOptions options;
  options.landing = landing;
  const Result<Answer<Number>> answer =
      co_await world->client().call<&Service::give>(options, 1u, kAttachmentBytes).with_attachment();
  co_return answer.ok() && landing.back() == std::byte{'b'};
}
Task<bool> call_through_a_second_server(World* world) {
  const Result<Number> result = co_await world->client().call<&Service::relay>(1u);
  co_return right(result, 1);
}
Task<bool> several_calls_in_flight(World* world) {
  Call<Number> first = world->client().start<&Service::nap>(1u, 9u);
  Call<Number> second = world->client().start<&Service::plain>(2u);
  Call<Number> third = world->client().start<&Service::later>(3u);
  const Result<Number> one = co_await std::move(first);
  const Result<Number> two = co_await std::move(second);
  const Result<Number> three = co_await std::move(third);
  co_return right(one, 1) && right(two, 2) && right(three, 3);
}
Task<bool> connect_alone(World* world) {
  const Result<void> connected = co_await world->client().connect();
  co_return connected.ok();
}

Task<void> run_scenario(Scenario scenario, World* world, bool* succeeded) {
  *succeeded = co_await scenario(world);
}

/// Runs `scenario` and cancels it after `steps`. True when it had ended before.
bool ended_before_cancel(Scenario scenario, std::size_t steps) {
  const std::int64_t frames = frames_alive();
  bool early = false;
  {
    MemoryOptions memory;
    memory.pipe_bytes = 512;
    LoopOptions options;
    options.turn_budget = 1;
    RpcLimits limits;
    limits.ping_interval = 0s;
    World world{memory, options, limits};
    bool succeeded = false;
    Scope scope;
    world.loop().post([&] { scope.spawn(&run_scenario, scenario, &world, &succeeded); });
    const auto ended = [&] { return scope.count() == 0; };
    world.loop().run_once(Duration::zero());
    for (std::size_t step = 0; step < steps && !ended(); ++step) EXPECT_TRUE(world.step());
    early = ended();
    if (early) {
      EXPECT_TRUE(succeeded);
    }
    scope.cancel(CancelReason::kRequested);
    world.run_until_idle();
    EXPECT_TRUE(ended()) << "a cancelled call needs no time to end";
    EXPECT_EQ(world.client().stats().calls_in_flight, 0u);
    EXPECT_EQ(world.client().stats().calls_waiting, 0u);
    EXPECT_EQ(world.inner().stats().calls_in_flight, 0u);
    EXPECT_EQ(world.server().stats().calls_running, 0u);
    EXPECT_EQ(frames_alive(), frames);
    // The connection has survived: the next call works.
    Call<Number> next = world.client().start<&Service::plain>(9u);
    EXPECT_TRUE(world.run_until([&] { return next.done(); }, 1s));
  }
  EXPECT_EQ(frames_alive(), frames);
  return early;
}

TEST(Cancel, AtEverySuspensionPointOfEveryKindOfCallLeavesNothingBehind) {
  const std::pair<const char*, Scenario> scenarios[] = {
      {"plain", &plain_call},
      {"coroutine", &coroutine_call},
      {"delayed reply", &delayed_call},
      {"with a deadline", &call_with_deadline},
      {"brings an attachment", &call_that_brings_an_attachment},
      {"fetches an attachment", &call_that_fetches_an_attachment},
      {"names a landing", &call_that_names_a_landing},
      {"through a second server", &call_through_a_second_server},
      {"several in flight", &several_calls_in_flight},
      {"connect", &connect_alone},
  };
  std::size_t points = 0;
  for (const auto& [name, scenario] : scenarios) {
    std::size_t step = 0;
    while (!ended_before_cancel(scenario, step)) {
      ASSERT_FALSE(HasFailure()) << name << ", cancelled after step " << step;
      ASSERT_LT(++step, 1000u) << name << " never ends";
    }
    ASSERT_FALSE(HasFailure()) << name << ", not cancelled";
    std::printf("%-24s %4zu points\n", name, step);
    points += step;
  }
  std::printf("%zu points at which a call was cancelled\n", points);
}

// ---- Random runs over connections that break ----

struct Record {
  int ended = 0;
  bool ok = false;
  bool right = false;
  bool unprocessed = false;
};

/// One seed's run: calls of every kind at random times, over a network whose faults change all the time.
class SeededRun {
 public:
  static constexpr Number kCalls = 40;

  enum class Server { kStays, kStops };

  SeededRun(std::uint32_t seed, Server server)
      : random_(seed), server_(server), world_(faults(), {}, limits(), 700ms) {}

  void go() {
    const std::int64_t frames = frames_alive();
    world_.loop().post([this] {
      for (Number number = 0; number < kCalls; ++number) scope_.spawn(&SeededRun::one_call, this, number);
      if (server_ == Server::kStays) scope_.spawn(&SeededRun::change_faults, this);
      if (server_ == Server::kStops) scope_.spawn(&SeededRun::stop_the_server, this);
    });
    world_.step();
    ASSERT_TRUE(world_.run_until([&] { return scope_.count() == 0; }, 60s)) << scope_.count() << " never end";
    for (Number number = 0; number < kCalls; ++number) check(number);
    if (server_ == Server::kStays) heal();
    close();
    EXPECT_EQ(frames_alive(), frames);
    EXPECT_EQ(world_.loop().chunks().chunks_out(), 0u);
  }
  std::size_t succeeded() const { return succeeded_; }
  std::size_t unprocessed() const { return unprocessed_; }

 private:
  static RpcLimits limits() {
    RpcLimits limits;
    limits.ping_interval = 100ms;
    limits.stall_timeout = limits.frame_timeout = limits.hello_timeout = 200ms;
    limits.outbox_high_water = 8 * 1024;
    limits.calls_in_flight_max = 16;
    return limits;
  }
  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }
  std::uint64_t sometimes_after(std::uint32_t bytes_max) {
    return below(4) == 0 ? below(bytes_max) : MemoryFaults::kNever;
  }
  MemoryFaults one_direction() {
    constexpr std::size_t kReceives[] = {0, 1, 7, 100};
    constexpr Duration kDelays[] = {0ms, 1ms, 30ms};
    MemoryFaults faults;
    faults.receive_bytes_max = kReceives[below(4)];
    faults.delay = kDelays[below(3)];
    faults.cut_after = sometimes_after(20'000);
    faults.half_close_after = sometimes_after(20'000);
    faults.drop_after = sometimes_after(20'000);
    return faults;
  }
  MemoryOptions faults() {
    MemoryOptions options;
    options.pipe_bytes = 1 + below(8192);
    if (server_ == Server::kStops) return options;  // nothing else ends a connection
    options.peer_may_vanish = true;
    options.to_server = one_direction();
    options.to_client = one_direction();
    return options;
  }

  static Task<void> change_faults(SeededRun* run) {
    for (int i = 0; i < 10; ++i) {
      [[maybe_unused]] const auto slept = co_await sleep_for(100ms);
      run->world_.network().set_options(run->faults());
    }
  }

  static Task<void> stop_the_server(SeededRun* run) {
    [[maybe_unused]] const auto slept = co_await sleep_for(std::chrono::milliseconds{run->below(1000)});
    run->world_.server().stop(std::chrono::milliseconds{run->below(3)});
  }

  static Task<void> one_call(SeededRun* run, Number number) {
    [[maybe_unused]] const auto slept = co_await sleep_for(std::chrono::milliseconds{run->below(1000)});
    Client& client = run->world_.client();
    CallOptions options;
    if (run->below(3) == 0) options.timeout = std::chrono::milliseconds{1 + run->below(100)};
    const Number size = 1 + run->below(30'000);
    switch (run->below(7)) {
      case 0: {
        const Result<Number> result = co_await client.call<&Service::plain>(options, number);
        co_return run->ended(number, result);
      }
      case 1: {
        const Number milliseconds = run->below(200);
        const Result<Number> result = co_await client.call<&Service::nap>(options, number, milliseconds);
        co_return run->ended(number, result);
      }
      case 2: {
        const Result<Number> result = co_await client.call<&Service::later>(options, number);
        co_return run->ended(number, result);
      }
      case 3: {
        const Buffer bytes = blob(size);
        options.attachment = bytes.bytes();
        const Result<Number> result = co_await client.call<&Service::take>(options, number, size);
        co_return run->ended(number, result);
      }
      case 4: {
        std::vector<std::byte> landing(run->below(2) == 0 ? 0 : size);
        options.landing = landing;
        const Result<Answer<Number>> answer =
            co_await client.call<&Service::give>(options, number, size).with_attachment();
        if (!answer.ok()) co_return run->ended(number, Result<Number>{answer.status()});
        co_return run->ended(number, Result<Number>{answer->value});
      }
      case 5: {
        Call<Number> call = client.start<&Service::nap>(options, number, 50u);
        [[maybe_unused]] const auto waited = co_await sleep_for(std::chrono::milliseconds{run->below(60)});
        call.cancel();
        const Result<Number> result = co_await std::move(call);
        co_return run->ended(number, result);
      }
      default: {
        const Call<Number> dropped = client.start<&Service::take>(options, number, 0u);
        [[maybe_unused]] const auto waited = co_await sleep_for(std::chrono::milliseconds{run->below(20)});
        co_return run->ended(number, Result<Number>{Status{StatusCode::kCancelled, Layer::kUser, "dropped"}});
      }
    }
  }

  void ended(Number number, const Result<Number>& result) {
    Record& record = records_[number];
    ++record.ended;
    record.ok = result.ok();
    record.unprocessed = !result.ok() && result.status().unprocessed();
    record.right = right(result, number);
  }
  void check(Number number) {
    const Record& record = records_[number];
    const int executed = world_.service.executed[number];
    EXPECT_EQ(record.ended, 1) << "call " << number;
    EXPECT_LE(executed, 1) << "call " << number << " was run twice";
    if (record.unprocessed) {
      ++unprocessed_;
      EXPECT_EQ(executed, 0) << "call " << number << " ran, and whoever repeats it runs it twice";
    }
    if (!record.ok) return;
    EXPECT_EQ(executed, 1) << "call " << number << " has a result, and did not run";
    EXPECT_TRUE(record.right) << "call " << number;
    ++succeeded_;
  }
  /// Ends all faults: calls succeed again after the broken connection was noticed.
  void heal() {
    world_.network().set_options({});
    for (int attempt = 0; attempt < 10; ++attempt) {
      Call<Number> call = world_.client().start<&Service::plain>(kCalls);
      ASSERT_TRUE(world_.run_until([&] { return call.done(); }, 10s));
      if (world_.service.executed[kCalls] != 0) return;
    }
    ADD_FAILURE() << "no call succeeds on a network without faults";
  }
  void close() {
    world_.client().close();
    world_.inner().close();
    world_.server().stop(1s);
    EXPECT_TRUE(world_.run_until([&] { return world_.server().stopped(); }, 60s));
    EXPECT_EQ(world_.server().stats().calls_running, 0u);
    EXPECT_EQ(world_.server().stats().connections, 0u);
    EXPECT_EQ(world_.client().stats().calls_in_flight, 0u);
  }

  std::mt19937 random_;
  const Server server_;
  World world_;
  Record records_[kCalls];
  std::size_t succeeded_ = 0;
  std::size_t unprocessed_ = 0;
  Scope scope_;
};

TEST(Simulation, OverConnectionsThatBreakEachCallEndsOnceAndRunsAtMostOnce) {
  constexpr std::uint32_t kSeeds = 200;
  std::size_t succeeded = 0;
  std::size_t unprocessed = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SeededRun run{seed, SeededRun::Server::kStays};
    run.go();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    succeeded += run.succeeded();
    unprocessed += run.unprocessed();
  }
  std::printf("%zu of %u calls succeeded, %zu are known not to have run\n", succeeded,
              kSeeds * SeededRun::kCalls, unprocessed);
  EXPECT_GT(succeeded, kSeeds * SeededRun::kCalls / 20) << "the faults leave nothing to look at";
  EXPECT_GT(unprocessed, 0u) << "no call was caught before it left";
}

TEST(Simulation, OfAServerThatStopsNoCallThatRanIsCalledUnprocessed) {
  constexpr std::uint32_t kSeeds = 100;
  std::size_t succeeded = 0;
  std::size_t unprocessed = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SeededRun run{seed, SeededRun::Server::kStops};
    run.go();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    succeeded += run.succeeded();
    unprocessed += run.unprocessed();
  }
  std::printf("%zu of %u calls succeeded, %zu are known not to have run\n", succeeded,
              kSeeds * SeededRun::kCalls, unprocessed);
  EXPECT_GT(succeeded, 0u);
  EXPECT_GT(unprocessed, 0u);
}

}  // namespace
}  // namespace weft::simulation
