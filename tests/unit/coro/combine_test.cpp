// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/combine.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "unit/coro/run.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/coro/yield.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::drain;
using testing::run;
using testing::Started;

Task<int> give(int value) {
  co_return value;
}
Task<int> give_later(int value, int turns) {
  for (int turn = 0; turn < turns; ++turn) co_await yield();
  co_return value;
}
Task<void> nothing() {
  co_return;
}
Task<int> throw_later(const char* what, int turns) {
  for (int turn = 0; turn < turns; ++turn) co_await yield();
  throw std::runtime_error(what);
}
Task<CancelReason> until_cancelled(Event* event) {
  Result<void> woken = co_await event->wait();
  CancelScope* scope = co_await this_cancel_scope();
  co_return woken.ok() ? CancelReason::kNone : scope->reason();
}
Task<void> note_when_cancelled(Event* event, bool* noted) {
  Result<void> woken = co_await event->wait();
  if (!woken.ok()) {
    co_await yield();  // ending takes time
    co_await yield();
    *noted = true;
  }
}

class CombineTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(frames_alive(), frames_before_); }

  std::int64_t frames_before_ = frames_alive();
  Executor executor_;
  Executor::Enter entered_{executor_};
};

using WhenAll = CombineTest;

/// An awaitable of a user's: no Task, ends at once, and knows how often it was moved.
struct AtOnce {
  explicit AtOnce(int* moves) : moves_(moves) {}
  AtOnce(AtOnce&& other) noexcept : moves_(other.moves_) { ++*moves_; }
  bool await_ready() const { return true; }
  void await_suspend(std::coroutine_handle<>) const {}
  int await_resume() const { return 9; }

 private:
  int* moves_;
};
/// One that is awaited by an operator, and gives a reference.
struct ByOperator {
  struct Reference {
    int& number;
    bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) const {}
    int& await_resume() const { return number; }
  };
  int& number;
  Reference operator co_await() && { return {number}; }
};

static_assert(Awaitable<Task<int>> && Awaitable<AtOnce> && Awaitable<ByOperator> && Awaitable<YieldAwaiter>);
static_assert(!Awaitable<int> && !Awaitable<std::vector<Task<int>>> && !Awaitable<Task<int>&>);
static_assert(std::is_same_v<AwaitResult<ByOperator>, int> && std::is_void_v<AwaitResult<YieldAwaiter>>);

TEST_F(WhenAll, TakesWhatIsNoTask) {
  int moves = 0;
  int number = 3;
  auto all = [](int* counted, int* referred) -> Task<int> {
    ByOperator refers{*referred};
    auto [task, own, by_operator, nothing_at_all] =
        co_await when_all(give_later(1, 2), AtOnce(counted), std::move(refers), yield());
    static_assert(std::is_same_v<decltype(nothing_at_all), std::monostate>);
    co_return task * 100 + own * 10 + by_operator;
  };
  EXPECT_EQ(run(executor_, all(&moves, &number)), 193);
  EXPECT_LE(moves, 2) << "into the task's parameter, and from there into its frame";
}

TEST_F(WhenAll, WaitsForEventsAndOwnsItsPlaceInTheirQueues) {
  Event first;
  Event second;
  auto both = [](Event* one, Event* other) -> Task<bool> {
    auto [a, b] = co_await when_all(one->wait(), other->wait());
    co_return a.ok() && b.ok();
  };
  Started<bool> waiting{both(&first, &second)};
  first.set();
  drain(executor_);
  EXPECT_FALSE(waiting.ended());
  second.set();
  drain(executor_);
  ASSERT_TRUE(waiting.ended());
  EXPECT_TRUE(waiting.result());
  second.reset();
  Started<bool> dropped{both(&first, &second)};
  dropped.drop();
}

TEST_F(WhenAll, TakesAVectorOfWhatIsNoTask) {
  int moves = 0;
  std::vector<AtOnce> several;
  several.reserve(3);
  for (int i = 0; i < 3; ++i) several.emplace_back(&moves);
  EXPECT_EQ(run(executor_, when_all(std::move(several))), (std::vector<int>{9, 9, 9}));
}

