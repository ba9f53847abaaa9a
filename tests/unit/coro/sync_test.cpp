// SPDX-License-Identifier: Apache-2.0
// The contracts of Event, Semaphore, Mutex and Channel. Hand-over under cancel and drop:
// interleaving_test.cpp.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "unit/coro/run.hpp"
#include "weft/detail/coro/channel.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/mutex.hpp"
#include "weft/detail/coro/semaphore.hpp"
#include "weft/detail/coro/yield.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::drain;
using testing::run;
using testing::Started;

class SyncTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(frames_alive(), frames_before_); }

  std::int64_t frames_before_ = frames_alive();
  Executor executor_;
  Executor::Enter entered_{executor_};
  std::string trace_;
};

using Events = SyncTest;
using Semaphores = SyncTest;
using Mutexes = SyncTest;
using Channels = SyncTest;

Task<void> wait_on(Event* event, std::string* trace, char name) {
  Result<void> woken = co_await event->wait();
  EXPECT_TRUE(woken.ok());
  trace->push_back(name);
}

TEST_F(Events, SetWakesAllInOrderThroughTheQueueAndNotOnItsOwnStack) {
  Event event;
  Started<void> a(wait_on(&event, &trace_, 'a'));
  Started<void> b(wait_on(&event, &trace_, 'b'));
  event.set();
  EXPECT_EQ(trace_, "");
  event.reset();
  drain(executor_);
  EXPECT_EQ(trace_, "ab") << "who was woken returns although the event was reset";
  Started<void> c(wait_on(&event, &trace_, 'c'));
  drain(executor_);
  EXPECT_FALSE(c.ended());
  event.set();
  Started<void> d(wait_on(&event, &trace_, 'd'));
  EXPECT_EQ(trace_, "abd") << "waiting for what is set does not suspend";
  drain(executor_);
  EXPECT_EQ(trace_, "abdc");
}

Task<void> acquire(Semaphore* semaphore, std::size_t permits, std::string* trace, char name) {
  Result<void> acquired = co_await semaphore->acquire(permits);
  EXPECT_TRUE(acquired.ok());
  trace->push_back(name);
}

TEST_F(Semaphores, ServesInOrderAndDoesNotLetSmallRequestsOvertake) {
  Semaphore semaphore(1);
  Started<void> large(acquire(&semaphore, 3, &trace_, 'L'));
  Started<void> small(acquire(&semaphore, 1, &trace_, 's'));
  EXPECT_FALSE(semaphore.try_acquire(1)) << "who waits comes first";
  drain(executor_);
  EXPECT_EQ(trace_, "");
  semaphore.release(1);
  drain(executor_);
  EXPECT_EQ(trace_, "");
  semaphore.release(2);
  drain(executor_);
  EXPECT_EQ(trace_, "Ls");
  EXPECT_EQ(semaphore.available(), 0U);
}

TEST_F(Semaphores, ALargeRequestThatIsCancelledLetsThoseBehindItGo) {
  Semaphore semaphore(1);
  CancelScope scope;
  auto refused = [](Semaphore* from) -> Task<bool> {
    Result<void> acquired = co_await from->acquire(3);
    co_return !acquired.ok();
  };
  Started<bool> large(refused(&semaphore), &scope);
  Started<void> small(acquire(&semaphore, 1, &trace_, 's'));
  scope.cancel(CancelReason::kRequested);
  drain(executor_);
  EXPECT_TRUE(large.result());
  EXPECT_EQ(trace_, "s");
}

TEST_F(Semaphores, ALargeRequestThatIsDroppedLetsThoseBehindItGo) {
  Semaphore semaphore(1);
  Started<void> large(acquire(&semaphore, 3, &trace_, 'L'));
  Started<void> small(acquire(&semaphore, 1, &trace_, 's'));
  large.drop();
  drain(executor_);
  EXPECT_EQ(trace_, "s");
}

Task<void> work_locked(Mutex* mutex, std::string* trace, char name) {
  Result<Mutex::Guard> guard = co_await mutex->lock();
  EXPECT_TRUE(guard.ok());
  trace->push_back(name);
  co_await yield();
  trace->push_back(name);
}

TEST_F(Mutexes, LetsOneInAtATimeInOrder) {
  Mutex mutex;
  Started<void> a(work_locked(&mutex, &trace_, 'a'));
  Started<void> b(work_locked(&mutex, &trace_, 'b'));
  Started<void> c(work_locked(&mutex, &trace_, 'c'));
  EXPECT_FALSE(mutex.try_lock().has_value());
  drain(executor_);
  EXPECT_EQ(trace_, "aabbcc");
  EXPECT_FALSE(mutex.is_locked());
}

