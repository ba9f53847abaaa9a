// SPDX-License-Identifier: Apache-2.0
// fleets of servers and clients on a clock that stands still, while hosts crash, stand
// still, vanish and come back, and links lose and change. Every scenario ends with Fleet::finish(), which
// looks whether each call ended once and in time, whether anything is left, and whether the counters agree.
//
// fleet_test --seed=N runs all of it with another beginning of what is random; a failure prints how to repeat
// it.
#include "fleet/fleet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "support/heap_count.hpp"
#include "weft/detail/coro/frame_pool.hpp"

namespace weft::fleet {
namespace {

std::uint64_t seed = 1;

// Fewer where a sanitizer makes each of them slow.
constexpr bool kAll = testing::kHeapIsCounted;

Plan plan_of(std::size_t servers, std::size_t clients, Duration think) {
  return {.servers = servers, .clients = clients, .seed = seed, .think = think};
}

void expect_clean(Fleet& fleet) {
  EXPECT_EQ(fleet.finish(), "");
  const Totals& totals = fleet.totals();
  std::printf(
      "%llu calls: %llu succeeded, %llu unavailable, %llu too late, %llu refused; %.0f s, trace %016llx\n",
      static_cast<unsigned long long>(totals.ended), static_cast<unsigned long long>(totals.succeeded),
      static_cast<unsigned long long>(totals.unavailable),
      static_cast<unsigned long long>(totals.deadline_exceeded),
      static_cast<unsigned long long>(totals.refused), std::chrono::duration<double>(fleet.elapsed()).count(),
      static_cast<unsigned long long>(fleet.network().stats().trace_hash));
}

TEST(Fleet, OfOneServerComesBackWithinThirtySecondsOfARestartAndSpreadOut) {
  const std::size_t clients = kAll ? 10'000 : 1000;
  Fleet fleet{plan_of(1, clients, 500ms)};
  fleet.call_on();
  ASSERT_TRUE(fleet.pass_until([&] { return fleet.connected() == clients; }, 30s));
  fleet.station(0).crash();
  fleet.pass(5s);
  EXPECT_EQ(fleet.connected(), 0u);
  const std::uint64_t connections = fleet.network().stats().connections_made;
  std::uint64_t before = connections;
  std::uint64_t most = 0;
  fleet.station(0).serve();
  const Duration back_at = fleet.elapsed();
  while (fleet.connected() < clients && fleet.elapsed() - back_at < 30s) {
    fleet.pass(10ms);
    const std::uint64_t now = fleet.network().stats().connections_made;
    most = std::max(most, now - before);
    before = now;
  }
  EXPECT_EQ(fleet.connected(), clients) << "all are back within 30 s";
  EXPECT_EQ(before - connections, clients) << "one attempt each suffices";
  EXPECT_LE(most, clients / 25) << "the attempts are spread";
  std::printf("all back after %.1f s, at most %llu within 10 ms\n",
              std::chrono::duration<double>(fleet.elapsed() - back_at).count(),
              static_cast<unsigned long long>(most));
  expect_clean(fleet);
}

TEST(Fleet, OfManyServersIsRestartedOneAfterTheOther) {
  const std::size_t servers = kAll ? 1000 : 50;
  Fleet fleet{plan_of(servers, 10 * servers, 5s)};
  fleet.call_on();
  fleet.pass(15s);
  for (std::size_t i = 0; i < servers; ++i) {
    fleet.station(i).stop(1s);
    fleet.pass(20ms);
    fleet.station(i).clear();
    fleet.station(i).serve();
  }
  const Totals before = fleet.totals();
  fleet.pass(30s);
  EXPECT_EQ(fleet.totals().unavailable, before.unavailable) << "calls fail once all servers are back";
  EXPECT_EQ(fleet.totals().deadline_exceeded, 0u);
  EXPECT_LE(fleet.totals().unavailable, fleet.totals().ended / 100);
  EXPECT_GE(fleet.connected(), 9 * servers);
  expect_clean(fleet);
}

TEST(Fleet, IsWholeAgainAfterAPartition) {
  const std::size_t clients = kAll ? 2000 : 400;
  Fleet fleet{plan_of(20, clients, 2s)};
  fleet.call_on();
  fleet.pass(10s);
  // Every second server, with none of the clients.
  for (std::size_t i = 0; i < fleet.stations(); i += 2) fleet.station(i).host().set_side(1);
  fleet.pass(60s);
  EXPECT_GE(fleet.totals().deadline_exceeded, clients / 2);
  for (std::size_t i = 0; i < fleet.stations(); i += 2) fleet.station(i).host().set_side(0);
  EXPECT_TRUE(fleet.pass_until([&] { return fleet.connected() == clients; }, 30s));
  const Totals healed = fleet.totals();
  fleet.pass(20s);
  EXPECT_EQ(fleet.totals().succeeded - healed.succeeded, fleet.totals().ended - healed.ended);
  expect_clean(fleet);
}

TEST(Fleet, OfWhichOneHalfIsABlackHoleServesTheOtherHalfUndisturbed) {
  const std::size_t clients = kAll ? 2000 : 400;
  Fleet fleet{plan_of(20, clients, 2s)};
  fleet.call_on();
  fleet.pass(10s);
  std::vector<std::uint64_t> before;
  for (std::size_t i = 0; i < fleet.stations(); ++i) before.push_back(fleet.succeeded_at(i));
  // A quarter takes everything and answers nothing, a quarter hears and is not heard.
  for (std::size_t i = 0; i < fleet.stations(); i += 4) fleet.station(i).host().stop();
  for (std::size_t i = 2; i < fleet.stations(); i += 4) {
    SimulatedLink mute = fleet.station(i).host().outgoing();
    mute.blocked = true;
    fleet.station(i).host().set_outgoing(mute);
  }
  const Totals holed = fleet.totals();
  fleet.pass(60s);
  const double mean = static_cast<double>(clients) / static_cast<double>(fleet.stations()) * 60 / 2;
  for (std::size_t i = 0; i < fleet.stations(); ++i) {
    const auto succeeded = static_cast<double>(fleet.succeeded_at(i) - before[i]);
    if (i % 2 == 1) {
      EXPECT_GE(succeeded, 0.85 * mean) << "server " << i;
    } else {
      EXPECT_LE(succeeded, 0.02 * mean) << "server " << i;
    }
  }
  EXPECT_GT(fleet.totals().deadline_exceeded, holed.deadline_exceeded);
  for (std::size_t i = 0; i < fleet.stations(); i += 4) fleet.station(i).host().resume();
  for (std::size_t i = 2; i < fleet.stations(); i += 4) fleet.station(i).host().set_blocked(false);
  EXPECT_TRUE(fleet.pass_until([&] { return fleet.connected() == clients; }, 30s));
  expect_clean(fleet);
}

// Ten times as much as the workers can do: 8 servers of 4 workers, each of which does 50 calls a second.
TEST(Fleet, HoldsItsGoodputUnderTenTimesTheLoadThatItCanBear) {
  const auto goodput = [](std::size_t clients) {
    Plan plan = plan_of(8, clients, 100ms);
    plan.work = 20ms;
    plan.calls_running_max = 32;
    Fleet fleet{plan};
    fleet.call_on();
    fleet.pass(5s);
    const std::uint64_t before = fleet.totals().succeeded;
    const auto seconds = std::chrono::seconds{kAll ? 20 : 3};
    fleet.pass(seconds);
    const std::uint64_t good =
        (fleet.totals().succeeded - before) / static_cast<std::uint64_t>(seconds.count());
    expect_clean(fleet);
    return good;
  };
  std::uint64_t peak = 0;
  for (const std::size_t clients : {160, 240, 400}) peak = std::max(peak, goodput(clients));
  EXPECT_GE(peak, 1500u);
  const std::uint64_t overloaded = goodput(1600);
  std::printf("peak %llu calls/s, %llu under ten times as many callers\n",
              static_cast<unsigned long long>(peak), static_cast<unsigned long long>(overloaded));
  EXPECT_GE(overloaded, peak * 85 / 100);
}

/// Lets something happen to some server every `period`, as `fleet`'s random numbers have it.
void churn(Fleet& fleet, Duration time, Duration period) {
  enum class Event { kCrash, kPowerOff, kStandStill, kBlock, kRestart, kLossy, kSlow, kEnd };
  const Duration end = fleet.elapsed() + time;
  const SimulatedLink good = fleet.station(0).host().outgoing();
  while (fleet.elapsed() < end) {
    Station& station = fleet.station(fleet.random()() % fleet.stations());
    const auto event = static_cast<Event>(fleet.random()() % static_cast<unsigned>(Event::kEnd));
    const Duration lasts = std::chrono::seconds{1 + fleet.random()() % 60};
    SimulatedLink link = good;
    switch (event) {
      case Event::kCrash:
        station.crash();
        break;
      case Event::kPowerOff:
        station.power_off();
        break;
      case Event::kStandStill:
        station.host().stop();
        break;
      case Event::kBlock:
        station.host().set_blocked(true);
        break;
      case Event::kRestart:
        station.stop(1s);
        break;
      case Event::kLossy:
        link.loss = 0.1;
        break;
      default:
        link.latency = 200ms;
        link.jitter = 100ms;
        break;
    }
    if (event == Event::kLossy || event == Event::kSlow) station.host().set_outgoing(link);
    fleet.pass(lasts);
    station.host().resume();
    station.host().set_outgoing(good);
    station.host().set_incoming(good);
    if (event == Event::kPowerOff) station.power_on();
    if (event == Event::kRestart) station.clear();
    if (event == Event::kCrash || event == Event::kPowerOff || event == Event::kRestart) station.serve();
    fleet.pass(std::max(Duration{1s}, period - lasts));
  }
}

TEST(Fleet, ServesThroughAWeekOfChurn) {
  Fleet fleet{plan_of(20, 100, 60s)};
  fleet.call_on();
  const Duration week = kAll ? Duration{7 * 24h} : Duration{6h};
  churn(fleet, week, 10min);
  EXPECT_GE(fleet.totals().succeeded, fleet.totals().ended * 99 / 100);
  fleet.pass(5min);
  const Totals calm = fleet.totals();
  fleet.pass(30min);
  EXPECT_EQ(fleet.totals().succeeded - calm.succeeded, fleet.totals().ended - calm.ended);
  expect_clean(fleet);
}

struct Outcome {
  std::uint64_t trace;
  std::uint64_t succeeded;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome run_of(std::uint64_t of_seed) {
  Plan plan = plan_of(10, 100, 3s);
  plan.seed = of_seed;
  plan.link.jitter = 2ms;
  plan.link.loss = 0.01;
  Fleet fleet{plan};
  fleet.call_on();
  churn(fleet, 10min, 20s);
  expect_clean(fleet);
  return {fleet.network().stats().trace_hash, fleet.totals().succeeded};
}

TEST(Fleet, DoesTheSameInEachRunOfTheSameSeed) {
  const Outcome run = run_of(seed);
  EXPECT_EQ(run_of(seed), run);
  EXPECT_NE(run_of(seed + 1).trace, run.trace);
}

TEST(Fleet, EndsEveryCallOnceWhateverTheSeed) {
  for (std::uint64_t i = 0; i < (kAll ? 20 : 3); ++i) {
    run_of(1000 * seed + i);
    ASSERT_FALSE(HasFailure()) << "seed " << 1000 * seed + i;
  }
}

TEST(Fleet, OfAThousandServersAndAHundredThousandClientsFitsIntoOneProcess) {
  const std::size_t servers = kAll ? 1000 : 50;
  const std::size_t clients = 100 * servers;
  const std::int64_t frames = detail::frames_alive();
  {
    const std::size_t before = testing::heap_bytes();
    Fleet fleet{plan_of(servers, clients, 20s)};
    fleet.call_on();
    fleet.pass(50s);
    const std::size_t bytes = testing::heap_bytes() - before;
    EXPECT_GE(fleet.connected(), clients * 9 / 10);
    EXPECT_EQ(fleet.totals().succeeded, fleet.totals().ended);
    if (kAll) {
      EXPECT_LE(bytes, clients * 9300);
    }
    std::printf("%zu bytes of heap for each client, its connection and a hundredth of a server\n",
                bytes / clients);
    for (std::size_t i = 0; i < servers; i += 10) fleet.station(i).crash();
    fleet.pass(5s);
    for (std::size_t i = 0; i < servers; i += 10) fleet.station(i).serve();
    fleet.pass(10s);
    expect_clean(fleet);
  }
  EXPECT_EQ(detail::frames_alive(), frames);
}

/// Prints how to repeat what failed.
class HowToRepeat final : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo& info) override {
    if (!info.result()->Failed()) return;
    std::printf("To repeat it: fleet_test --seed=%llu --gtest_filter=%s.%s\n",
                static_cast<unsigned long long>(seed), info.test_suite_name(), info.name());
  }
};

}  // namespace
}  // namespace weft::fleet

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kSeed = "--seed=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kSeed)) weft::fleet::seed = std::strtoull(argv[i] + kSeed.size(), nullptr, 10);
  }
  ::testing::UnitTest::GetInstance()->listeners().Append(new weft::fleet::HowToRepeat);
  return RUN_ALL_TESTS();
}