TEST_F(WhenAll, WhatIsNoTaskIsOwnedWhenItIsAwaitedLater) {
  Event event;
  auto later = when_all(event.wait(), give(1));
  Started<std::tuple<Result<void>, int>> waiting{std::move(later)};
  event.set();
  drain(executor_);
  ASSERT_TRUE(waiting.ended());
  EXPECT_TRUE(std::get<0>(waiting.result()).ok());
}
using Races = CombineTest;
using Scopes = CombineTest;

TEST_F(WhenAll, GivesResultsOfDifferentTypesInOrderWhateverEndsFirst) {
  auto text = []() -> Task<std::unique_ptr<std::string>> { co_return std::make_unique<std::string>("text"); };
  auto [number, unit, owned] = run(executor_, when_all(give_later(1, 5), nothing(), text()));
  EXPECT_EQ(number, 1);
  EXPECT_EQ(unit, std::monostate{});
  EXPECT_EQ(*owned, "text");
}

TEST_F(WhenAll, OfAVectorGivesAVectorInOrder) {
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 50; ++i) tasks.push_back(give_later(i, 50 - i));
  std::vector<int> results = run(executor_, when_all(std::move(tasks)));
  ASSERT_EQ(results.size(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(run(executor_, when_all(std::vector<Task<int>>{})).empty());
}

TEST_F(WhenAll, RunsItsTasksAtTheSameTime) {
  Event first, second;
  auto meet = [](Event* mine, Event* other) -> Task<void> {
    mine->set();
    Result<void> met = co_await other->wait();
    EXPECT_TRUE(met.ok());
  };
  std::vector<Task<void>> tasks;
  tasks.push_back(meet(&first, &second));
  tasks.push_back(meet(&second, &first));
  run(executor_, when_all(std::move(tasks)));
}

TEST_F(WhenAll, WaitsForAllAndThenRethrowsWhatWasThrownFirst) {
  bool slow_ended = false;
  auto slow = [](bool* ended) -> Task<int> {
    for (int turn = 0; turn < 9; ++turn) co_await yield();
    *ended = true;
    co_return 0;
  };
  auto caught = [](Task<std::tuple<int, int, int>> all) -> Task<std::string> {
    std::string text;
    try {
      auto never = co_await std::move(all);
      text = std::to_string(std::get<0>(never));
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    co_return text;
  };
  EXPECT_EQ(
      run(executor_, caught(when_all(throw_later("second", 4), throw_later("first", 2), slow(&slow_ended)))),
      "first");
  EXPECT_TRUE(slow_ended);
}

TEST_F(WhenAll, PassesTheCancelOnToEveryTask) {
  Event never;
  CancelScope scope;
  Started<std::tuple<CancelReason, CancelReason>> task(
      when_all(until_cancelled(&never), until_cancelled(&never)), &scope);
  scope.cancel(CancelReason::kDeadline);
  drain(executor_);
  ASSERT_TRUE(task.ended());
  EXPECT_EQ(task.result(), (std::tuple{CancelReason::kDeadline, CancelReason::kDeadline}));
}

TEST_F(WhenAll, DroppedWhileItWaitsDropsItsTasks) {
  Event never;
  Started<std::tuple<CancelReason, int>> task(when_all(until_cancelled(&never), give_later(1, 3)));
  task.drop();
  EXPECT_EQ(frames_alive(), frames_before_);
  EXPECT_FALSE(executor_.has_ready());
}

TEST_F(Races, CancelsTheLosersAndWaitsForThem) {
  Event never;
  bool loser_ended = false;
  auto winner = run(executor_, race(note_when_cancelled(&never, &loser_ended), give_later(7, 2)));
  EXPECT_EQ(winner.index, 1U);
  EXPECT_EQ(std::get<1>(winner.value), 7);
  EXPECT_TRUE(loser_ended);
}

TEST_F(Races, OfOneTypeGivesThatType) {
  RaceWinner<int> winner = run(executor_, race(give_later(1, 3), give_later(2, 1), give_later(3, 2)));
  EXPECT_EQ(winner.index, 1U);
  EXPECT_EQ(winner.value, 2);
}

TEST_F(Races, OfAVectorGivesTheFirstToEnd) {
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 10; ++i) tasks.push_back(give_later(i * 100, 20 - i));
  RaceWinner<int> winner = run(executor_, race(std::move(tasks)));
  EXPECT_EQ(winner.index, 9U);
  EXPECT_EQ(winner.value, 900);
}

TEST_F(Races, DoesNotStartWhoComesAfterASynchronousWinner) {
  auto mark = [](bool* ran) -> Task<int> {
    *ran = true;
    co_return 0;
  };
  bool started = false;
  RaceWinner<int> winner = run(executor_, race(give(5), mark(&started)));
  EXPECT_EQ(winner.value, 5);
  EXPECT_FALSE(started);
}

TEST_F(Races, RethrowsOnlyWhatTheWinnerThrew) {
  EXPECT_THROW(run(executor_, race(throw_later("winner", 1), give_later(1, 2))), std::runtime_error);
  RaceWinner<int> winner = run(executor_, race(throw_later("loser", 2), give_later(1, 1)));
  EXPECT_EQ(winner.index, 1U);
}

TEST_F(Races, EndsWhenItIsCancelledFromOutside) {
  Event never;
  CancelScope scope;
  Started<RaceWinner<CancelReason>> task(race(until_cancelled(&never), until_cancelled(&never)), &scope);
  scope.cancel(CancelReason::kPeerGone);
  drain(executor_);
  ASSERT_TRUE(task.ended());
  EXPECT_EQ(task.result().value, CancelReason::kPeerGone);
  EXPECT_EQ(scope.reason(), CancelReason::kPeerGone);
}

TEST_F(Races, DroppedWhileItWaitsDropsItsTasks) {
  Event never;
  CancelScope scope;
  Started<RaceWinner<CancelReason>> task(race(until_cancelled(&never), until_cancelled(&never)), &scope);
  task.drop();
  EXPECT_EQ(frames_alive(), frames_before_);
  scope.cancel(CancelReason::kRequested);
  EXPECT_FALSE(executor_.has_ready());
}

Task<void> join(Scope* scope, bool* joined) {
  co_await scope->join();
  *joined = true;
}

Task<void> refuse_to_begin(int) {
  throw std::runtime_error("there was no task yet");
}

TEST_F(Scopes, WhatThrowsBeforeThereIsATaskWasNotSpawned) {
  Scope scope;
  EXPECT_THROW(scope.spawn(&refuse_to_begin, 1), std::runtime_error);
  EXPECT_EQ(scope.count(), 0U);
  bool joined = false;
  Started<void> joiner(join(&scope, &joined));
  EXPECT_TRUE(joined);
}

TEST_F(Scopes, JoinWaitsForAllAndOwnsTheirArguments) {
  std::vector<std::string> said;
  Scope scope;
  {
    std::string text = "a text that is too long to sit inside the string object itself";
    auto speak = [](std::string words, std::vector<std::string>* to, int turns) -> Task<void> {
      for (int turn = 0; turn < turns; ++turn) co_await yield();
      to->push_back(std::move(words));
    };
    // Takes its text by reference: the scope keeps what it refers to.
    auto repeat = [](const std::string& words, std::vector<std::string>* to) -> Task<void> {
      co_await yield();
      to->push_back(words);
    };
    scope.spawn(speak, text, &said, 2);
    scope.spawn(speak, "literal", &said, 0);
    scope.spawn(repeat, text, &said);
  }
  EXPECT_EQ(said.size(), 1U) << "a spawned task starts at once";
  EXPECT_EQ(scope.count(), 2U);
  bool joined = false;
  Started<void> joiner(join(&scope, &joined));
  EXPECT_FALSE(joined);
  drain(executor_);
  EXPECT_TRUE(joined);
  EXPECT_EQ(scope.count(), 0U);
  EXPECT_EQ(said, (std::vector<std::string>{
                      "literal", "a text that is too long to sit inside the string object itself",
                      "a text that is too long to sit inside the string object itself"}));
}

TEST_F(Scopes, TakesFunctionPointersMemberFunctionsAndMoveOnlyArguments) {
  struct Actor {
    long sum = 0;
    Task<void> add(std::unique_ptr<int> number) {
      co_await yield();
      sum += *number;
    }
    static Task<void> twice(Actor* actor, int number) {
      actor->sum += 2 * number;
      co_return;
    }
  };
  Actor actor;
  Scope scope;
  scope.spawn(&Actor::add, &actor, std::make_unique<int>(5));
  scope.spawn(&Actor::twice, &actor, 10);
  drain(executor_);
  EXPECT_EQ(actor.sum, 25);
}

TEST_F(Scopes, CancelReachesTasksOfNowAndLater) {
  Event never;
  CancelReason first = CancelReason::kNone, late = CancelReason::kNone;
  auto record = [](Event* event, CancelReason* to) -> Task<void> { *to = co_await until_cancelled(event); };
  CancelScope parent;
  Scope scope(&parent);
  scope.spawn(record, &never, &first);
  scope.cancel(CancelReason::kScopeClosed);
  scope.spawn(record, &never, &late);
  drain(executor_);
  EXPECT_EQ(first, CancelReason::kScopeClosed);
  EXPECT_EQ(late, CancelReason::kScopeClosed);
  EXPECT_FALSE(parent.cancelled());
  EXPECT_EQ(scope.count(), 0U);
}

TEST_F(Scopes, ATaskMaySpawnIntoItsOwnScope) {
  int spawned = 0;
  struct Grow {
    static Task<void> more(Scope* scope, int left, int* count) {
      co_await yield();
      ++*count;
      if (left > 0) scope->spawn(&Grow::more, scope, left - 1, count);
    }
  };
  auto whole = [](int* count) -> Task<void> {
    Scope scope;
    scope.spawn(&Grow::more, &scope, 9, count);
    co_await scope.join();
  };
  run(executor_, whole(&spawned));
  EXPECT_EQ(spawned, 10);
}

TEST_F(Scopes, JoinOfAnEmptyScopeDoesNotSuspend) {
  Scope scope;
  bool joined = false;
  Started<void> joiner(join(&scope, &joined));
  EXPECT_TRUE(joined);
}

TEST_F(Scopes, DropAllDestroysTasksWhereTheyStand) {
  Event never;
  Scope scope;
  auto record = [](Event* event, std::shared_ptr<int> held) -> Task<void> {
    *held = static_cast<int>(co_await until_cancelled(event));
  };
  auto witness = std::make_shared<int>(0);
  for (int i = 0; i < 3; ++i) scope.spawn(record, &never, witness);
  EXPECT_EQ(witness.use_count(), 4);
  scope.drop_all();
  EXPECT_EQ(witness.use_count(), 1);
  EXPECT_EQ(scope.count(), 0U);
}

using ScopeDeathTest = Scopes;
TEST_F(ScopeDeathTest, DestroyingAScopeWithTasksAsserts) {
  EXPECT_DEATH(
      {
        Event never;
        bool noted = false;
        Scope scope;
        scope.spawn(note_when_cancelled, &never, &noted);
      },
      "joined");
}

TEST_F(ScopeDeathTest, AnExceptionThatLeavesASpawnedTaskTerminatesWithItsText) {
  auto thrower = []() -> Task<void> {
    co_await yield();
    throw std::runtime_error("nobody catches this");
  };
  EXPECT_DEATH(
      {
        Scope scope;
        scope.spawn(thrower);
        drain(executor_);
      },
      "left a spawned task: nobody catches this");
}

}  // namespace
}  // namespace weft
