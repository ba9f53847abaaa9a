// SPDX-License-Identifier: Apache-2.0
// Loops with pollers: the quick turns between the full ones. Turns are counted; time is a clock's that moves
// by the same step whenever it is read.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "unit/runtime/loops.hpp"
#include "weft/detail/coro/yield.hpp"
#include "weft/detail/runtime/poller.hpp"
#include "weft/detail/runtime/quick_burst.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;
using detail::QuickBurst;
using testing::CallbackTimer;
using testing::make_loop;

class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(Duration step) : step_(step) {}
  TimePoint now() override { return now_ += step_; }
  bool advances_by_itself() const override { return true; }

 private:
  Duration step_;
  TimePoint now_{1h};
};

// Says how much it found by what `find` returns, and whether it may sleep by what `on_arm` does.
class FakePoller final : public Poller {
 public:
  explicit FakePoller(UniqueFunction<std::size_t()> find, int fd = -1) : find_(std::move(find)), fd_(fd) {}
  std::size_t poll() override {
    ++polls;
    return find_();
  }
  bool arm() override {
    ++arms;
    if (on_arm) on_arm();
    return fd_ >= 0;
  }
  int descriptor() const override { return fd_; }

  UniqueFunction<void()> on_arm;
  std::uint64_t polls = 0;
  std::uint64_t arms = 0;

 private:
  UniqueFunction<std::size_t()> find_;
  int fd_;
};

// An event descriptor that counts down by one with each read.
class Event {
 public:
  Event() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { ::close(fd_); }
  int fd() const { return fd_; }
  void add(std::uint64_t count) const { ASSERT_EQ(::write(fd_, &count, sizeof count), 8); }
  bool take() const {
    std::uint64_t one = 0;
    return ::read(fd_, &one, sizeof one) == 8;
  }

 private:
  int fd_;
};

class CallbackWatch final : public FdWatch {
 public:
  explicit CallbackWatch(UniqueFunction<void()> action) : action_(std::move(action)) {}
  void on_ready(Readiness readiness) override {
    if (readiness.readable) action_();
  }

 private:
  UniqueFunction<void()> action_;
};

struct CountingReady final : Ready {
  CountingReady() : Ready([](Ready* self) noexcept { ++static_cast<CountingReady*>(self)->runs; }) {}
  std::uint64_t runs = 0;
};

class QuickTurns : public testing::EachPoller {
 protected:
  // Runs a busy loop with a poller that always finds one thing, until `find` has it stopped.
  void run_busy(Duration step, UniqueFunction<void(std::uint64_t)> each) {
    SteppingClock clock{step};
    loop = make_loop(with_poller({.mode = WaitMode::kBusy, .clock = &clock}));
    FakePoller poller{[&]() -> std::size_t {
      each(poller.polls);
      return 1;
    }};
    ASSERT_TRUE(loop->add_poller(poller).ok());
    loop->run();
    stats = loop->stats();
    loop->remove_poller(poller);
    loop.reset();
  }

  std::unique_ptr<Loop> loop;
  LoopStats stats;
};
INSTANTIATE_TEST_SUITE_P(Runtime, QuickTurns, testing::each_poller(), testing::poller_name);

