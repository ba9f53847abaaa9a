// SPDX-License-Identifier: Apache-2.0
// A coroutine whose operations all end at once leaves time to others.
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "unit/coro/run.hpp"
#include "weft/detail/coro/channel.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/mutex.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/coro/semaphore.hpp"
#include "weft/detail/coro/with_scope.hpp"
#include "weft/detail/coro/yield.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::drain;
using testing::Started;

constexpr int kMany = 10'000;

class Fairness : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(frames_alive(), frames_before_); }

  Task<void> other() {
    co_await yield();
    other_ran_ = true;
  }
  template <typename Operation>
  Task<void> repeat(Operation operation) {
    for (operations_ = 0; !other_ran_ && operations_ < kMany; ++operations_) {
      if constexpr (std::is_void_v<detail::AwaitResult<decltype(operation())>>) {
        co_await operation();
      } else {
        [[maybe_unused]] const auto outcome = co_await operation();
      }
    }
  }
  /// Returns how many operations ended before a coroutine ran that was ready before the first.
  template <typename Operation>
  int operations_before_other_runs(Operation operation, CancelScope* scope = nullptr) {
    other_ran_ = false;
    Started<void> other(this->other());
    Started<void> repeating(repeat(operation), scope);
    drain(executor_);
    EXPECT_TRUE(repeating.ended());
    return operations_;
  }

  std::int64_t frames_before_ = frames_alive();
  Executor executor_;
  Executor::Enter entered_{executor_};
  bool other_ran_ = false;
  int operations_ = 0;
};

Task<void> nothing() {
  co_return;
}

TEST_F(Fairness, HoldsForEachOperationThatEndsAtOnce) {
  constexpr int kMost = static_cast<int>(kAtOnceMax);
  Event event;
  event.set();
  EXPECT_EQ(operations_before_other_runs([&] { return event.wait(); }), kMost);
  Semaphore semaphore{kMany + 1};
  EXPECT_EQ(operations_before_other_runs([&] { return semaphore.acquire(); }), kMost);
  Mutex mutex;
  EXPECT_EQ(operations_before_other_runs([&] { return mutex.lock(); }), kMost);
  Channel<int> room{kMany + 1};
  EXPECT_EQ(operations_before_other_runs([&] { return room.push(1); }), kMost);
  for (int i = 0; i < kMany; ++i) room.try_push(i);
  EXPECT_EQ(operations_before_other_runs([&] { return room.pop(); }), kMost);
  Channel<int> closed{1};
  closed.close();
  EXPECT_EQ(operations_before_other_runs([&] { return closed.push(1); }), kMost);
  EXPECT_EQ(operations_before_other_runs([&] { return closed.pop(); }), kMost);
  Scope scope;
  EXPECT_EQ(operations_before_other_runs([&] { return scope.join(); }), kMost);
  EXPECT_EQ(operations_before_other_runs([] { return nothing(); }), kMost);
  EXPECT_EQ(operations_before_other_runs([] { return when_all(nothing(), nothing()); }), kMost);
  EXPECT_EQ(operations_before_other_runs([] { return race(nothing(), nothing()); }), kMost);
}

TEST_F(Fairness, HoldsForOperationsThatACancelEnds) {
  constexpr int kMost = static_cast<int>(kAtOnceMax);
  CancelScope cancelled;
  cancelled.cancel(CancelReason::kRequested);
  Event event;
  EXPECT_EQ(operations_before_other_runs([&] { return event.wait(); }, &cancelled), kMost);
  Semaphore semaphore{0};
  EXPECT_EQ(operations_before_other_runs([&] { return semaphore.acquire(); }, &cancelled), kMost);
  Channel<int> channel{1};
  EXPECT_EQ(operations_before_other_runs([&] { return channel.pop(); }, &cancelled), kMost);
  EXPECT_EQ(operations_before_other_runs([&] { return channel.push(1); }, &cancelled), kMost);
}

// Nothing that was given is lost, and nothing runs afterwards.
TEST_F(Fairness, MayBeDroppedWhileItGivesWay) {
  Semaphore semaphore{kMany + 1};
  {
    Started<void> repeating(repeat([&] { return semaphore.acquire(); }));
    EXPECT_TRUE(executor_.has_ready());
    repeating.drop();
  }
  EXPECT_FALSE(executor_.has_ready());
  EXPECT_EQ(semaphore.available(), kMany + 1 - (kAtOnceMax - 1)) << "the permit of the last one came back";
  {
    Started<void> repeating(repeat([] { return nothing(); }));
    EXPECT_TRUE(executor_.has_ready());
    repeating.drop();
  }
  EXPECT_FALSE(executor_.has_ready());
}

// Children of a deep stack are started by the trampoline.
TEST_F(Fairness, HoldsBelowADeepStack) {
  struct Deep {
    static Task<void> descend(unsigned levels, bool* other_ran) {
      if (levels > 0) {
        co_await descend(levels - 1, other_ran);
      } else {
        for (int i = 0; i < kMany && !*other_ran; ++i) co_await nothing();
      }
    }
  };
  Started<void> other(this->other());
  Started<void> deep(Deep::descend(3 * kInlineDepthMax, &other_ran_));
  EXPECT_FALSE(deep.ended()) << "it gave way";
  drain(executor_);
  EXPECT_TRUE(deep.ended());
  {
    other_ran_ = false;
    Started<void> dropped(Deep::descend(3 * kInlineDepthMax, &other_ran_));
    EXPECT_TRUE(executor_.has_ready());
    dropped.drop();
    EXPECT_FALSE(executor_.has_ready());
  }
}

TEST_F(Fairness, HoldsForACoroutineThatStartsOthers) {
  Scope scope;
  EXPECT_EQ(operations_before_other_runs([&] {
              scope.spawn(&nothing);
              return scope.join();
            }),
            static_cast<int>(kAtOnceMax));
}

TEST_F(Fairness, KeepsTheResultOfAnOperationWhenItIsCancelledMeanwhile) {
  Semaphore semaphore{kMany};
  CancelScope scope;
  std::vector<bool> granted;
  const auto acquire = [&]() -> Task<void> {
    for (unsigned i = 0; i < kAtOnceMax + 1; ++i) {
      const Result<void> permit = co_await semaphore.acquire();
      granted.push_back(permit.ok());
    }
  };
  Started<void> acquiring(acquire(), &scope);
  EXPECT_EQ(granted.size(), kAtOnceMax - 1);
  scope.cancel(CancelReason::kRequested);
  drain(executor_);
  ASSERT_EQ(granted.size(), kAtOnceMax + 1);
  EXPECT_TRUE(granted[kAtOnceMax - 1]);
  EXPECT_FALSE(granted[kAtOnceMax]);
}

TEST(FairnessWithoutAnExecutor, GoesOn) {
  Event event;
  event.set();
  int waited = 0;
  const auto many = [&]() -> Task<void> {
    for (; waited < kMany; ++waited) {
      [[maybe_unused]] const auto set = co_await event.wait();
      co_await nothing();
    }
  };
  Started<void> started(many());
  EXPECT_TRUE(started.ended());
  EXPECT_EQ(waited, kMany);
}

TEST_F(Fairness, CostsAFewOperationsNoTurn) {
  Event event;
  event.set();
  const auto few = [&]() -> Task<int> {
    int waited = 0;
    for (; waited < static_cast<int>(kAtOnceMax) - 1; ++waited) {
      [[maybe_unused]] const auto set = co_await event.wait();
    }
    co_return waited;
  };
  Started<int> started(few());
  EXPECT_TRUE(started.ended()) << "it ran on this stack";
}

}  // namespace
}  // namespace weft
