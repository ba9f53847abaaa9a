// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/timer.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "unit/runtime/loops.hpp"
#include "weft/detail/runtime/sleep.hpp"
#include "weft/detail/runtime/with_deadline.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::CallbackTimer;
using testing::make_loop;

class Timers : public ::testing::Test {
 protected:
  std::unique_ptr<CallbackTimer> recorder(int number) {
    return std::make_unique<CallbackTimer>([this, number] { fired.push_back(number); });
  }

  ManualClock clock;
  std::unique_ptr<Loop> loop = make_loop({.clock = &clock});
  std::vector<int> fired;
};

TEST_F(Timers, FireInTheOrderOfTheirTimesAndThenOfArming) {
  auto late = recorder(4), early = recorder(1), same_a = recorder(2), same_b = recorder(3);
  loop->arm(*late, clock.now() + 4ms);
  loop->arm(*same_a, clock.now() + 3ms);
  loop->arm(*early, clock.now() + 1ns);
  loop->arm(*same_b, clock.now() + 3ms);
  clock.advance(10ms);
  EXPECT_EQ(loop->run_until_idle(), 4u);
  EXPECT_EQ(fired, (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(loop->timers_armed(), 0u);
}

TEST_F(Timers, NeverFireEarlyNotByANanosecond) {
  auto timer = recorder(1);
  loop->arm(*timer, clock.now() + 1ms);
  clock.advance(1ms - 1ns);
  EXPECT_EQ(loop->run_until_idle(), 0u);
  EXPECT_TRUE(timer->armed());
  clock.advance(1ns);
  EXPECT_EQ(loop->run_until_idle(), 1u);
  EXPECT_FALSE(timer->armed());
}

TEST_F(Timers, NextTimerIsWhereASimulationGoes) {
  EXPECT_EQ(loop->next_timer(), std::nullopt);
  auto a = recorder(1), b = recorder(2);
  loop->arm(*a, clock.now() + 1h);
  loop->arm(*b, clock.now() + 7ns);
  while (auto next = loop->next_timer()) {
    clock.set(*next);
    EXPECT_EQ(loop->run_until_idle(), 1u);
  }
  EXPECT_EQ(fired, (std::vector{2, 1}));
}

TEST_F(Timers, ADisarmedOrDestroyedOneDoesNotFire) {
  auto a = recorder(1), b = recorder(2), c = recorder(3);
  for (auto* timer : {a.get(), b.get(), c.get()}) loop->arm(*timer, clock.now() + 1ms);
  loop->disarm(*a);
  loop->disarm(*a);
  b.reset();
  EXPECT_EQ(loop->timers_armed(), 1u);
  clock.advance(1ms);
  loop->run_until_idle();
  EXPECT_EQ(fired, std::vector{3});
}

TEST_F(Timers, ArmingAgainMovesIt) {
  auto timer = recorder(1);
  loop->arm(*timer, clock.now() + 1ms);
  loop->arm(*timer, clock.now() + 5ms);
  EXPECT_EQ(loop->timers_armed(), 1u);
  clock.advance(4ms);
  EXPECT_EQ(loop->run_until_idle(), 0u);
  clock.advance(1ms);
  EXPECT_EQ(loop->run_until_idle(), 1u);
}

TEST_F(Timers, OneThatIsDueCanStillBeDisarmedOrDestroyedByAnother) {
  auto disarmed = recorder(1), destroyed = recorder(2), last = recorder(3);
  CallbackTimer first{[&] {
    loop->disarm(*disarmed);
    destroyed.reset();
  }};
  loop->arm(first, clock.now());
  loop->arm(*disarmed, clock.now());
  loop->arm(*destroyed, clock.now());
  loop->arm(*last, clock.now());
  EXPECT_EQ(loop->run_until_idle(), 2u);
  EXPECT_EQ(fired, std::vector{3});
}

TEST_F(Timers, OneThatArmsItselfForNowFiresOncePerTurn) {
  CallbackTimer* self = nullptr;
  CallbackTimer again{[&] {
    fired.push_back(0);
    if (fired.size() < 3) loop->arm(*self, clock.now());
  }};
  self = &again;
  loop->arm(again, clock.now());
  loop->run_once(Duration::zero());
  EXPECT_EQ(fired.size(), 1u);
  loop->run_until_idle();
  EXPECT_EQ(fired.size(), 3u);
}

TEST_F(Timers, MayEndInTheirOwnCallback) {
  std::unique_ptr<CallbackTimer> timer;
  timer = std::make_unique<CallbackTimer>([&] { timer.reset(); });
  loop->arm(*timer, clock.now());
  EXPECT_EQ(loop->run_until_idle(), 1u);
  EXPECT_EQ(timer, nullptr);
}

// Against a multimap, which does the same slowly: every operation in random order, every firing compared.
TEST_F(Timers, AgreeWithASortedMapUnderRandomUse) {
  std::mt19937 random{20240607};
  constexpr int kTimers = 300;
  std::vector<std::unique_ptr<CallbackTimer>> timers;
  std::multimap<TimePoint, int> model;
  std::vector<std::multimap<TimePoint, int>::iterator> places(kTimers, model.end());
  std::vector<int> expected;
  for (int i = 0; i < kTimers; ++i) timers.push_back(recorder(i));
  const auto forget = [&](std::size_t i) {
    if (places[i] != model.end()) model.erase(std::exchange(places[i], model.end()));
  };
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t i = random() % kTimers;
    switch (random() % 4) {
      case 0:
      case 1: {
        const TimePoint at = clock.now() + Duration{random() % 1000};
        forget(i);
        places[i] = model.emplace(at, static_cast<int>(i));
        loop->arm(*timers[i], at);
        break;
      }
      case 2:
        forget(i);
        loop->disarm(*timers[i]);
        break;
      default:
        clock.advance(Duration{random() % 20});
        while (!model.empty() && model.begin()->first <= clock.now()) {
          const int number = model.begin()->second;
          expected.push_back(number);
          forget(static_cast<std::size_t>(number));
        }
        loop->run_until_idle();
    }
    ASSERT_EQ(fired, expected) << "step " << step;
    ASSERT_EQ(loop->timers_armed(), model.size());
    if (!model.empty()) {
      ASSERT_EQ(loop->next_timer(), model.begin()->first);
    }
    fired.clear();
    expected.clear();
  }
}

TEST(SteadyTimers, WakeASleepingLoop) {
  auto loop = make_loop({.mode = WaitMode::kWait});
  const TimePoint at = loop->now() + 3ms;
  TimePoint fired{};
  CallbackTimer timer{[&] {
    fired = loop->now();
    loop->stop();
  }};
  loop->arm(timer, at);
  loop->run();
  EXPECT_GE(fired, at);
}

// Passes as the system's clock does, and calls the same moment by another name.
class ShiftedClock final : public Clock {
 public:
  explicit ShiftedClock(Duration by) : by_(by) {}
  TimePoint now() override { return detail::steady_clock_source().now() + by_; }
  bool advances_by_itself() const override { return true; }

 private:
  const Duration by_;
};

TEST(SteadyTimers, WakeASleepingLoopThatHasAClockOfItsOwn) {
  for (const Duration by : {Duration{-1h}, Duration{1h}}) {
    ShiftedClock clock{by};
    auto loop = make_loop({.mode = WaitMode::kWait, .clock = &clock});
    bool fired = false;
    CallbackTimer timer{[&] { fired = true; }};
    loop->arm(timer, loop->now() + 3ms);
    for (int turns = 0; !fired && turns < 10; ++turns) loop->run_once(1min);
    EXPECT_TRUE(fired);
  }
}

Task<void> sleep_and_note(Duration duration, int number, std::vector<int>& order) {
  const Result<void> slept = co_await sleep_for(duration);
  order.push_back(slept.ok() ? number : -number);
}

// A task that the test started and may cancel or drop.
class Started : private detail::Completion {
 public:
  Started(Loop& loop, Task<void> task, CancelScope* scope = nullptr)
      : Completion{[](Completion& self, detail::TaskPromiseBase&) noexcept {
          static_cast<Started&>(self).ended_ = true;
        }},
        task_(std::move(task)) {
    loop.post([this, scope] { detail::start(task_, scope, *this); });
    loop.run_until_idle();
  }
  bool ended() const { return ended_; }
  void drop() { task_.reset(); }

 private:
  Task<void> task_;
  bool ended_ = false;
};

TEST_F(Timers, SleepersWakeInOrder) {
  Started second{*loop, sleep_and_note(2s, 2, fired)};
  Started first{*loop, sleep_and_note(1s, 1, fired)};
  Started at_once{*loop, sleep_and_note(0s, 3, fired)};
  EXPECT_TRUE(at_once.ended());
  clock.advance(1s);
  loop->run_until_idle();
  EXPECT_EQ(fired, (std::vector{3, 1}));
  clock.advance(1s);
  loop->run_until_idle();
  EXPECT_EQ(fired, (std::vector{3, 1, 2}));
}

TEST_F(Timers, ASleepThatIsCancelledEndsAtOnceAndSaysWhy) {
  Status why;
  const auto sleeper = [](Status& status) -> Task<void> {
    const Result<void> slept = co_await sleep_for(1h);
    status = slept.status();
  };
  CancelScope scope;
  Started task{*loop, sleeper(why), &scope};
  EXPECT_EQ(loop->timers_armed(), 1u);
  scope.cancel(CancelReason::kStopping);
  EXPECT_EQ(loop->timers_armed(), 0u);
  loop->run_until_idle();
  EXPECT_TRUE(task.ended());
  EXPECT_EQ(why.code(), StatusCode::kCancelled);
  Started cancelled_before{*loop, sleeper(why), &scope};
  EXPECT_TRUE(cancelled_before.ended());
}

TEST_F(Timers, ADroppedSleeperLeavesNothingBehind) {
  CancelScope scope;
  Started waiting{*loop, sleep_and_note(1s, 1, fired), &scope};
  waiting.drop();
  EXPECT_EQ(loop->timers_armed(), 0u);
  scope.cancel(CancelReason::kRequested);
  Started woken{*loop, sleep_and_note(1s, 2, fired)};
  clock.advance(1s);
  loop->post([&] { loop->disarm(*recorder(9)); });
  loop->run_until_idle();
  EXPECT_EQ(fired, std::vector{2});
}

TEST_F(Timers, SleepUntilReachesThatMoment) {
  const auto sleeper = [](TimePoint at, TimePoint& woke) -> Task<void> {
    const Result<void> slept = co_await sleep_until(at);
    if (slept.ok()) woke = Loop::current()->now();
  };
  TimePoint woke{};
  const TimePoint at = clock.now() + 5s;
  Started task{*loop, sleeper(at, woke)};
  clock.set(at);
  loop->run_until_idle();
  EXPECT_EQ(woke, at);
}

Task<Result<int>> answer_after(Duration duration) {
  const Result<void> slept = co_await sleep_for(duration);
  if (!slept.ok()) co_return slept.status();
  co_return 42;
}

Task<int> plain_answer_after(Duration duration) {
  const Result<void> slept = co_await sleep_for(duration);
  co_return slept.ok() ? 42 : 0;
}

Task<void> nothing_after(Duration duration) {
  const Result<void> slept = co_await sleep_for(duration);
  static_cast<void>(slept);
}

template <typename T>
Task<void> keep(Task<T> task, std::vector<T>& results) {
  results.push_back(co_await std::move(task));
}

TEST_F(Timers, ATaskThatEndsBeforeItsDeadlineGivesItsResult) {
  std::vector<Result<int>> results;
  std::vector<Result<void>> nothings;
  const Deadline deadline = Deadline::after(clock.now(), 2s);
  Started flattened{*loop, keep(with_deadline(deadline, answer_after(1s)), results)};
  Started wrapped{*loop, keep(with_deadline(deadline, plain_answer_after(1s)), results)};
  Started nothing{*loop, keep(with_deadline(deadline, nothing_after(1s)), nothings)};
  Started endless{*loop, keep(with_deadline(Deadline::infinite(), answer_after(1s)), results)};
  clock.advance(1s);
  loop->run_until_idle();
  ASSERT_EQ(results.size(), 3u);
  for (auto& result : results) EXPECT_EQ(result.value(), 42);
  ASSERT_EQ(nothings.size(), 1u);
  EXPECT_TRUE(nothings[0].ok());
  EXPECT_EQ(loop->timers_armed(), 0u);
}

TEST_F(Timers, ATaskThatMissesItsDeadlineIsCancelledAndSaysSo) {
  std::vector<Result<int>> results;
  std::vector<Result<void>> nothings;
  const Deadline deadline = Deadline::after(clock.now(), 1s);
  Started flattened{*loop, keep(with_deadline(deadline, answer_after(1h)), results)};
  Started wrapped{*loop, keep(with_deadline(deadline, plain_answer_after(1h)), results)};
  Started nothing{*loop, keep(with_deadline(deadline, nothing_after(1h)), nothings)};
  clock.advance(1s);
  loop->run_until_idle();
  ASSERT_EQ(results.size(), 2u);
  for (auto& result : results) EXPECT_EQ(result.status().code(), StatusCode::kDeadlineExceeded);
  ASSERT_EQ(nothings.size(), 1u);
  EXPECT_EQ(nothings[0].status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(loop->timers_armed(), 0u);
}

TEST_F(Timers, ADeadlineThatHasPassedEndsTheTaskBeforeItStarts) {
  std::vector<Result<int>> results;
  bool started = false;
  const auto must_not_start = [](bool& ran) -> Task<Result<int>> {
    ran = true;
    co_return 1;
  };
  Started task{*loop, keep(with_deadline(Deadline{clock.now()}, must_not_start(started)), results)};
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(started);
}

TEST_F(Timers, TheScopeInsideCarriesTheDeadlineAndHearsTheOuterCancel) {
  std::vector<Result<int>> results;
  Deadline seen;
  const auto look = [](Deadline& deadline) -> Task<Result<int>> {
    CancelScope* scope = co_await this_cancel_scope();
    deadline = scope->deadline();
    co_return co_await answer_after(1h);
  };
  CancelScope outer;
  outer.set_deadline(Deadline::after(clock.now(), 10s));
  Started task{*loop, keep(with_deadline(Deadline::after(clock.now(), 20s), look(seen)), results), &outer};
  EXPECT_EQ(seen, Deadline::after(clock.now(), 10s));
  outer.cancel(CancelReason::kPeerGone);
  loop->run_until_idle();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace weft
