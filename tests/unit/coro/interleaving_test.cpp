// SPDX-License-Identifier: Apache-2.0
// Every order of a few operations on Event, Semaphore, Mutex and Channel: starting, cancelling and dropping
// coroutines, the primitive's own operations, and running one ready coroutine. A world is rebuilt for every
// order, then run to its end and checked; so what is lost between a hand-over and the turn of who was handed
// is found.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "support/sanitizers.hpp"
#include "unit/coro/run.hpp"
#include "weft/detail/coro/channel.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/mutex.hpp"
#include "weft/detail/coro/semaphore.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::drain;
using testing::Started;

/// Base of every world: coroutines that are started, cancelled and dropped one by one.
template <typename Self, int kWorkers, int kOwnOperations>
class World {
 public:
  static constexpr int kOperations = 3 * kWorkers + kOwnOperations + 1;

  /// False when `operation` makes no sense now; nothing has happened then.
  bool apply(int operation) {
    if (operation == 0) return executor_.run_ready(1) == 1;
    if (--operation < kOwnOperations) return self().apply_own(operation);
    operation -= kOwnOperations;
    const auto worker = static_cast<std::size_t>(operation / 3);
    switch (operation % 3) {
      case 0:
        if (tasks_[worker]) return false;
        if (worker > 0 && !tasks_[worker - 1] && self().interchangeable()) return false;
        tasks_[worker] = std::make_unique<Started<>>(self().work(worker), &scopes_[worker]);
        return true;
      case 1:
        if (scopes_[worker].cancelled() || !tasks_[worker] || tasks_[worker]->ended()) return false;
        scopes_[worker].cancel(CancelReason::kRequested);
        return true;
      default:
        if (!tasks_[worker] || dropped_[worker] || tasks_[worker]->ended()) return false;
        dropped_[worker] = true;
        tasks_[worker]->drop();
        return true;
    }
  }

  void drop_all() {
    for (auto& task : tasks_) task.reset();
  }

 protected:
  /// Started, and neither ended nor dropped.
  bool lives(std::size_t worker) const {
    return tasks_[worker] && !dropped_[worker] && !tasks_[worker]->ended();
  }

  Executor executor_;
  Executor::Enter entered_{executor_};
  std::array<CancelScope, kWorkers> scopes_;
  std::array<std::unique_ptr<Started<>>, kWorkers> tasks_;
  std::array<bool, kWorkers> dropped_{};

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

/// Visits every order of at most `depth` operations. Returns how many there are.
template <typename W>
std::size_t explore(int depth, std::vector<int>& path) {
  std::size_t orders = 0;
  for (int operation = 0; operation < W::kOperations; ++operation) {
    auto world = std::make_unique<W>();
    for (int earlier : path) world->apply(earlier);
    if (!world->apply(operation)) {
      world->drop_all();
      continue;
    }
    path.push_back(operation);
    world->finish();
    world->drop_all();
    world.reset();
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "the operations were " << ::testing::PrintToString(path);
      return orders;
    }
    ++orders;
    if (depth > 1) orders += explore<W>(depth - 1, path);
    if (::testing::Test::HasFailure()) return orders;
    path.pop_back();
  }
  return orders;
}

#if defined(__OPTIMIZE__) && !WEFT_ADDRESS_SANITIZER && !WEFT_THREAD_SANITIZER
constexpr int kLessDepth = 0;
#else
constexpr int kLessDepth = 1;  // each step of depth costs seven times the time
#endif

template <typename W>
void explore_all(int full_depth) {
  const int depth = full_depth - kLessDepth;
  const std::int64_t frames = frames_alive();
  std::vector<int> path;
  const std::size_t orders = explore<W>(depth, path);
  std::printf("%zu orders of at most %d operations\n", orders, depth);
  EXPECT_GT(orders, 1000U);
  EXPECT_EQ(frames_alive(), frames);
}

/// Three workers that want 2, 1 and 1 of two permits; own operations: each worker may go on and give back.
class SemaphoreWorld : public World<SemaphoreWorld, 3, 3> {
 public:
  static constexpr std::array<std::size_t, 3> kNeeds{2, 1, 1};

  bool interchangeable() const { return false; }
  bool apply_own(int worker) {
    Event& event = go_[static_cast<std::size_t>(worker)];
    if (event.is_set()) return false;
    event.set();
    return true;
  }
  Task<> work(std::size_t worker) {
    started_.push_back(worker);
    return hold(this, worker);
  }

