// SPDX-License-Identifier: Apache-2.0
// The process ends with a message when a thread uses an Event, a Semaphore, a Mutex, a Channel or a Scope on
// which a coroutine of another thread's loop waits. tests/checks/thread_rules.txt names these tests.
#include "integration/threads/misuse.hpp"
#include "weft/detail/coro/channel.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/mutex.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/coro/semaphore.hpp"
#include "weft/detail/runtime/sleep.hpp"

namespace weft::testing::wrong_coroutine_use_tests {
namespace {

constexpr const char* kOfAScope = "spawn\\(\\) or cancel\\(\\) of a Scope was called on another thread";
constexpr const char* kWaitsThere = "of the coroutine that waits on it: write loop.post";

/// Waits on `object`, an Event, a Semaphore, a Mutex or a Channel.
template <typename Object>
Task<void> wait_on(Object* object) {
  if constexpr (std::is_same_v<Object, Event>) {
    static_cast<void>(co_await object->wait());
  } else if constexpr (std::is_same_v<Object, Semaphore>) {
    static_cast<void>(co_await object->acquire());
  } else if constexpr (std::is_same_v<Object, Mutex>) {
    static_cast<void>(co_await object->lock());
  } else {
    static_cast<void>(co_await object->pop());
  }
}

Task<void> push_one(Channel<int>* channel) {
  static_cast<void>(co_await channel->push(1));
}

/// A coroutine of `loop` waits on `object`; then this thread calls `use`.
template <typename Object, typename Use>
void use_awaited(Loop& loop, Object& object, Use use) {
  Scope scope;
  run_on(loop, [&] { scope.spawn(&wait_on<Object>, &object); });
  use(scope);
}

Task<void> sleep_long(int) {
  static_cast<void>(co_await sleep_for(1h));
}

const Misuse kCoroutineMisuses[] = {
    {"EventIsSet",
     [](Loop& loop) {
       Event event;
       use_awaited(loop, event, [&](Scope&) { event.set(); });
     },
     kWaitsThere},
    {"EventIsAwaitedByAnotherLoop",
     [](Loop& loop) {
       Event event;
       use_awaited(loop, event,
                   [&](Scope&) { static_cast<void>(Loop::create().value()->block_on(event.wait())); });
     },
     "each of them belongs to one loop"},
    {"SemaphoreIsReleased",
     [](Loop& loop) {
       Semaphore semaphore{0};
       use_awaited(loop, semaphore, [&](Scope&) { semaphore.release(); });
     },
     kWaitsThere},
    {"MutexIsUnlocked",
     [](Loop& loop) {
       Mutex mutex;
       auto guard = mutex.try_lock();
       use_awaited(loop, mutex, [&](Scope&) { guard->unlock(); });
     },
     kWaitsThere},
    {"ChannelIsPushedTo",
     [](Loop& loop) {
       Channel<int> channel{1};
       use_awaited(loop, channel, [&](Scope&) { static_cast<void>(channel.try_push(1)); });
     },
     kWaitsThere},
    {"ChannelIsClosed",
     [](Loop& loop) {
       Channel<int> channel{1};
       use_awaited(loop, channel, [&](Scope&) { channel.close(); });
     },
     kWaitsThere},
    {"ChannelIsPoppedFrom",
     [](Loop& loop) {
       Channel<int> channel{1};
       static_cast<void>(channel.try_push(1));
       Scope scope;
       run_on(loop, [&] { scope.spawn(&push_one, &channel); });
       static_cast<void>(channel.try_pop());
     },
     kWaitsThere},
    {"ScopeSpawns",
     [](Loop& loop) {
       Event event;
       use_awaited(loop, event, [&](Scope& scope) { scope.spawn(&sleep_long, 1); });
     },
     kOfAScope},
    {"ScopeIsCancelled",
     [](Loop& loop) {
       Event event;
       use_awaited(loop, event, [&](Scope& scope) { scope.cancel(CancelReason::kRequested); });
     },
     kOfAScope},
    {"CancelScopeIsCancelled",
     [](Loop& loop) {
       Event event;
       use_awaited(loop, event, [&](Scope& scope) { scope.cancel_scope().cancel(CancelReason::kRequested); });
     },
     kWaitsThere},
};

class WrongCoroutineUseDeathTest : public ::testing::TestWithParam<Misuse> {};

TEST_P(WrongCoroutineUseDeathTest, EndsTheProcessWithAMessage) {
  expect_death_by(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Coroutines, WrongCoroutineUseDeathTest, ::testing::ValuesIn(kCoroutineMisuses),
                         name_of_misuse);

Task<void> let_pass(Event* event, Event* passed) {
  static_cast<void>(co_await event->wait());
  passed->set();
}

TEST(RightCoroutineUse, IsOnAnyThreadBetweenTheRunsOfALoop) {
  const auto loop = Loop::create().value();
  Event event;
  Event passed;
  Scope scope;
  loop->post([&] { scope.spawn(&let_pass, &event, &passed); });
  std::thread{[&] { loop->run_until_idle(); }}.join();
  event.set();
  std::thread{[&] { loop->run_until_idle(); }}.join();
  EXPECT_TRUE(passed.is_set());
  EXPECT_EQ(scope.count(), 0u);
}

TEST(RightCoroutineUse, IsInATurnOfAnInnerLoopToo) {
  const auto outer = Loop::create().value();
  Event event;
  Event passed;
  Scope scope;
  outer->post([&] {
    scope.spawn(&let_pass, &event, &passed);
    const auto inner = Loop::create().value();
    inner->post([&] { event.set(); });
    inner->run_until_idle();
  });
  outer->run_until_idle();
  EXPECT_TRUE(passed.is_set());
}

}  // namespace
}  // namespace weft::testing::wrong_coroutine_use_tests
