// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/task.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "unit/coro/run.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/yield.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::drain;
using testing::run;
using testing::Started;

class Tasks : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(frames_alive(), frames_before_); }

  std::int64_t frames_before_ = frames_alive();
  Executor executor_;
  Executor::Enter entered_{executor_};
};

Task<int> give(int value) {
  co_return value;
}
Task<void> note(bool* ran) {
  *ran = true;
  co_return;
}
Task<int> wait_then_give(Event* event, int value) {
  Result<void> woken = co_await event->wait();
  co_return woken.ok() ? value : -1;
}

TEST_F(Tasks, IsLazyAndDroppingItUnstartedRunsNothing) {
  bool ran = false;
  {
    // Kept on the heap, for a compiler may elide a frame whose life it sees.
    auto task = std::make_unique<Task<void>>(note(&ran));
    EXPECT_EQ(frames_alive(), frames_before_ + 1);
  }
  EXPECT_FALSE(ran);
}

TEST_F(Tasks, GivesMoveOnlyResults) {
  auto task = []() -> Task<std::unique_ptr<std::string>> {
    co_return std::make_unique<std::string>("moved");
  };
  EXPECT_EQ(*run(executor_, task()), "moved");
}

struct NoDefault {
  explicit NoDefault(int number) : value(number) {}
  int value;
};
TEST_F(Tasks, GivesResultsWithoutADefaultConstructor) {
  auto task = []() -> Task<NoDefault> { co_return NoDefault{7}; };
  EXPECT_EQ(run(executor_, task()).value, 7);
}

TEST_F(Tasks, MovingATaskMovesItsCoroutine) {
  Task<int> first = give(1);
  Task<int> second = std::move(first);
  EXPECT_FALSE(static_cast<bool>(first));  // NOLINT(bugprone-use-after-move): empty is promised
  second = give(2);
  EXPECT_EQ(run(executor_, std::move(second)), 2);
}

TEST_F(Tasks, AMillionSynchronousAwaitsUseNoStack) {
  auto loop = [](int count) -> Task<long> {
    long sum = 0;
    for (int i = 0; i < count; ++i) {
      int one = co_await give(1);
      sum += one;
    }
    co_return sum;
  };
  EXPECT_EQ(run(executor_, loop(1'000'000)), 1'000'000);
}

Task<int> chain(int depth, Event* bottom) {
  if (depth == 0) {
    int last = co_await wait_then_give(bottom, 0);
    co_return last;
  }
  int below = co_await chain(depth - 1, bottom);
  co_return below + 1;
}

