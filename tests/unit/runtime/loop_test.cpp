// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/loop.hpp"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/runtime/loops.hpp"
#include "weft/detail/coro/yield.hpp"
#include "weft/detail/runtime/loop_thread.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::CallbackTimer;
using testing::make_loop;

using Log = std::vector<std::string>;

class Hook final : public TurnEndHook {
 public:
  explicit Hook(UniqueFunction<void()> action) : action_(std::move(action)) {}
  void on_turn_end() override { action_(); }

 private:
  UniqueFunction<void()> action_;
};

class CallbackReady final : public Ready {
 public:
  explicit CallbackReady(UniqueFunction<void()> action)
      : Ready([](Ready* self) noexcept { static_cast<CallbackReady*>(self)->action_(); }),
        action_(std::move(action)) {}

 private:
  UniqueFunction<void()> action_;
};

TEST(Loop, ATurnRunsPostedWorkThenTimersThenReadyThenHooks) {
  ManualClock clock;
  auto loop = make_loop({.clock = &clock});
  Log log;
  Hook hook{[&] { log.push_back("hook"); }};
  CallbackTimer timer{[&] { log.push_back("timer"); }};
  CallbackReady ready{[&] { log.push_back("ready"); }};
  loop->at_turn_end(hook);
  loop->schedule(ready);
  loop->arm(timer, clock.now());
  loop->post([&] { log.push_back("post"); });
  EXPECT_TRUE(loop->run_once(Duration::zero()));
  EXPECT_EQ(log, (Log{"post", "timer", "ready", "hook"}));
  EXPECT_FALSE(loop->run_once(Duration::zero()));
}

TEST(Loop, PostsOfOneThreadRunInTheirOrderAndThoseMadeMeanwhileInTheNextTurn) {
  auto loop = make_loop({.mode = WaitMode::kBusy});
  Log log;
  for (const char* name : {"a", "b", "c"}) {
    loop->post([&log, &loop, name] {
      log.push_back(name);
      loop->post([&log, name] { log.push_back(std::string{name} + "2"); });
    });
  }
  loop->run_once(Duration::zero());
  EXPECT_EQ(log, (Log{"a", "b", "c"}));
  loop->run_once(Duration::zero());
  EXPECT_EQ(log, (Log{"a", "b", "c", "a2", "b2", "c2"}));
}

TEST(Loop, WhatAHookQueuesRunsInTheNextTurn) {
  auto loop = make_loop();
  int runs = 0;
  Hook* self = nullptr;
  Hook hook{[&] {
    if (++runs < 3) loop->at_turn_end(*self);
  }};
  self = &hook;
  loop->at_turn_end(hook);
  loop->at_turn_end(hook);
  EXPECT_TRUE(hook.queued());
  loop->run_once(Duration::zero());
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(loop->run_until_idle(), 2u);
  EXPECT_EQ(runs, 3);
  EXPECT_FALSE(hook.queued());
}

// Whoever holds something back until the others have sent need not wait for a turn that may never come.
TEST(Loop, LastHooksRunBehindTheOthersInTheSameTurnAlsoWhenTheseQueueThem) {
  ManualClock clock;
  auto loop = make_loop({.clock = &clock});
  Log log;
  Hook last{[&] { log.push_back("last"); }};
  Hook queued_by_a_hook{[&] { log.push_back("last too"); }};
  Hook other{[&] {
    log.push_back("other");
    loop->at_turn_end(queued_by_a_hook, true);
  }};
  loop->at_turn_end(last, true);
  loop->at_turn_end(other);
  loop->run_once(Duration::zero());
  EXPECT_EQ(log, (Log{"other", "last", "last too"}));
}

TEST(Loop, AHookThatEndsLeavesTheQueueEvenFromAnotherHook) {
  auto loop = make_loop();
  int runs = 0;
  auto victim = std::make_unique<Hook>([&] { ++runs; });
  Hook first{[&] { victim.reset(); }};
  loop->at_turn_end(first);
  loop->at_turn_end(*victim);
  EXPECT_EQ(loop->run_until_idle(), 1u);
  EXPECT_EQ(runs, 0);
}

TEST(Loop, ATurnRunsNoMoreReadyWorkThanItsBudget) {
  auto loop = make_loop({.turn_budget = 3});
  int runs = 0;
  CallbackReady* self = nullptr;
  CallbackReady endless{[&] {
    ++runs;
    loop->schedule(*self);
  }};
  self = &endless;
  int posted = 0;
  loop->schedule(endless);
  loop->run_once(Duration::zero());
  EXPECT_EQ(runs, 3);
  loop->post([&] { ++posted; });
  loop->run_once(Duration::zero());
  EXPECT_EQ(posted, 1);
  loop->unschedule(endless);
}

