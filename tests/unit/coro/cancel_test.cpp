// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/cancel.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "unit/coro/run.hpp"
#include "weft/detail/coro/channel.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/mutex.hpp"
#include "weft/detail/coro/semaphore.hpp"
#include "weft/detail/coro/with_scope.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using std::chrono::seconds;
using testing::drain;
using testing::run;
using testing::Started;

class Heard final : public CancelListener {
 public:
  void on_cancel(CancelReason reason) noexcept override {
    ++times;
    last = reason;
  }
  int times = 0;
  CancelReason last = CancelReason::kNone;
};

TEST(CancelReason, BecomesAStatusThatSaysWhich) {
  EXPECT_EQ(to_status(CancelReason::kDeadline).code(), StatusCode::kDeadlineExceeded);
  std::vector<std::string> texts;
  for (auto reason : {CancelReason::kRequested, CancelReason::kScopeClosed, CancelReason::kPeerCancelled,
                      CancelReason::kPeerGone, CancelReason::kStopping}) {
    Status status = to_status(reason);
    EXPECT_EQ(status.code(), StatusCode::kCancelled);
    for (const std::string& other : texts) EXPECT_NE(other, status.message());
    texts.emplace_back(status.message());
  }
}

TEST(CancelScope, TellsEachListenerOnceAndKeepsTheFirstReason) {
  Heard first, second, left;
  CancelScope scope;
  scope.add(first);
  scope.add(left);
  {
    Heard gone;
    scope.add(gone);
  }
  scope.add(second);
  left.stop_listening();
  scope.cancel(CancelReason::kPeerGone);
  scope.cancel(CancelReason::kDeadline);
  EXPECT_EQ(first.times, 1);
  EXPECT_EQ(second.times, 1);
  EXPECT_EQ(left.times, 0);
  EXPECT_EQ(first.last, CancelReason::kPeerGone);
  EXPECT_EQ(scope.reason(), CancelReason::kPeerGone);
}

TEST(CancelScope, ReachesTheWholeTreeBelowAndNothingAbove) {
  CancelScope root;
  CancelScope child(&root), sibling(&root);
  CancelScope grandchild(&child);
  Heard above, below, beside;
  root.add(above);
  grandchild.add(below);
  sibling.add(beside);
  child.cancel(CancelReason::kRequested);
  EXPECT_EQ(below.times, 1);
  EXPECT_FALSE(root.cancelled());
  EXPECT_FALSE(sibling.cancelled());
  EXPECT_EQ(above.times, 0);
  root.cancel(CancelReason::kStopping);
  EXPECT_EQ(beside.last, CancelReason::kStopping);
  EXPECT_EQ(grandchild.reason(), CancelReason::kRequested);
  CancelScope late(&root);
  EXPECT_EQ(late.reason(), CancelReason::kStopping);
}

TEST(CancelScope, AListenerMayDestroyOtherListenersAndScopesDuringTheCancel) {
  struct Destroyer final : CancelListener {
    void on_cancel(CancelReason) noexcept override {
      victim.reset();
      scope.reset();
    }
    std::unique_ptr<Heard> victim = std::make_unique<Heard>();
    std::unique_ptr<CancelScope> scope;
  };
  CancelScope root;
  CancelScope first(&root);
  Destroyer destroyer;
  destroyer.scope = std::make_unique<CancelScope>(&root);
  CancelScope last(&root);
  first.add(destroyer);
  first.add(*destroyer.victim);
  Heard heard;
  last.add(heard);
  root.cancel(CancelReason::kRequested);
  EXPECT_EQ(destroyer.victim, nullptr);
  EXPECT_EQ(heard.times, 1);
}

TEST(CancelScope, InheritsTheEarlierDeadlineAlsoWhenItIsSetLater) {
  const TimePoint now{seconds{100}};
  CancelScope root;
  CancelScope child(&root);
  EXPECT_TRUE(child.deadline().is_infinite());
  child.set_deadline(Deadline{now + seconds{5}});
  EXPECT_EQ(child.deadline().at(), now + seconds{5});
  root.set_deadline(Deadline{now + seconds{2}});
  EXPECT_EQ(child.deadline().at(), now + seconds{2});
  root.set_deadline(Deadline{now + seconds{9}});
  EXPECT_EQ(child.deadline().at(), now + seconds{5});
}

TEST(CancelScopeDeathTest, ListeningToACancelledScopeAsserts) {
  CancelScope scope;
  scope.cancel(CancelReason::kRequested);
  Heard heard;
  EXPECT_DEATH(scope.add(heard), "cancelled");
}

class Cancellation : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(frames_alive(), frames_before_); }

  std::int64_t frames_before_ = frames_alive();
  Executor executor_;
  Executor::Enter entered_{executor_};
};

Task<CancelScope*> see() {
  CancelScope* scope = co_await this_cancel_scope();
  co_return scope;
}