TEST_P(QuickTurns, AskTheKernelFarLessOftenThanThePoller) {
  run_busy(1us, [&](std::uint64_t polls) {
    if (polls == 100'000) loop->stop();
  });
  EXPECT_EQ(stats.turns, 100'000u);
  EXPECT_LT(stats.polls, stats.turns / 100);
  EXPECT_EQ(stats.polls + stats.quick_turns, stats.turns);
}

TEST_P(QuickTurns, AreFewWhenEachTakesLong) {
  run_busy(1ms, [&](std::uint64_t polls) {
    if (polls == 1000) loop->stop();
  });
  EXPECT_GT(stats.polls, stats.turns / 3);
}

TEST_P(QuickTurns, TakePostedWorkAtOnce) {
  std::uint64_t now = 0;
  std::uint64_t ran_at = 0;
  run_busy(1us, [&](std::uint64_t polls) {
    now = polls;
    if (polls == 50'000) {
      loop->post([&] {
        ran_at = now;
        loop->stop();
      });
    }
  });
  EXPECT_LE(ran_at, 50'001u);
}

TEST_P(QuickTurns, LetTimersWaitForNoMoreThanABurst) {
  std::uint64_t fired_at = 0;
  std::uint64_t now = 0;
  CallbackTimer timer{[&] {
    fired_at = now;
    loop->stop();
  }};
  run_busy(1us, [&](std::uint64_t polls) {
    now = polls;
    if (polls == 50'000) loop->arm(timer, loop->now() + 1ns);
  });
  EXPECT_LE(fired_at - 50'000, static_cast<std::uint64_t>(QuickBurst::kUnitsAtMost));
}

TEST_P(QuickTurns, LetDescriptorsWaitForNoMoreThanABurst) {
  Event event;
  std::uint64_t reported_at = 0;
  std::uint64_t now = 0;
  CallbackWatch watch{[&] {
    reported_at = now;
    loop->stop();
  }};
  run_busy(1us, [&](std::uint64_t polls) {
    now = polls;
    if (polls == 1) {
      ASSERT_TRUE(loop->watch(watch, event.fd()).ok());
    }
    if (polls == 50'000) event.add(1);
  });
  EXPECT_LE(reported_at - 50'000, static_cast<std::uint64_t>(QuickBurst::kUnitsAtMost));
}

TEST_P(QuickTurns, RunNoMoreCoroutinesThanOneTurnsBudget) {
  SteppingClock clock{1ns};
  loop = make_loop(with_poller({.mode = WaitMode::kBusy, .clock = &clock, .turn_budget = 10}));
  CountingReady ready;
  FakePoller poller{[&]() -> std::size_t {
    if (ready.runs == 1000) loop->stop();
    if (!ready.is_scheduled()) loop->schedule(ready);
    return 1;
  }};
  ASSERT_TRUE(loop->add_poller(poller).ok());
  loop->run();
  EXPECT_GE(loop->stats().polls, 1000u / 10);
  loop->remove_poller(poller);
}

TEST_P(QuickTurns, EndWithTheTurnInWhichAPollerStops) {
  run_busy(1us, [&](std::uint64_t polls) {
    ASSERT_LE(polls, 10'000u);
    if (polls == 10'000) loop->stop();
  });
  EXPECT_EQ(stats.turns, 10'000u);
}

TEST_P(QuickTurns, HearOfAStopFromAnotherThreadThoughThereIsNothingToDo) {
  loop = make_loop(with_poller({.mode = WaitMode::kBusy}));
  std::thread stopping;
  FakePoller poller{[&]() -> std::size_t {
    if (poller.polls == 1000) stopping = std::thread{[&] { loop->stop(); }};
    return 0;
  }};
  ASSERT_TRUE(loop->add_poller(poller).ok());
  loop->run();
  stopping.join();
  loop->remove_poller(poller);
}

// Suspends until somebody schedules it.
struct Pause {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) noexcept { resumption.handle = coroutine; }
  void await_resume() const noexcept {}
  Resumption resumption;
};

Task<int> waits_for(Pause& pause) {
  co_await pause;
  co_return 7;
}

TEST_P(QuickTurns, OfBlockOnEndWhenTheTaskIsDone) {
  SteppingClock clock{1us};
  loop = make_loop(with_poller({.mode = WaitMode::kBusy, .clock = &clock}));
  Pause pause;
  FakePoller poller{[&]() -> std::size_t {
    if (poller.polls != 5000) return 0;
    loop->schedule(pause.resumption);
    return 1;
  }};
  ASSERT_TRUE(loop->add_poller(poller).ok());
  EXPECT_EQ(loop->block_on(waits_for(pause)), 7);
  EXPECT_EQ(poller.polls, 5000u);
  EXPECT_GT(loop->stats().quick_turns, 4000u);
  loop->remove_poller(poller);
}

// BU-7: pollers that know nothing of each other, such as a worker's and a storage library's, on one thread.
TEST_P(QuickTurns, AskTwoForeignPollersSideBySideAlsoWhenOneRemovesItselfAndAddsAnother) {
  SteppingClock clock{1us};
  loop = make_loop(with_poller({.mode = WaitMode::kBusy, .clock = &clock}));
  FakePoller steady{[&]() -> std::size_t {
    if (steady.polls == 20'000) loop->stop();
    return 1;
  }};
  FakePoller late{[]() -> std::size_t { return 0; }};
  FakePoller leaving{[&]() -> std::size_t {
    if (leaving.polls < 10'000) return 0;
    loop->remove_poller(leaving);
    EXPECT_TRUE(loop->add_poller(late).ok());
    return 1;
  }};
  ASSERT_TRUE(loop->add_poller(leaving).ok());
  ASSERT_TRUE(loop->add_poller(steady).ok());
  loop->run();
  EXPECT_EQ(leaving.polls, 10'000u);
  EXPECT_EQ(steady.polls, 20'000u);
  EXPECT_EQ(late.polls, 10'001u) << "from the turn in which it was added";
  EXPECT_GT(loop->stats().quick_turns, 19'000u);
  loop->remove_poller(steady);
  loop->remove_poller(late);
}

TEST_P(QuickTurns, AreNotMadeInASimulationNorByTheStepNorByALoopThatWaits) {
  const auto quick_turns_of = [&](LoopOptions options, auto drive) {
    loop = make_loop(with_poller(options));
    FakePoller poller{[&]() -> std::size_t {
      if (poller.polls == 100) loop->stop();
      return poller.polls < 100 ? 1 : 0;
    }};
    EXPECT_TRUE(loop->add_poller(poller).ok());
    drive(*loop);
    EXPECT_EQ(poller.polls, 100u);
    loop->remove_poller(poller);
    return loop->stats().quick_turns;
  };
  const auto run = [](Loop& its) { its.run(); };
  ManualClock clock;
  EXPECT_EQ(quick_turns_of({.mode = WaitMode::kBusy, .clock = &clock}, run), 0u);
  EXPECT_EQ(quick_turns_of({.mode = WaitMode::kWait}, run), 0u);
  EXPECT_EQ(quick_turns_of({.mode = WaitMode::kBusy}, [](Loop& its) { its.run_until_idle(); }), 0u);
  EXPECT_EQ(quick_turns_of({.mode = WaitMode::kBusy},
                           [](Loop& its) {
                             for (int i = 0; i < 100; ++i) its.run_once(Duration::zero());
                           }),
            0u);
}

TEST_P(QuickTurns, OfAnAdaptiveLoopGoOnForItsSpinAfterTheLastThingThatAPollerFound) {
  SteppingClock clock{10us};
  loop = make_loop(with_poller({.mode = WaitMode::kAdaptive, .spin = 100us, .clock = &clock}));
  Event event;
  TimePoint found_last{};
  TimePoint slept{};
  FakePoller poller{[&]() -> std::size_t {
                      if (poller.polls > 5000) return 0;
                      found_last = loop->now();
                      return 1;
                    },
                    event.fd()};
  poller.on_arm = [&] {
    slept = loop->now();
    loop->stop();
  };
  ASSERT_TRUE(loop->add_poller(poller).ok());
  loop->run();
  EXPECT_EQ(poller.arms, 1u) << "it was about to sleep while the poller brought work";
  EXPECT_GE(slept - found_last, 100us);
  EXPECT_GT(loop->stats().quick_turns, loop->stats().polls);
  loop->remove_poller(poller);
}

class PollersThatSleep : public testing::EachPoller {};
INSTANTIATE_TEST_SUITE_P(Runtime, PollersThatSleep, testing::each_poller(), testing::poller_name);

// As UCX over TCP is: its descriptor is an epoll descriptor over others, it handles a part of what there is
// with each question, and arms without a look at the rest.
TEST_P(PollersThatSleep, HandlePartByPartWhatCameByOneEdgeOfANestedEpollDescriptor) {
  auto loop = make_loop(with_poller({.mode = WaitMode::kWait}));
  Event event;
  const int nested = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event interest{.events = EPOLLIN, .data = {}};
  ASSERT_EQ(::epoll_ctl(nested, EPOLL_CTL_ADD, event.fd(), &interest), 0);
  std::uint64_t handled = 0;
  FakePoller poller{[&]() -> std::size_t {
                      if (!event.take()) return 0;
                      ++handled;
                      return 1;
                    },
                    nested};
  ASSERT_TRUE(loop->add_poller(poller).ok());
  loop->run_until_idle();
  for (std::uint64_t round = 1; round <= 50; ++round) {
    std::thread writer{[&] { event.add(5); }};
    while (handled < round * 5) loop->run_once(Loop::kForever);
    writer.join();
    // Had it slept with work left, nothing would have woken it. On a busy machine an edge whose work is done
    // already ends a sleep or two in addition.
    EXPECT_LT(loop->stats().sleeps, round * 5) << "it slept for each part";
  }
  loop->remove_poller(poller);
  ::close(nested);
}

TEST_P(PollersThatSleep, AreWokenByEveryItemThatAnotherThreadBringsBetweenDrainAndSleep) {
  constexpr std::uint64_t kItems = 20'000;
  for (const WaitMode mode : {WaitMode::kWait, WaitMode::kAdaptive}) {
    auto loop = make_loop(with_poller({.mode = mode, .spin = 1us}));
    Event event;
    std::atomic<std::uint64_t> handled = 0;
    FakePoller poller{[&]() -> std::size_t {
                        if (!event.take()) return 0;
                        if (++handled == kItems) loop->stop();
                        return 1;
                      },
                      event.fd()};
    ASSERT_TRUE(loop->add_poller(poller).ok());
    // The next one comes when the last is handled, which is when the loop is about to sleep.
    std::thread writer{[&] {
      for (std::uint64_t i = 0; i < kItems; ++i) {
        event.add(1);
        while (handled.load() <= i) std::this_thread::yield();
      }
    }};
    loop->run();
    writer.join();
    EXPECT_EQ(handled, kItems);
    loop->remove_poller(poller);
  }
}

TEST_P(PollersThatSleep, DoNotKeepTheLoopAwakeByADescriptorThatFiresForNothing) {
  for (const WaitMode mode : {WaitMode::kWait, WaitMode::kAdaptive}) {
    SteppingClock clock{1us};
    auto loop = make_loop(with_poller({.mode = mode, .spin = 50us, .clock = &clock}));
    Event event;
    FakePoller poller{[]() -> std::size_t { return 0; }, event.fd()};
    ASSERT_TRUE(loop->add_poller(poller).ok());
    loop->run_until_idle();
    event.add(1);  // never read: it stays readable
    loop->run_once(Loop::kForever);
    EXPECT_EQ(loop->stats().sleeps, 0u) << "readable when it would sleep: asked once more";
    const LoopStats before = loop->stats();
    for (std::uint64_t i = 1; i <= 10; ++i) {
      event.add(1);
      EXPECT_FALSE(loop->run_once(Loop::kForever)) << "a report to a poller is nothing that was done";
      EXPECT_EQ(loop->stats().sleeps - before.sleeps, i) << to_string(mode);
    }
    EXPECT_EQ(loop->stats().polls, before.polls);
    EXPECT_EQ(loop->stats().reports, 0u);
    loop->remove_poller(poller);
  }
}

// Bursts that take `per_unit` for each of their units.
class BurstOf {
 public:
  explicit BurstOf(Duration per_unit) : per_unit_(per_unit) {}
  void repeat(int times, bool pollers, bool descriptors) {
    for (int i = 0; i < times; ++i) {
      reports_ += descriptors ? 1 : 0;
      burst.begin(now_, reports_);
      if (pollers) burst.brought_something();
      burst.end();
      now_ += burst.units() * per_unit_;
      EXPECT_EQ(burst.measure(now_), pollers);
    }
  }
  Duration length() const { return burst.units() * per_unit_; }

  QuickBurst burst;

 private:
  Duration per_unit_;
  TimePoint now_{1h};
  std::uint64_t reports_ = 0;
};

TEST(QuickBursts, LastsAsLongAsWhoBringsWorkAllows) {
  BurstOf of{20ns};
  const auto lasts = [&](Duration limit) { return of.length() <= limit && of.length() >= limit / 2; };
  of.repeat(40, true, false);
  EXPECT_TRUE(lasts(QuickBurst::kWhilePollersWork)) << of.length().count();
  of.repeat(40, false, false);
  EXPECT_TRUE(lasts(QuickBurst::kWhileQuiet)) << of.length().count();
  of.repeat(40, false, true);
  EXPECT_TRUE(lasts(QuickBurst::kWhileDescriptorsWork)) << of.length().count();
  of.repeat(40, true, true);
  EXPECT_TRUE(lasts(QuickBurst::kWhileQuiet)) << of.length().count();
}

TEST(QuickBursts, IsCutAtOnceAndNeverBelowOneUnitNorAboveTheMost) {
  BurstOf fast{1ns};
  fast.repeat(20, true, false);
  EXPECT_EQ(fast.burst.units(), QuickBurst::kUnitsAtMost);
  fast.burst.begin(TimePoint{2h}, 0);
  fast.burst.end();
  fast.burst.measure(TimePoint{2h} + 80us);
  EXPECT_EQ(fast.burst.units(), QuickBurst::kUnitsAtMost / 8);
  BurstOf slow{1s};
  slow.repeat(2, true, false);
  EXPECT_EQ(slow.burst.units(), 1);
}

TEST(QuickBursts, ThatWasNotBroughtToItsEndTeachesNothing) {
  QuickBurst burst;
  const std::int64_t units = burst.units();
  burst.begin(TimePoint{1h}, 0);
  burst.brought_something();
  EXPECT_FALSE(burst.measure(TimePoint{2h}));
  EXPECT_EQ(burst.units(), units);
}

}  // namespace
}  // namespace weft