  void finish() {
    drain(executor_);
    EXPECT_EQ(semaphore_.available() + held_, 2U) << "a permit was lost or made";
    for (std::size_t worker : started_) {
      if (!lives(worker) || holding_[worker]) continue;
      EXPECT_GT(kNeeds[worker], semaphore_.available()) << "the first waits for permits that are there";
      break;
    }
    for (std::size_t worker = 0; worker < 3; ++worker) {
      if (!lives(worker) || holding_[worker]) continue;
      EXPECT_FALSE(scopes_[worker].cancelled()) << "a cancelled worker still waits";
      EXPECT_TRUE(semaphore_.has_waiters());
    }
    for (Event& event : go_) event.set();
    drain(executor_);
    for (std::size_t worker = 0; worker < 3; ++worker) EXPECT_FALSE(lives(worker)) << "worker " << worker;
    EXPECT_EQ(semaphore_.available(), 2U);
  }

 private:
  struct Held {
    Held(SemaphoreWorld* in, std::size_t who) : world(in), worker(who) {
      world->held_ += kNeeds[worker];
      world->holding_[worker] = true;
      EXPECT_LE(world->held_, 2U);
    }
    ~Held() {
      world->held_ -= kNeeds[worker];
      world->holding_[worker] = false;
      world->semaphore_.release(kNeeds[worker]);
    }
    SemaphoreWorld* world;
    std::size_t worker;
  };

  static Task<> hold(SemaphoreWorld* world, std::size_t worker) {
    Result<void> acquired = co_await world->semaphore_.acquire(kNeeds[worker]);
    if (!acquired.ok()) co_return;
    Held held(world, worker);
    Result<void> told = co_await world->go_[worker].wait();
    static_cast<void>(told);
  }

  Semaphore semaphore_{2};
  std::array<Event, 3> go_;
  std::vector<std::size_t> started_;
  std::size_t held_ = 0;
  std::array<bool, 3> holding_{};
};

TEST(Interleaving, ASemaphoreLosesNoPermitAndForgetsNobody) {
  explore_all<SemaphoreWorld>(7);
}

/// Three workers that lock; own operations: the holder may go on.
class MutexWorld : public World<MutexWorld, 3, 1> {
 public:
  bool interchangeable() const { return true; }
  bool apply_own(int) {
    if (holder_ < 0 || go_[static_cast<std::size_t>(holder_)].is_set()) return false;
    go_[static_cast<std::size_t>(holder_)].set();
    return true;
  }
  Task<> work(std::size_t worker) { return hold(this, static_cast<int>(worker)); }

  void finish() {
    drain(executor_);
    bool anybody = false;
    for (std::size_t worker = 0; worker < 3; ++worker) anybody = anybody || lives(worker);
    EXPECT_EQ(anybody, holder_ >= 0) << "all wait for a lock that nobody holds";
    EXPECT_EQ(mutex_.is_locked(), holder_ >= 0);
    for (Event& event : go_) event.set();
    drain(executor_);
    for (std::size_t worker = 0; worker < 3; ++worker) EXPECT_FALSE(lives(worker));
    EXPECT_FALSE(mutex_.is_locked());
  }

 private:
  struct Inside {
    Inside(MutexWorld* in, int who) : world(in) {
      EXPECT_EQ(world->holder_, -1) << "two are inside";
      world->holder_ = who;
    }
    ~Inside() { world->holder_ = -1; }
    MutexWorld* world;
  };

  static Task<> hold(MutexWorld* world, int worker) {
    Result<Mutex::Guard> guard = co_await world->mutex_.lock();
    if (!guard.ok()) co_return;
    Inside inside(world, worker);
    Result<void> told = co_await world->go_[static_cast<std::size_t>(worker)].wait();
    static_cast<void>(told);
  }

  Mutex mutex_;
  std::array<Event, 3> go_;
  int holder_ = -1;
};

TEST(Interleaving, AMutexLetsOneInAndIsNeverLeftLocked) {
  explore_all<MutexWorld>(9);
}

/// Three waiters; own operations: set and reset. A model says what must become of each waiter.
class EventWorld : public World<EventWorld, 3, 2> {
 public:
  enum class Fate { kNone, kWaits, kWoken, kCancelled };

  bool interchangeable() const { return true; }
  bool apply_own(int operation) {
    const bool setting = operation == 0;
    if (event_.is_set() == setting) return false;
    if (!setting) {
      event_.reset();
      return true;
    }
    event_.set();
    for (std::size_t worker = 0; worker < 3; ++worker) {
      if (expected_[worker] == Fate::kWaits && !scopes_[worker].cancelled()) expected_[worker] = Fate::kWoken;
    }
    return true;
  }
  Task<> work(std::size_t worker) {
    expected_[worker] = event_.is_set() ? Fate::kWoken : Fate::kWaits;
    return wait(this, worker);
  }