TEST_F(Mutexes, AGuardUnlocksOnceAndMoves) {
  Mutex mutex;
  std::optional<Mutex::Guard> first = mutex.try_lock();
  ASSERT_TRUE(first.has_value());
  Mutex::Guard second = std::move(*first);
  first.reset();
  EXPECT_TRUE(mutex.is_locked());
  second.unlock();
  second.unlock();
  EXPECT_FALSE(mutex.is_locked());
  EXPECT_TRUE(mutex.try_lock().has_value());
}

using IntChannel = Channel<std::unique_ptr<int>>;

Task<void> produce(IntChannel* channel, int from, int count, bool close) {
  for (int i = from; i < from + count; ++i) {
    auto value = std::make_unique<int>(i);
    Result<void> pushed = co_await channel->push(std::move(value));
    EXPECT_TRUE(pushed.ok());
  }
  if (close) channel->close();
}
Task<std::vector<int>> consume(IntChannel* channel) {
  std::vector<int> values;
  for (;;) {
    Result<std::unique_ptr<int>> value = co_await channel->pop();
    if (!value.ok()) {
      EXPECT_EQ(value.status().code(), StatusCode::kOutOfRange);
      break;
    }
    values.push_back(**value);
  }
  co_return values;
}

TEST_F(Channels, DeliversEverythingInOrderForEveryCapacity) {
  for (std::size_t capacity : {1U, 2U, 3U, 7U, 100U}) {
    IntChannel channel(capacity);
    Started<void> producer(produce(&channel, 0, 20, true));
    EXPECT_LE(channel.size(), capacity);
    EXPECT_EQ(producer.ended(), capacity >= 20);
    std::vector<int> values = run(executor_, consume(&channel));
    ASSERT_EQ(values.size(), 20U);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
  }
}

TEST_F(Channels, APopperThatCameFirstWaitsForValues) {
  IntChannel channel(2);
  Started<std::vector<int>> consumer(consume(&channel));
  Started<void> producer(produce(&channel, 5, 3, true));
  drain(executor_);
  EXPECT_EQ(consumer.result(), (std::vector{5, 6, 7}));
}

TEST_F(Channels, CloseFailsWaitingPushersAndLaterPushesButKeepsWhatIsIn) {
  Channel<std::string> channel(1);
  auto push = [](Channel<std::string>* to, std::string value) -> Task<StatusCode> {
    Result<void> pushed = co_await to->push(std::move(value));
    co_return pushed.status().code();
  };
  EXPECT_EQ(run(executor_, push(&channel, "in")), StatusCode::kOk);
  Started<StatusCode> waiting(push(&channel, "late"));
  channel.close();
  drain(executor_);
  EXPECT_EQ(waiting.result(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(run(executor_, push(&channel, "later")), StatusCode::kFailedPrecondition);
  std::string text = "mine";
  EXPECT_FALSE(channel.try_push(text));
  EXPECT_EQ(text, "mine");
  EXPECT_EQ(channel.try_pop(), "in");
  EXPECT_EQ(channel.try_pop(), std::nullopt);
}

TEST_F(Channels, TryPopDoesNotTakeWhatAWokenPopperWasPromised) {
  Channel<int> channel(4);
  auto pop = [](Channel<int>* from) -> Task<int> {
    Result<int> value = co_await from->pop();
    co_return value.ok() ? *value : -1;
  };
  Started<int> popper(pop(&channel));
  EXPECT_TRUE(channel.try_push(1));
  EXPECT_EQ(channel.try_pop(), std::nullopt);
  EXPECT_TRUE(channel.try_push(2));
  drain(executor_);
  EXPECT_EQ(popper.result(), 1);
  EXPECT_EQ(channel.try_pop(), 2);
}

TEST_F(Channels, DestroysTheValuesNobodyPopped) {
  auto witness = std::make_shared<int>(0);
  {
    Channel<std::shared_ptr<int>> channel(3);
    for (int i = 0; i < 3; ++i) channel.try_push(std::shared_ptr<int>(witness));
    channel.try_pop();
    channel.try_push(std::shared_ptr<int>(witness));
    EXPECT_EQ(witness.use_count(), 4);
  }
  EXPECT_EQ(witness.use_count(), 1);
}

using SyncDeathTest = SyncTest;
TEST_F(SyncDeathTest, DestroyingAnEventThatSomebodyWaitsOnAsserts) {
  EXPECT_DEATH(
      {
        auto event = std::make_unique<Event>();
        Started<void> waiter(wait_on(event.get(), &trace_, 'a'));
        event.reset();
      },
      "outlives");
}

TEST(SyncWithoutExecutorDeathTest, WaitingWithoutAnExecutorAsserts) {
  std::string trace;
  Event event;
  EXPECT_DEATH({ Started<void> waiter(wait_on(&event, &trace, 'a')); }, "current executor");
}

}  // namespace
}  // namespace weft