TEST(Loop, KnowsWhetherItsTurnRunsOnThisThread) {
  auto loop = make_loop();
  EXPECT_EQ(Loop::current(), nullptr);
  EXPECT_FALSE(loop->in_turn());
  Loop* seen = nullptr;
  Executor* executor = nullptr;
  bool in_turn = false;
  loop->post([&] {
    seen = Loop::current();
    executor = Executor::current();
    in_turn = loop->in_turn();
  });
  loop->run_until_idle();
  EXPECT_EQ(seen, loop.get());
  EXPECT_EQ(executor, loop.get());
  EXPECT_TRUE(in_turn);
  EXPECT_EQ(Loop::current(), nullptr);
  EXPECT_EQ(Executor::current(), nullptr);
}

TEST(Loop, RunsUntilItIsStopped) {
  auto loop = make_loop({.turn_budget = 1});
  int turns = 0;
  CallbackReady* self = nullptr;
  CallbackReady counting{[&] {
    if (++turns == 5) loop->stop();
    loop->schedule(*self);
  }};
  self = &counting;
  loop->schedule(counting);
  loop->run();
  EXPECT_EQ(turns, 5);
  loop->unschedule(counting);
}

TEST(Loop, AStopBeforeRunLetsItReturnAtOnceAndIsThenTakenBack) {
  auto loop = make_loop();
  loop->stop();
  loop->run();
  EXPECT_EQ(loop->stats().turns, 0u);
  loop->post([&] { loop->stop(); });
  loop->run();
  EXPECT_EQ(loop->stats().turns, 1u);
}

TEST(Loop, TimeStandsStillWithinATurn) {
  ManualClock clock;
  auto loop = make_loop({.clock = &clock});
  const TimePoint before = loop->now();
  TimePoint inside{};
  loop->post([&] {
    clock.advance(std::chrono::seconds{1});
    inside = loop->now();
  });
  loop->run_until_idle();
  EXPECT_EQ(inside, before);
  EXPECT_EQ(loop->now(), before + std::chrono::seconds{1});
}

Task<int> yields_and_adds(int a, int b) {
  co_await yield();
  co_return a + b;
}

Task<int> throws_later() {
  co_await yield();
  throw std::runtime_error("from the task");
}

TEST(Loop, BlockOnGivesTheTasksResult) {
  auto loop = make_loop();
  EXPECT_EQ(loop->block_on(yields_and_adds(2, 3)), 5);
}

TEST(Loop, BlockOnThrowsWhatTheTaskThrows) {
  auto loop = make_loop();
  EXPECT_THROW(loop->block_on(throws_later()), std::runtime_error);
}

TEST(Loop, WhatWasPostedAndNeverRanIsDestroyedWithTheLoop) {
  auto token = std::make_shared<int>(0);
  auto loop = make_loop();
  loop->post([token] { FAIL() << "must not run"; });
  EXPECT_EQ(token.use_count(), 2);
  loop.reset();
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Loop, TimersHooksAndChunksOfDroppedPostsMayEndWithTheLoop) {
  auto loop = make_loop();
  auto timer = std::make_unique<CallbackTimer>([] {});
  loop->arm(*timer, loop->now() + std::chrono::hours{1});
  loop->post([timer = std::move(timer), chunk = loop->chunks().acquire()] {});
  loop.reset();
}

TEST(Loop, WhatOutlivesTheLoopIsUnlinkedFromIt) {
  auto loop = make_loop();
  CallbackTimer timer{[] {}};
  Hook hook{[] {}};
  loop->arm(timer, loop->now() + std::chrono::hours{1});
  loop->at_turn_end(hook);
  EXPECT_EQ(loop->timers_armed(), 1u);
  loop.reset();
  EXPECT_FALSE(timer.armed());
  EXPECT_FALSE(hook.queued());
}