TEST_F(Tasks, AChainOf100000TasksStartsSuspendsAndUnwindsOnAnOrdinaryStack) {
  Event bottom;
  Started<int> task(chain(100'000, &bottom));
  EXPECT_FALSE(task.ended());
  bottom.set();
  drain(executor_);
  ASSERT_TRUE(task.ended());
  EXPECT_EQ(task.result(), 100'000);
}

TEST_F(Tasks, ASynchronousChainOf100000TasksUsesNoStack) {
  Event bottom;
  bottom.set();
  EXPECT_EQ(run(executor_, chain(100'000, &bottom)), 100'000);
}

TEST_F(Tasks, AThrownExceptionReachesTheAwaiterThroughEveryLevel) {
  auto thrower = []() -> Task<int> {
    co_await yield();
    throw std::runtime_error("from below");
  };
  auto middle = [](Task<int> inner) -> Task<int> {
    int never = co_await std::move(inner);
    co_return never;
  };
  EXPECT_THROW(run(executor_, middle(thrower())), std::runtime_error);
  auto catcher = [](Task<int> inner) -> Task<std::string> {
    std::string caught;
    try {
      int never = co_await std::move(inner);
      caught = std::to_string(never);
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    co_return caught;
  };
  EXPECT_EQ(run(executor_, catcher(middle(thrower()))), "from below");
}

TEST_F(Tasks, DroppingASuspendedTaskDestroysItsWholeChainAndItsWait) {
  auto witness = std::make_shared<int>(0);
  auto holder = [](std::shared_ptr<int> held, Event* event) -> Task<int> {
    int got = co_await wait_then_give(event, 5);
    co_return got + *held;
  };
  Event event;
  Started<int> task(holder(witness, &event));
  EXPECT_EQ(witness.use_count(), 2);
  task.drop();
  EXPECT_EQ(witness.use_count(), 1);
  event.set();
  drain(executor_);
  EXPECT_FALSE(task.ended());
}

TEST_F(Tasks, DroppingATaskThatIsScheduledTakesItOutOfTheQueue) {
  auto yielder = []() -> Task<void> { co_await yield(); };
  Started<void> task(yielder());
  EXPECT_TRUE(executor_.has_ready());
  task.drop();
  EXPECT_FALSE(executor_.has_ready());
}

TEST_F(Tasks, YieldLetsEverythingThatIsReadyRunFirst) {
  std::string trace;
  auto worker = [](std::string* to, char name) -> Task<void> {
    for (int round = 0; round < 3; ++round) {
      to->push_back(name);
      co_await yield();
    }
  };
  Started<void> a(worker(&trace, 'a'));
  Started<void> b(worker(&trace, 'b'));
  Started<void> c(worker(&trace, 'c'));
  drain(executor_);
  EXPECT_EQ(trace, "abcabcabc");
}

TEST_F(Tasks, ACoroutineStartedInsideAnotherLeavesTheOuterOneUndisturbed) {
  // The inner one ends asynchronously while the outer one is in the middle of its own run.
  Event inner_event;
  auto inner = [](Event* event) -> Task<void> {
    int got = co_await wait_then_give(event, 1);
    EXPECT_EQ(got, 1);
  };
  auto outer = [](Task<void> child, Event* event) -> Task<std::string> {
    Started<void> started(std::move(child));
    event->set();
    co_await yield();
    EXPECT_TRUE(started.ended());
    int own = co_await give(4);
    co_return std::to_string(own);
  };
  EXPECT_EQ(run(executor_, outer(inner(&inner_event), &inner_event)), "4");
}

TEST_F(Tasks, ACoroutineOfAnotherKindCanAwaitATask) {
  struct Detached {
    struct promise_type {
      Detached get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
      std::suspend_always initial_suspend() { return {}; }
      std::suspend_always final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
  };
  Event event;
  int got = 0;
  auto body = [](Event* from, int* to) -> Detached {
    CancelScope* scope = co_await this_cancel_scope();
    EXPECT_EQ(scope, nullptr);
    *to = co_await wait_then_give(from, 9);
  };
  Detached foreign = body(&event, &got);
  resume(foreign.handle);
  EXPECT_EQ(got, 0);
  event.set();
  drain(executor_);
  EXPECT_EQ(got, 9);
  foreign.handle.destroy();
}

TEST_F(Tasks, AWaiterResumesOnTheExecutorItSuspendedOn) {
  Event event;
  Executor other;
  Executor* resumed_on = nullptr;
  auto waiter = [](Event* on, Executor** seen) -> Task<void> {
    Result<void> woken = co_await on->wait();
    EXPECT_TRUE(woken.ok());
    *seen = Executor::current();
  };
  Started<void> task(waiter(&event, &resumed_on));
  {
    Executor::Enter entered(other);
    event.set();
    EXPECT_FALSE(other.has_ready());
  }
  drain(executor_);
  EXPECT_EQ(resumed_on, &executor_);
}

TEST(Executor, RunsNodesInOrderAndAtMostTheBudget) {
  struct Node : Ready {
    explicit Node(std::vector<int>* into, int number)
        : Ready([](Ready* self) noexcept {
            auto* node = static_cast<Node*>(self);
            node->order->push_back(node->id);
          }),
          order(into),
          id(number) {}
    std::vector<int>* order;
    int id;
  };
  std::vector<int> order;
  Executor executor;
  Node one(&order, 1), two(&order, 2), three(&order, 3), four(&order, 4);
  for (Node* node : {&one, &two, &three, &four}) executor.schedule(*node);
  executor.unschedule(two);
  executor.unschedule(two);
  EXPECT_EQ(executor.run_ready(2), 2U);
  EXPECT_EQ(order, (std::vector{1, 3}));
  EXPECT_TRUE(executor.has_ready());
  EXPECT_EQ(executor.run_ready(100), 1U);
  EXPECT_EQ(order, (std::vector{1, 3, 4}));
  EXPECT_EQ(Executor::current(), nullptr);
}

TEST(Executor, EnterNestsAndRestores) {
  Executor outer, inner;
  {
    Executor::Enter first(outer);
    {
      Executor::Enter second(inner);
      EXPECT_EQ(Executor::current(), &inner);
    }
    EXPECT_EQ(Executor::current(), &outer);
  }
  EXPECT_EQ(Executor::current(), nullptr);
}

using TaskDeathTest = Tasks;
TEST_F(TaskDeathTest, AwaitingATaskTwiceAsserts) {
  auto twice = []() -> Task<int> {
    Task<int> task = give(1);
    int first = co_await std::move(task);
    int second = co_await std::move(task);  // NOLINT(bugprone-use-after-move): that is the mistake
    co_return first + second;
  };
  EXPECT_DEATH({ [[maybe_unused]] int sum = run(executor_, twice()); }, "awaited once");
}

TEST_F(TaskDeathTest, AwaitingAnEmptyTaskAsserts) {
  auto empty = []() -> Task<int> {
    Task<int> task;
    int never = co_await std::move(task);
    co_return never;
  };
  EXPECT_DEATH({ [[maybe_unused]] int never = run(executor_, empty()); }, "empty Task");
}

}  // namespace
}  // namespace weft
