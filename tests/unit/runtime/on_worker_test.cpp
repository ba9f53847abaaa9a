// SPDX-License-Identifier: Apache-2.0
// CR-25: off the loop and back. Functions that coroutines hand to the threads of a pool, and what becomes of
// them when the coroutine, its loop or the pool ends first.
#include "weft/detail/runtime/on_worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/coro/with_scope.hpp"
#include "weft/detail/runtime/with_deadline.hpp"

namespace weft::on_worker_tests {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Counts how many of it there are.
struct Counted {
  explicit Counted(std::atomic<int>& count) : alive(&count) { ++*alive; }
  Counted(const Counted& other) : alive(other.alive) { ++*alive; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive; }
  std::atomic<int>* alive;
};

/// Holds a thread of a pool up.
struct Gate {
  std::latch entered{1};
  std::latch open{1};
  void pass() {
    entered.count_down();
    open.wait();
  }
};

class OnWorker : public ::testing::Test {
 protected:
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<WorkerPool> pool_ =
      WorkerPool::start({.name = "test", .threads = 1, .queue_max = 2}).value();
};

Task<void> store_result(WorkerPool* pool, Gate* gate, std::vector<Result<int>>* results) {
  Result<int> result = co_await on_worker(*pool, [gate] {
    gate->pass();
    return 1;
  });
  results->push_back(std::move(result));
}
Task<void> store_quick(WorkerPool* pool, Counted counted, std::vector<Result<int>>* results) {
  Result<int> result = co_await on_worker(*pool, [](const Counted&) { return 2; }, counted);
  results->push_back(std::move(result));
}

TEST_F(OnWorker, GivesTheResultBackToTheCoroutinesLoop) {
  loop_->block_on([](WorkerPool& pool) -> Task<void> {
    const std::thread::id here = std::this_thread::get_id();
    int number = 20;
    const Result<int> sum = co_await on_worker(pool, [&] {
      EXPECT_NE(std::this_thread::get_id(), here);
      EXPECT_EQ(Loop::current(), nullptr);
      return number + 1;
    });
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_EQ(sum.value(), 21);

    const Result<void> nothing = co_await on_worker(pool, [&] { number = 5; });
    EXPECT_TRUE(nothing.ok());
    EXPECT_EQ(number, 5);

    const Result<int> failed = co_await on_worker(
        pool, []() -> Result<int> { return user_error(3, "no such block", StatusCode::kNotFound); });
    EXPECT_EQ(failed.status().code(), StatusCode::kNotFound);
    EXPECT_EQ(failed.status().native(), 3);

    std::string text = "owned";
    auto pointer = std::make_unique<int>(7);
    const Result<std::string> both = co_await on_worker(
        pool, [](std::string its, std::unique_ptr<int> given) { return its + std::to_string(*given); },
        std::move(text), std::move(pointer));
    EXPECT_EQ(both.value(), "owned7");
  }(*pool_));
  EXPECT_EQ(pool_->stats().ran, 4);
  EXPECT_EQ(pool_->stats().waiting + pool_->stats().running, 0);
}

TEST_F(OnWorker, TakesAnyFunctionThatHasAName) {
  loop_->block_on([](WorkerPool& pool) -> Task<void> {
    const std::function<std::string()> named = [text = std::string(100, 'x')] { return text; };
    const Result<std::string> text = co_await on_worker(pool, named);
    EXPECT_EQ(text.value().size(), 100);
    const Result<std::size_t> length = co_await on_worker(pool, &std::string::size, std::string("four"));
    EXPECT_EQ(length.value(), 4);
  }(*pool_));
}

TEST_F(OnWorker, ThrowsHereWhatTheFunctionThrew) {
  loop_->block_on([](WorkerPool& pool) -> Task<void> {
    std::string caught;
    try {
      const Result<int> never = co_await on_worker(pool, []() -> int { throw std::runtime_error{"disk"}; });
      EXPECT_TRUE(false) << never.ok();
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    EXPECT_EQ(caught, "disk");
    caught.clear();
    try {
      const Result<void> never = co_await on_worker(pool, [] { throw std::bad_alloc{}; });
      EXPECT_TRUE(false) << never.ok();
    } catch (const std::bad_alloc&) {
      caught = "no memory";
    }
    EXPECT_EQ(caught, "no memory");
  }(*pool_));
}

TEST_F(OnWorker, IsAnAwaitableLikeAnyOther) {
  const Result<int> alone = loop_->block_on(on_worker(*pool_, [] { return 1; }));
  EXPECT_EQ(alone.value(), 1);
  auto both = loop_->block_on(
      when_all(on_worker(*pool_, [] { return 2; }), on_worker(*pool_, [] { return std::string("three"); })));
  EXPECT_EQ(std::get<0>(both).value(), 2);
  EXPECT_EQ(std::get<1>(both).value(), "three");
  const auto soon = Deadline::after(loop_->clock().now(), 1h);
  EXPECT_EQ(loop_->block_on(with_deadline(soon, on_worker(*pool_, [] { return 4; }))).value(), 4);
}

TEST_F(OnWorker, NamesItsThreadsAndKeepsTheirNumbers) {
  const auto name_on = [this](WorkerPool& pool) {
    return loop_
        ->block_on(on_worker(pool,
                             [] {
                               std::array<char, 16> name{};
                               ::pthread_getname_np(::pthread_self(), name.data(), name.size());
                               return std::string{name.data()};
                             }))
        .value();
  };
  EXPECT_EQ(name_on(*pool_), "test-0");
  const auto other = WorkerPool::start({.name = "a name that is too long", .threads = 1}).value();
  EXPECT_EQ(name_on(*other), "a name that i-0");
}

TEST_F(OnWorker, RefusesWhatItsQueueHasNoPlaceFor) {
  Gate gate;
  Scope scope;
  std::atomic<int> alive = 0;
  std::vector<Result<int>> results;
  loop_->post([&] { scope.spawn(&store_result, pool_.get(), &gate, &results); });
  loop_->run_once(0s);
  gate.entered.wait();
  loop_->post([&] {
    for (int i = 0; i < 3; ++i) scope.spawn(&store_quick, pool_.get(), Counted{alive}, &results);
  });
  loop_->run_once(0s);
  ASSERT_EQ(results.size(), 1) << "two wait, the third is refused at once";
  EXPECT_EQ(results[0].status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string{results[0].status().message()}, HasSubstr("queue_max"));
  EXPECT_EQ(pool_->stats().refused, 1);
  EXPECT_EQ(pool_->stats().waiting, 2);
  gate.open.count_down();
  loop_->block_on(scope.join());
  EXPECT_EQ(results.size(), 4);
  EXPECT_EQ(alive, 0);
}

TEST_F(OnWorker, RefusesNothingThatAnIdleThreadIsAboutToTake) {
  const auto pool = WorkerPool::start({.threads = 3, .queue_max = 1}).value();
  std::array<Gate, 4> gates;
  Gate unused;
  Scope scope;
  std::vector<Result<int>> results;
  loop_->post([&] {
    for (Gate& gate : gates) scope.spawn(&store_result, pool.get(), &gate, &results);
    scope.spawn(&store_result, pool.get(), &unused, &results);
  });
  loop_->run_once(0s);
  ASSERT_EQ(results.size(), 1) << "three are for the threads, one waits, and the fifth is refused";
  EXPECT_EQ(results[0].status().code(), StatusCode::kResourceExhausted);
  for (std::size_t i = 0; i < 3; ++i) gates[i].entered.wait();
  EXPECT_EQ(pool->stats().waiting, 1);
  for (Gate& gate : gates) gate.open.count_down();
  loop_->block_on(scope.join());
  EXPECT_EQ(results.size(), 5);
}

TEST_F(OnWorker, WhatWaitsWhenItIsCancelledIsTakenBackAtOnceAndNeverRuns) {
  Gate gate;
  Scope scope;
  Scope cancelled;
  std::atomic<int> alive = 0;
  std::vector<Result<int>> results;
  loop_->post([&] { scope.spawn(&store_result, pool_.get(), &gate, &results); });
  loop_->run_once(0s);
  gate.entered.wait();
  loop_->post([&] { cancelled.spawn(&store_quick, pool_.get(), Counted{alive}, &results); });
  loop_->run_once(0s);
  EXPECT_GT(alive, 0);
  cancelled.cancel(CancelReason::kRequested);
  loop_->block_on(cancelled.join());
  ASSERT_EQ(results.size(), 1);
  EXPECT_EQ(results[0].status().code(), StatusCode::kCancelled);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(pool_->stats().withdrawn, 1);
  EXPECT_EQ(pool_->stats().waiting, 0);
  gate.open.count_down();
  loop_->block_on(scope.join());
  EXPECT_EQ(pool_->stats().ran, 1);
}

TEST_F(OnWorker, WhatRunsWhenItIsCancelledIsWaitedForAndGivesItsResult) {
  Gate gate;
  Scope scope;
  std::vector<Result<int>> results;
  loop_->post([&] { scope.spawn(&store_result, pool_.get(), &gate, &results); });
  loop_->run_once(0s);
  gate.entered.wait();
  scope.cancel(CancelReason::kRequested);
  loop_->run_once(0s);
  EXPECT_EQ(scope.count(), 1) << "it may still look at what it was lent";
  gate.open.count_down();
  loop_->block_on(scope.join());
  EXPECT_EQ(results.at(0).value(), 1);
}

Task<void> store_when_stopped(WorkerPool* pool, std::latch* entered, std::vector<Result<int>>* results) {
  Result<int> result = co_await on_worker(
      *pool,
      [](const std::stop_token& stop, std::latch* its) {
        std::latch stopped{1};
        const std::stop_callback wake{stop, [&stopped] { stopped.count_down(); }};
        its->count_down();
        stopped.wait();
        return 9;
      },
      entered);
  results->push_back(std::move(result));
}

TEST_F(OnWorker, WhatRunsMayAskForAStopToken) {
  for (const CancelReason reason : {CancelReason::kStopping, CancelReason::kDeadline}) {
    std::latch entered{1};
    Scope scope;
    std::vector<Result<int>> results;
    loop_->post([&] { scope.spawn(&store_when_stopped, pool_.get(), &entered, &results); });
    loop_->run_once(0s);
    entered.wait();
    scope.cancel(reason);
    loop_->block_on(scope.join());
    EXPECT_EQ(results.at(0).value(), 9) << "it ended by itself";
  }
}

TEST_F(OnWorker, IsNotHandedOverForACoroutineThatIsCancelledAlready) {
  loop_->block_on([](WorkerPool& pool) -> Task<void> {
    CancelScope scope;
    scope.cancel(CancelReason::kPeerGone);
    const Result<int> result = co_await with_scope(scope, [](WorkerPool* its) -> Task<Result<int>> {
      co_return co_await on_worker(*its, [] { return 1; });
    }(&pool));
    EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
  }(*pool_));
  EXPECT_EQ(pool_->stats().ran, 0);
}

TEST_F(OnWorker, CoroutinesThatAreDroppedLeaveNothingBehind) {
  Gate gate;
  std::atomic<int> alive = 0;
  std::vector<Result<int>> results;
  {
    Scope scope;
    loop_->post([&] {
      scope.spawn(&store_result, pool_.get(), &gate, &results);
      scope.spawn(&store_quick, pool_.get(), Counted{alive}, &results);
    });
    loop_->run_once(0s);
    gate.entered.wait();
    scope.drop_all();
  }
  EXPECT_EQ(alive, 0) << "it had not begun";
  gate.open.count_down();
  // Another one behind it: the first has ended by then.
  EXPECT_EQ(loop_->block_on(on_worker(*pool_, [] { return 3; })).value(), 3);
  EXPECT_TRUE(results.empty());
}

TEST_F(OnWorker, ALoopMayEndWhileAFunctionOfItRuns) {
  std::atomic<int> alive = 0;
  std::atomic<bool> ended = false;
  Gate gate;
  {
    auto own = Loop::create().value();
    Scope scope;
    own->post([&] {
      scope.spawn(
          [](WorkerPool* pool, Gate* its, Counted counted, std::atomic<bool>* flag) -> Task<void> {
            const Result<void> never = co_await on_worker(
                *pool,
                [](Gate* passed, const Counted&, std::atomic<bool>* done) {
                  passed->pass();
                  *done = true;
                },
                its, counted, flag);
            EXPECT_TRUE(false) << never.ok();
          },
          pool_.get(), &gate, Counted{alive}, &ended);
    });
    own->run_once(0s);
    gate.entered.wait();
    scope.drop_all();
  }
  EXPECT_GT(alive, 0) << "its record lives as long as it runs";
  gate.open.count_down();
  EXPECT_EQ(loop_->block_on(on_worker(*pool_, [] { return 3; })).value(), 3);
  EXPECT_TRUE(ended);
  pool_.reset();
  EXPECT_EQ(alive, 0);
}

TEST_F(OnWorker, ALoopThatIsGoneTakesWhatCameForItAlong) {
  std::atomic<int> alive = 0;
  Gate gate;
  auto own = Loop::create().value();
  Scope scope;
  own->post([&] {
    scope.spawn(
        [](WorkerPool* pool, Gate* its, Counted counted) -> Task<void> {
          const Result<int> never = co_await on_worker(
              *pool,
              [](Gate* passed, const Counted&) {
                passed->pass();
                return 1;
              },
              its, counted);
          EXPECT_TRUE(false) << never.ok();
        },
        pool_.get(), &gate, Counted{alive});
  });
  own->run_once(0s);
  gate.entered.wait();
  gate.open.count_down();
  pool_.reset();  // it has told the loop
  scope.drop_all();
  EXPECT_GT(alive, 0) << "what was posted holds the record";
  own.reset();
  EXPECT_EQ(alive, 0);
}

TEST_F(OnWorker, APoolThatEndsGivesBackWhatWaitsAndWaitsForWhatRuns) {
  Gate gate;
  Scope scope;
  std::atomic<int> alive = 0;
  std::vector<Result<int>> results;
  loop_->post([&] { scope.spawn(&store_result, pool_.get(), &gate, &results); });
  loop_->run_once(0s);
  gate.entered.wait();
  loop_->post([&] { scope.spawn(&store_quick, pool_.get(), Counted{alive}, &results); });
  loop_->run_once(0s);
  std::thread ender{[this] { pool_.reset(); }};
  while (results.empty()) loop_->run_once(5ms);
  EXPECT_EQ(results[0].status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(scope.count(), 1);
  gate.open.count_down();
  loop_->block_on(scope.join());
  ender.join();
  EXPECT_EQ(results.at(1).value(), 1);
  EXPECT_EQ(alive, 0);
}

TEST_F(OnWorker, MisuseOfItsOptionsIsNamed) {
  EXPECT_THAT(std::string{WorkerPool::start({.threads = static_cast<unsigned>(-1)}).status().message()},
              HasSubstr("WorkerPoolOptions::threads: 4294967295 threads"));
  EXPECT_THAT(std::string{WorkerPool::start({.threads = 0}).status().message()},
              StartsWith("WorkerPoolOptions::threads: "));
  EXPECT_THAT(std::string{WorkerPool::start({.queue_max = 0}).status().message()},
              StartsWith("WorkerPoolOptions::queue_max: "));
}

TEST_F(OnWorker, ManyLoopsShareAPoolAndCancelsMeetEndsAnyhow) {
  constexpr int kLoops = 4;
  constexpr int kRounds = 400;
  auto pool = WorkerPool::start({.name = "stress", .threads = 3, .queue_max = 64}).value();
  std::atomic<int> alive = 0;
  std::atomic<int> ended = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kLoops; ++t) {
    threads.emplace_back([&, t] {
      const auto own = Loop::create().value();
      for (int round = 0; round < kRounds; ++round) {
        Scope scope;
        own->post([&] {
          for (int i = 0; i < 4; ++i) {
            scope.spawn(
                [](WorkerPool* its, Counted counted, std::atomic<int>* count) -> Task<void> {
                  const Result<int> result = co_await on_worker(
                      *its,
                      [](const std::stop_token& stop, const Counted&) {
                        return stop.stop_requested() ? 1 : 2;
                      },
                      counted);
                  EXPECT_TRUE(!result.ok() || *result > 0);
                  ++*count;
                },
                pool.get(), Counted{alive}, &ended);
          }
        });
        own->run_once(0s);
        for (int turns = (round + t) % 3; turns > 0; --turns) own->run_once(0s);
        if (round % 3 == 0) {
          scope.drop_all();
          continue;
        }
        if (round % 3 == 1) scope.cancel(CancelReason::kRequested);
        own->block_on(scope.join());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(ended, 0);
  EXPECT_EQ(pool->stats().waiting, 0);
  pool.reset();
  EXPECT_EQ(alive, 0);
}

TEST_F(OnWorker, APoolMayEndWhileCoroutinesAreDroppedAndCancelled) {
  std::atomic<int> alive = 0;
  std::vector<Result<int>> results;
  for (int round = 0; round < 300; ++round) {
    auto pool = WorkerPool::start({.name = "ends", .threads = 2}).value();
    Scope scope;
    loop_->post([&] {
      for (int i = 0; i < 32; ++i) scope.spawn(&store_quick, pool.get(), Counted{alive}, &results);
    });
    loop_->run_once(0s);
    std::thread ender{[&pool] { pool.reset(); }};
    if (round % 3 == 0) scope.drop_all();
    if (round % 3 == 1) scope.cancel(CancelReason::kRequested);
    loop_->block_on(scope.join());
    ender.join();
    loop_->run_until_idle();
    EXPECT_EQ(alive, 0);
  }
  for (const Result<int>& result : results) {
    EXPECT_TRUE(result.ok() || result.status().code() == StatusCode::kUnavailable ||
                result.status().code() == StatusCode::kCancelled)
        << result.status().to_string();
  }
}

using OnWorkerDeathTest = OnWorker;
TEST_F(OnWorkerDeathTest, OutsideOfATurnItHasNowhereToComeBackTo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        detail::Executor executor;
        const detail::Executor::Enter entered{executor};
        Scope scope;
        Gate gate;
        std::vector<Result<int>> results;
        scope.spawn(&store_result, pool_.get(), &gate, &results);
      },
      "on_worker\\(\\) is awaited inside a turn of a Loop");
}

}  // namespace
}  // namespace weft::on_worker_tests