  void finish() {
    drain(executor_);
    for (std::size_t worker = 0; worker < 3; ++worker) {
      if (expected_[worker] == Fate::kWaits && scopes_[worker].cancelled()) {
        expected_[worker] = Fate::kCancelled;
      }
      if (dropped_[worker]) {
        EXPECT_EQ(happened_[worker], Fate::kNone);
      } else if (expected_[worker] == Fate::kWaits || expected_[worker] == Fate::kNone) {
        EXPECT_EQ(happened_[worker], Fate::kNone);
      } else {
        EXPECT_EQ(happened_[worker], expected_[worker]);
      }
    }
    event_.set();
    drain(executor_);
    for (std::size_t worker = 0; worker < 3; ++worker) EXPECT_FALSE(lives(worker));
  }

 private:
  static Task<> wait(EventWorld* world, std::size_t worker) {
    Result<void> woken = co_await world->event_.wait();
    world->happened_[worker] = woken.ok() ? Fate::kWoken : Fate::kCancelled;
  }

  Event event_;
  std::array<Fate, 3> expected_{};
  std::array<Fate, 3> happened_{};
};

TEST(Interleaving, AnEventWakesExactlyThoseWhoWaitedWhenItWasSet) {
  explore_all<EventWorld>(9);
}

/// Workers 0 and 1 push their number into a channel with room for one, 2 and 3 pop; own operations: push and
/// pop from outside without waiting, and close.
class ChannelWorld : public World<ChannelWorld, 4, 3> {
 public:
  enum class Push { kNotStarted, kWaits, kDone, kFailed };

  bool interchangeable() const { return false; }
  bool apply_own(int operation) {
    switch (operation) {
      case 0: {
        if (pushed_outside_ || !channel_.try_push(int{kOutside})) return false;
        pushed_outside_ = true;
        return true;
      }
      case 1: {
        std::optional<int> value = channel_.try_pop();
        if (value) note(*value);
        return value.has_value();
      }
      default:
        if (channel_.is_closed()) return false;
        channel_.close();
        return true;
    }
  }
  Task<> work(std::size_t worker) {
    if (worker >= 2) return pop(this);
    called_.push_back(static_cast<int>(worker));
    push_[worker] = Push::kWaits;
    return push(this, worker);
  }

  void finish() {
    drain(executor_);
    const bool poppers_wait = lives(2) || lives(3);
    const bool pushers_wait = lives(0) || lives(1);
    EXPECT_FALSE(poppers_wait && channel_.size() > 0) << "a popper waits beside a value";
    EXPECT_FALSE(pushers_wait && channel_.size() < channel_.capacity()) << "a pusher waits beside room";
    EXPECT_FALSE((poppers_wait || pushers_wait) && channel_.is_closed());
    while (std::optional<int> value = channel_.try_pop()) note(*value);
    drain(executor_);
    while (std::optional<int> value = channel_.try_pop()) note(*value);
    EXPECT_EQ(channel_.size(), 0U);
    for (std::size_t pusher = 0; pusher < 2; ++pusher) {
      EXPECT_FALSE(push_[pusher] == Push::kDone && seen_[pusher] == 0) << "a value was lost";
      EXPECT_FALSE(push_[pusher] == Push::kFailed && seen_[pusher] > 0) << "a refused value arrived";
    }
    EXPECT_EQ(seen_[kOutside], pushed_outside_ ? 1 : 0);
    check_order();
    channel_.close();
    drain(executor_);
    for (std::size_t worker = 0; worker < 4; ++worker) EXPECT_FALSE(lives(worker));
  }

 private:
  static constexpr int kOutside = 2;

  void note(int value) {
    ++seen_[static_cast<std::size_t>(value)];
    EXPECT_EQ(seen_[static_cast<std::size_t>(value)], 1) << "a value came twice";
    arrived_.push_back(value);
  }
  /// The two pushers' values arrive in the order in which push was called.
  void check_order() {
    std::vector<int> from_workers;
    for (int value : arrived_) {
      if (value != kOutside) from_workers.push_back(value);
    }
    EXPECT_TRUE(from_workers.size() < 2 || from_workers == called_) << "the values changed places";
  }

  static Task<> push(ChannelWorld* world, std::size_t worker) {
    Result<void> pushed = co_await world->channel_.push(static_cast<int>(worker));
    world->push_[worker] = pushed.ok() ? Push::kDone : Push::kFailed;
  }
  static Task<> pop(ChannelWorld* world) {
    Result<int> value = co_await world->channel_.pop();
    if (value.ok()) world->note(*value);
  }

  Channel<int> channel_{1};
  std::array<Push, 2> push_{};
  std::array<int, 3> seen_{};
  std::vector<int> called_;
  std::vector<int> arrived_;
  bool pushed_outside_ = false;
};

TEST(Interleaving, AChannelLosesNoValueAndForgetsNobody) {
  explore_all<ChannelWorld>(7);
}

}  // namespace
}  // namespace weft