TEST_F(Cancellation, ATaskInheritsItsAwaitersScopeAndWithScopeReplacesIt) {
  CancelScope outer;
  CancelScope inner(&outer);
  auto nested = [](CancelScope* replaced) -> Task<std::pair<CancelScope*, CancelScope*>> {
    CancelScope* own = co_await see();
    CancelScope* other = co_await with_scope(*replaced, see());
    co_return std::pair{own, other};
  };
  auto [own, other] = run(executor_, nested(&inner), &outer);
  EXPECT_EQ(own, &outer);
  EXPECT_EQ(other, &inner);
  EXPECT_EQ(run(executor_, see()), nullptr);
}

/// Everything that waits, one after the other; the code of the first failure is what it returns.
struct Station {
  Event event;
  Semaphore semaphore{0};
  Mutex mutex;
  Channel<int> full{1};
  Channel<int> empty{1};
  int passed = 0;
};

Task<Status> journey(Station* at) {
  Result<void> woken = co_await at->event.wait();
  if (!woken.ok()) co_return woken.status();
  ++at->passed;
  Result<void> acquired = co_await at->semaphore.acquire(2);
  if (!acquired.ok()) co_return acquired.status();
  ++at->passed;
  Result<Mutex::Guard> locked = co_await at->mutex.lock();
  if (!locked.ok()) co_return locked.status();
  ++at->passed;
  Result<void> pushed = co_await at->full.push(1);
  if (!pushed.ok()) co_return pushed.status();
  ++at->passed;
  Result<int> popped = co_await at->empty.pop();
  if (!popped.ok()) co_return popped.status();
  ++at->passed;
  co_return Status{};
}

/// Opens the first `count` waits of the journey.
void open(Station& at, std::optional<Mutex::Guard>& held, int count) {
  if (count > 0) at.event.set();
  if (count > 1) at.semaphore.release(2);
  if (count > 2) held.reset();
  if (count > 3) at.full.try_pop();
  if (count > 4) at.empty.try_push(1);
}

TEST_F(Cancellation, AtEachSuspensionPointEndsTheWaitWithTheReason) {
  for (int point = 0; point < 5; ++point) {
    Station at;
    at.full.try_push(0);
    std::optional<Mutex::Guard> held = at.mutex.try_lock();
    CancelScope scope;
    Started<Status> task(journey(&at), &scope);
    open(at, held, point);
    drain(executor_);
    ASSERT_EQ(at.passed, point);
    scope.cancel(CancelReason::kDeadline);
    EXPECT_FALSE(task.ended()) << "a cancel resumes nobody on the canceller's stack";
    drain(executor_);
    ASSERT_TRUE(task.ended());
    EXPECT_EQ(task.result().code(), StatusCode::kDeadlineExceeded);
    EXPECT_EQ(at.passed, point);
  }
}

TEST_F(Cancellation, InACancelledScopeEveryWaitFailsAtOnceEvenIfItCouldSucceed) {
  for (int point = 0; point < 5; ++point) {
    Station at;
    at.full.try_push(0);
    std::optional<Mutex::Guard> held = at.mutex.try_lock();
    open(at, held, 5);
    CancelScope scope;
    scope.cancel(CancelReason::kStopping);
    Status status = run(executor_, journey(&at), &scope);
    EXPECT_EQ(status.message(), to_string(CancelReason::kStopping));
    EXPECT_EQ(at.passed, 0);
    EXPECT_EQ(at.semaphore.available(), 2U);
  }
}

TEST_F(Cancellation, DroppedAtEachSuspensionPointATaskLeavesNothingBehind) {
  for (int point = 0; point < 5; ++point) {
    Station at;
    at.full.try_push(0);
    std::optional<Mutex::Guard> held = at.mutex.try_lock();
    CancelScope scope;
    Started<Status> task(journey(&at), &scope);
    open(at, held, point);
    drain(executor_);
    task.drop();
    EXPECT_EQ(frames_alive(), frames_before_);
    open(at, held, 5);
    scope.cancel(CancelReason::kRequested);
    EXPECT_FALSE(executor_.has_ready());
    EXPECT_FALSE(at.mutex.is_locked());
  }
}

TEST_F(Cancellation, ACancelAfterTheWaitWasGrantedIsTooLate) {
  Station at;
  CancelScope scope;
  Started<Status> task(journey(&at), &scope);
  at.event.set();
  scope.cancel(CancelReason::kRequested);
  drain(executor_);
  ASSERT_TRUE(task.ended());
  EXPECT_EQ(at.passed, 1) << "the event's wait succeeded, the next wait was refused";
}

TEST_F(Cancellation, AChildScopesTaskHearsOfTheParentsCancel) {
  CancelScope parent;
  CancelScope child(&parent);
  Event never;
  auto waiter = [](Event* event) -> Task<Status> {
    Result<void> woken = co_await event->wait();
    co_return woken.status();
  };
  auto wrapper = [](CancelScope* scope, Task<Status> inner) -> Task<Status> {
    Status status = co_await with_scope(*scope, std::move(inner));
    co_return status;
  };
  Started<Status> task(wrapper(&child, waiter(&never)));
  parent.cancel(CancelReason::kPeerGone);
  drain(executor_);
  ASSERT_TRUE(task.ended());
  EXPECT_EQ(task.result().message(), to_string(CancelReason::kPeerGone));
}

}  // namespace
}  // namespace weft