TEST(Loop, GivesLargeChunksBackThatNobodyUses) {
  ManualClock clock;
  auto loop = make_loop({.clock = &clock});
  const auto pass = [&] {
    clock.advance(LoopChunks::kPeriod);
    loop->run_until_idle();
  };
  EXPECT_EQ(loop->next_timer(), std::nullopt);
  loop->chunks().acquire(1'000'000).reset();
  EXPECT_NE(loop->next_timer(), std::nullopt);
  EXPECT_EQ(loop->timers_armed(), 0u) << "without the loop's own";
  for (int period = 0; period < 3; ++period) {
    loop->chunks().acquire(1'000'000).reset();
    pass();
    EXPECT_GE(loop->chunks().cached_bytes(), 1'000'000u) << "it is used";
  }
  pass();
  EXPECT_EQ(loop->chunks().cached_bytes(), 0u);
  EXPECT_EQ(loop->next_timer(), std::nullopt) << "nothing is left to be given back";
  loop->chunks().acquire(1'000'000).reset();
  EXPECT_NE(loop->next_timer(), std::nullopt);
}

TEST(OptionsOfLoops, ThatLetNothingRunAreRefusedByName) {
  const auto refused = [](const LoopOptions& options, std::string_view name) {
    const auto loop = Loop::create(options);
    return !loop.ok() && loop.status().code() == StatusCode::kInvalidArgument &&
           loop.status().message().starts_with(name);
  };
  EXPECT_TRUE(refused({.turn_budget = 0}, "LoopOptions::turn_budget: "));
  EXPECT_TRUE(refused({.spin = Duration{-1}}, "LoopOptions::spin: "));
  EXPECT_TRUE(refused({.chunks = {.chunk_bytes = 0}}, "ChunkPoolOptions::chunk_bytes: "));
  EXPECT_TRUE(Loop::create({.spin = Duration::zero()}).ok());
}

TEST(LoopDeathTest, DrivingALoopFromInsideItsTurnIsAProgrammingError) {
  const auto drive_inside = [](auto&& drive) {
    auto loop = make_loop();
    loop->post([&] { drive(*loop); });
    loop->run_once(Duration::zero());
  };
  EXPECT_DEATH(drive_inside([](Loop& loop) { loop.run_once(Duration::zero()); }),
               "inside one of its own turns");
  EXPECT_DEATH(drive_inside([](Loop& loop) { loop.run(); }), "inside a turn");
  EXPECT_DEATH(
      drive_inside([](Loop& loop) { [[maybe_unused]] int sum = loop.block_on(yields_and_adds(1, 2)); }),
      "block_on inside a turn");
}

TEST(LoopDeathTest, DrivingALoopThatAnotherThreadRunsIsNotTakenForATurnOfItsOwn) {
  const auto drive = [](auto&& run) {
    auto thread = LoopThread::start().value();
    std::promise<void> runs;
    std::promise<void> ended;
    thread->loop().post([&] {
      runs.set_value();
      ended.get_future().wait();  // so the loop is inside a turn
    });
    runs.get_future().wait();
    run(thread->loop());
    ended.set_value();
  };
  constexpr const char* kWords = "weft: a loop was driven while another thread runs it: write weft::blocking";
  EXPECT_DEATH(drive([](Loop& loop) { [[maybe_unused]] int sum = loop.block_on(yields_and_adds(1, 2)); }),
               kWords);
  EXPECT_DEATH(drive([](Loop& loop) { loop.run(); }), kWords);
  EXPECT_DEATH(drive([](Loop& loop) { loop.run_once(Duration::zero()); }), kWords);
}

TEST(LoopDeathTest, AnExceptionThatEscapesPostedWorkEndsTheProcessWithItsText) {
  const auto escape = [](auto&& work) {
    auto loop = make_loop();
    loop->post(std::forward<decltype(work)>(work));
    loop->run_once(Duration::zero());
  };
  EXPECT_DEATH(escape([] { throw std::runtime_error("lost on the way"); }), "escaped.*lost on the way");
  EXPECT_DEATH(escape([] { throw 42; }), "escaped.*not derived");
}

TEST(Loop, KAutoIsEpoll) {
  EXPECT_EQ(make_loop()->poller_kind(), PollerKind::kEpoll);
}

TEST(Loop, AskingForIoUringGivesItOrAnExplanation) {
  auto loop = Loop::create({.poller = PollerKind::kIoUring});
  if (!loop.ok()) {
    EXPECT_EQ(loop.status().code(), StatusCode::kUnimplemented);
    EXPECT_NE(loop.status().message().find("liburing"), std::string_view::npos);
    return;
  }
  EXPECT_NE((*loop)->poller_kind(), PollerKind::kAuto);
}

}  // namespace
}  // namespace weft
