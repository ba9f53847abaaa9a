// SPDX-License-Identifier: Apache-2.0
// Objects of a loop that are destroyed inside their own callbacks.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>
#include <weft/coroutines.hpp>
#include <weft/loop.hpp>

#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/runtime/turn_end_hook.hpp"

namespace weft::testing::loop_objects {
namespace {

using namespace std::chrono_literals;

/// Objects that are destroyed together by the first of them that is called.
template <typename T>
struct Group {
  std::vector<std::unique_ptr<T>> members;
  int called = 0;
  void end() {
    ++called;
    const auto doomed = std::move(members);
    members.clear();
  }
};

struct OwnTimer final : detail::Timer {
  explicit OwnTimer(Group<OwnTimer>& its) : group(its) {}
  void on_timer() override { group.end(); }
  Group<OwnTimer>& group;
};

struct OwnHook final : detail::TurnEndHook {
  explicit OwnHook(Group<OwnHook>& its) : group(its) {}
  void on_turn_end() override { group.end(); }
  Group<OwnHook>& group;
};

struct OwnWatch final : detail::FdWatch {
  OwnWatch(Group<OwnWatch>& its, bool late) : group(its), fd(::eventfd(1, EFD_NONBLOCK)), at_end(late) {}
  ~OwnWatch() { ::close(fd); }
  void on_ready(detail::Readiness) override {
    if (!at_end) group.end();
  }
  void on_report_end() override {
    if (at_end) group.end();
  }
  Group<OwnWatch>& group;
  const int fd;
  const bool at_end;
};

class LoopObjects : public ::testing::TestWithParam<PollerKind> {
 protected:
  static std::unique_ptr<Loop> make_loop() {
    LoopOptions options;
    options.poller = GetParam();
    Result<std::unique_ptr<Loop>> made = Loop::create(options);
    return made.ok() ? std::move(*made) : nullptr;
  }
  void SetUp() override {
    if (loop_ == nullptr) GTEST_SKIP() << "this build has no such poller";
  }
  std::unique_ptr<Loop> loop_ = make_loop();
};

TEST_P(LoopObjects, ATimerDestroysItselfAndAllThatAreDueWithIt) {
  Group<OwnTimer> group;
  for (int i = 0; i < 5; ++i) {
    group.members.push_back(std::make_unique<OwnTimer>(group));
    loop_->arm(*group.members.back(), loop_->now());
  }
  while (group.called == 0) loop_->run_once(1ms);
  loop_->run_until_idle();
  EXPECT_EQ(group.called, 1);
  EXPECT_EQ(loop_->timers_armed(), 0u);
}

TEST_P(LoopObjects, AHookOfTheTurnsEndDestroysItselfAndAllThatWait) {
  Group<OwnHook> group;
  for (int i = 0; i < 5; ++i) {
    group.members.push_back(std::make_unique<OwnHook>(group));
    loop_->at_turn_end(*group.members.back());
  }
  loop_->run_until_idle();
  EXPECT_EQ(group.called, 1);
}

TEST_P(LoopObjects, AWatchDestroysItselfAndAllThatAreReadyWithIt) {
  for (const bool at_end : {false, true}) {
    Group<OwnWatch> group;
    for (int i = 0; i < 5; ++i) {
      group.members.push_back(std::make_unique<OwnWatch>(group, at_end));
      ASSERT_TRUE(loop_->watch(*group.members.back(), group.members.back()->fd).ok());
    }
    while (group.called == 0) loop_->run_once(1ms);
    loop_->run_until_idle();
    EXPECT_EQ(group.called, 1);
    EXPECT_EQ(loop_->watches(), 0u);
  }
}

/// Removes itself, and is gone, at its `last`th question.
struct OwnPoller final : Poller {
  OwnPoller(Loop& its, std::unique_ptr<OwnPoller>& self, bool arms) : loop(its), own(self), in_arm(arms) {}
  ~OwnPoller() { ::close(fd); }
  std::size_t poll() override {
    if (!in_arm) end();
    return 0;
  }
  bool arm() override {
    if (in_arm) end();
    return true;
  }
  int descriptor() const override { return fd; }
  void end() {
    loop.remove_poller(*this);
    own.reset();
  }
  Loop& loop;
  std::unique_ptr<OwnPoller>& own;
  const bool in_arm;
  const int fd = ::eventfd(0, EFD_NONBLOCK);
};

TEST_P(LoopObjects, APollerRemovesAndDestroysItself) {
  for (const bool in_arm : {false, true}) {
    std::unique_ptr<OwnPoller> pollers[3];
    for (auto& poller : pollers) {
      poller = std::make_unique<OwnPoller>(*loop_, poller, in_arm);
      ASSERT_TRUE(loop_->add_poller(*poller).ok());
    }
    const auto gone = [&] { return !pollers[0] && !pollers[1] && !pollers[2]; };
    for (int i = 0; i < 1000 && !gone(); ++i) loop_->run_once(1ms);
    EXPECT_TRUE(gone());
    loop_->run_once(0ms);
  }
}

TEST_P(LoopObjects, APostedFunctionDestroysWhatHoldsTheLoopsOtherObjects) {
  Group<OwnTimer> timers;
  Group<OwnHook> hooks;
  timers.members.push_back(std::make_unique<OwnTimer>(timers));
  hooks.members.push_back(std::make_unique<OwnHook>(hooks));
  loop_->arm(*timers.members.back(), loop_->now());
  loop_->at_turn_end(*hooks.members.back());
  loop_->post([&] {
    timers.members.clear();
    hooks.members.clear();
  });
  loop_->run_until_idle();
  EXPECT_EQ(timers.called + hooks.called, 0);
}

/// Holds a scope whose tasks hold it: the last of them lets go of it.
struct Owner {
  explicit Owner(int& count) : ended(count) {}
  ~Owner() { ++ended; }
  int& ended;
  Scope scope;
};
Task<void> hold(std::shared_ptr<Owner> owner, int turns) {
  for (int i = 0; i < turns; ++i) co_await yield();
  EXPECT_EQ(owner->ended, 0);
}

TEST_P(LoopObjects, AScopeIsDestroyedByTheEndOfItsLastTask) {
  for (const int tasks : {1, 2, 5}) {
    int ended = 0;
    auto owner = std::make_shared<Owner>(ended);
    loop_->post([&] {
      for (int i = 0; i < tasks; ++i) owner->scope.spawn(&hold, owner, i + 1);
      owner.reset();
    });
    loop_->run_until_idle();
    EXPECT_EQ(ended, 1);
  }
}

TEST_P(LoopObjects, AScopeIsDestroyedByATaskThatNeverWaits) {
  int ended = 0;
  auto owner = std::make_shared<Owner>(ended);
  Scope& scope = owner->scope;
  loop_->post([&] { scope.spawn(&hold, std::move(owner), 0); });
  loop_->run_until_idle();
  EXPECT_EQ(ended, 1);
}

Task<void> wait_for(Event* event, std::unique_ptr<Event>* owner) {
  static_cast<void>(co_await event->wait());
  owner->reset();
}

TEST_P(LoopObjects, AnEventIsDestroyedByWhomItWakes) {
  auto event = std::make_unique<Event>();
  Scope scope;
  loop_->post([&] {
    for (int i = 0; i < 3; ++i) scope.spawn(&wait_for, event.get(), &event);
    event->set();
  });
  loop_->run_until_idle();
  EXPECT_EQ(event, nullptr);
  EXPECT_EQ(scope.count(), 0u);
}

TEST(LoopObjectsDeathTest, AScopeWithTasksThatRunIsNotDestroyed) {
  const auto run = [] {
    auto loop = Loop::create().value();
    auto scope = std::make_unique<Scope>();
    Event never;
    std::unique_ptr<Event> none;
    loop->post([&] { scope->spawn(&wait_for, &never, &none); });
    loop->run_until_idle();
    scope.reset();
  };
  EXPECT_DEATH(run(), "a Scope is joined before it is destroyed");
}

INSTANTIATE_TEST_SUITE_P(Kinds, LoopObjects, ::testing::Values(PollerKind::kEpoll, PollerKind::kIoUring),
                         [](const auto& its) {
                           return std::string{its.param == PollerKind::kEpoll ? "epoll" : "io_uring"};
                         });

}  // namespace
}  // namespace weft::testing::loop_objects
