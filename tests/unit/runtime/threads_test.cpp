// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "unit/runtime/loops.hpp"
#include "weft/detail/coro/yield.hpp"
#include "weft/detail/runtime/loop_thread.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;
using testing::make_loop;

constexpr auto kPatience = std::chrono::milliseconds{testing::kPatienceMilliseconds * 3};

std::unique_ptr<LoopThread> start_thread(LoopThreadOptions options = {}) {
  auto thread = LoopThread::start(std::move(options));
  return std::move(thread).value();
}

struct WaitCase {
  PollerKind poller;
  WaitMode mode;
};

std::string wait_case_name(const ::testing::TestParamInfo<WaitCase>& info) {
  return std::string{to_string(info.param.poller)} + "_" + std::string{to_string(info.param.mode)};
}

class Waiting : public ::testing::TestWithParam<WaitCase> {
 protected:
  void SetUp() override {
    auto loop = Loop::create(options());
    if (!loop.ok()) GTEST_SKIP() << loop.status().to_string();
    if ((*loop)->poller_kind() != GetParam().poller) {
      GTEST_SKIP() << "this kernel refuses " << to_string(GetParam().poller);
    }
  }
  // A spin so short that going to sleep and being woken meet again and again.
  LoopOptions options() const { return {.poller = GetParam().poller, .mode = GetParam().mode, .spin = 5us}; }
};
INSTANTIATE_TEST_SUITE_P(Runtime, Waiting,
                         ::testing::Values(WaitCase{PollerKind::kEpoll, WaitMode::kWait},
                                           WaitCase{PollerKind::kEpoll, WaitMode::kAdaptive},
                                           WaitCase{PollerKind::kIoUring, WaitMode::kWait},
                                           WaitCase{PollerKind::kIoUring, WaitMode::kAdaptive}),
                         wait_case_name);

// Two loops hand each other a ball. Each is about to sleep whenever the ball comes: one lost wake-up and it
// stops.
TEST_P(Waiting, NoWakeUpIsLostBetweenTwoLoopsThatPostToEachOther) {
  constexpr int kPasses = 20'000;
  auto a = start_thread({.loop = options()});
  auto b = start_thread({.loop = options()});
  std::promise<void> over;
  struct Ball {
    LoopThread& here;
    LoopThread& there;
    std::promise<void>& over;
    int left;
    void operator()() {
      if (left == 0) return over.set_value();
      there.post(Ball{there, here, over, left - 1});
    }
  };
  a->post(Ball{*a, *b, over, kPasses});
  EXPECT_EQ(over.get_future().wait_for(kPatience), std::future_status::ready) << "the ball was lost";
}

TEST_P(Waiting, EverythingThatManyThreadsPostRunsOnceAndInTheirOrder) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 5'000;
  auto receiver = start_thread({.loop = options()});
  std::vector<int> last(kThreads, -1);
  int out_of_order = 0;
  int received = 0;
  std::promise<void> all;
  std::vector<std::thread> posters;
  for (int t = 0; t < kThreads; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < kPosts; ++i) {
        receiver->post([&, t, i] {
          int& previous = last[static_cast<std::size_t>(t)];
          if (previous != i - 1) ++out_of_order;
          previous = i;
          if (++received == kThreads * kPosts) all.set_value();
        });
        if (i % 64 == 0) std::this_thread::yield();
      }
    });
  }
  for (auto& poster : posters) poster.join();
  ASSERT_EQ(all.get_future().wait_for(kPatience), std::future_status::ready);
  receiver->stop();
  EXPECT_EQ(received, kThreads * kPosts);
  EXPECT_EQ(out_of_order, 0);
  EXPECT_LE(receiver->loop().stats().wakeups, std::uint64_t{kThreads} * kPosts);
}

TEST_P(Waiting, AStopReachesASleepingLoop) {
  for (int round = 0; round < 200; ++round) {
    auto thread = start_thread({.loop = options()});
    if (round % 2 == 0) thread->post([] {});
    thread->stop();
  }
}

TEST(WaitModes, ABusyLoopNeverSleeps) {
  auto loop = make_loop({.mode = WaitMode::kBusy});
  for (int i = 0; i < 100; ++i) loop->run_once(Loop::kForever);
  EXPECT_EQ(loop->stats().sleeps, 0u);
  EXPECT_EQ(loop->stats().polls, 100u);
}

TEST(WaitModes, AWaitingLoopSleepsWhenItHasNothingToDoAndOnlyThen) {
  auto loop = make_loop({.mode = WaitMode::kWait});
  loop->run_until_idle();
  const LoopStats before = loop->stats();
  loop->run_once(1ns);
  EXPECT_EQ(loop->stats().sleeps, before.sleeps + 1);
  EXPECT_EQ(loop->stats().polls, before.polls);
  loop->post([] {});
  loop->run_once(Loop::kForever);
  EXPECT_EQ(loop->stats().sleeps, before.sleeps + 1);
}

// Real time, as far as the loop knows, that passes when the test says so.
class SteppedClock final : public Clock {
 public:
  TimePoint now() override { return now_; }
  bool advances_by_itself() const override { return true; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{1h};
};

TEST(WaitModes, AnAdaptiveLoopAsksAgainForItsSpinAfterTheLastActivityAndThenSleeps) {
  SteppedClock clock;
  auto loop = make_loop({.mode = WaitMode::kAdaptive, .spin = 50us, .clock = &clock});
  loop->run_until_idle();
  for (int round = 0; round < 2; ++round) {
    const LoopStats before = loop->stats();
    loop->post([] {});
    loop->run_once(1ns);
    clock.advance(49us);
    for (int i = 0; i < 10; ++i) loop->run_once(1ns);
    EXPECT_EQ(loop->stats().sleeps, before.sleeps);
    clock.advance(1us);
    loop->run_once(1ns);
    EXPECT_EQ(loop->stats().sleeps, before.sleeps + 1);
  }
}

// Stops the loop while it is on its way to sleep, as another thread might at any moment.
class StoppingClock final : public Clock {
 public:
  TimePoint now() override {
    if (loop != nullptr) loop->stop();
    return detail::steady_clock_source().now();
  }
  bool advances_by_itself() const override { return true; }

  Loop* loop = nullptr;
};

struct SilentTimer final : Timer {
  void on_timer() override {}
};

TEST(WaitModes, AStopOnTheWayToSleepIsSeen) {
  StoppingClock clock;
  auto loop = make_loop({.mode = WaitMode::kWait, .clock = &clock});
  loop->run_until_idle();
  SilentTimer limit;
  loop->arm(limit, loop->now() + kPatience);
  clock.loop = loop.get();
  loop->run();
  EXPECT_EQ(loop->stats().sleeps, 0u);
}

// Is armed as the last thing before the loop sleeps, and posts just then.
class LatePoster final : public Poller {
 public:
  LatePoster(Loop& loop, int fd) : loop_(loop), fd_(fd) {}
  std::size_t poll() override { return 0; }
  bool arm() override {
    loop_.post([this] { ++ran; });
    return true;
  }
  int descriptor() const override { return fd_; }

  int ran = 0;

 private:
  Loop& loop_;
  int fd_;
};

TEST(WaitModes, APostAfterTheLastLookAtTheMailboxEndsTheSleep) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  auto loop = make_loop({.mode = WaitMode::kWait});
  LatePoster poster{*loop, fds[0]};
  ASSERT_TRUE(loop->add_poller(poster).ok());
  loop->run_until_idle();
  loop->run_once(kPatience);
  EXPECT_EQ(poster.ran, 1);
  EXPECT_EQ(loop->stats().wakeups, 1u);
  loop->remove_poller(poster);
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST(WaitModes, APostToALoopThatIsAwakeCostsNoSystemCall) {
  auto loop = make_loop({.mode = WaitMode::kWait});
  int ran = 0;
  std::thread{[&] {
    for (int i = 0; i < 100; ++i) loop->post([&] { ++ran; });
  }}.join();
  loop->run_until_idle();
  EXPECT_EQ(ran, 100);
  EXPECT_EQ(loop->stats().wakeups, 0u);
}

TEST(WaitModes, WithAManualClockALoopNeitherSpinsNorWaitsForTime) {
  ManualClock clock;
  auto loop = make_loop({.mode = WaitMode::kAdaptive, .clock = &clock});
  loop->post([] {});
  EXPECT_EQ(loop->run_until_idle(), 1u);
  const LoopStats before = loop->stats();
  loop->run_once(1ns);
  EXPECT_EQ(loop->stats().sleeps, before.sleeps + 1) << "its spin would never end";
}

TEST(LoopThread, RunsWhereAndAsWhatItWasAsked) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::size_t cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) ++cpu;
  auto thread = start_thread({.cpu = static_cast<int>(cpu), .name = "a-name-that-is-too-long"});
  std::promise<std::string> name;
  std::promise<int> processor;
  std::promise<Loop*> loop;
  thread->post([&] {
    char text[32]{};
    ::pthread_getname_np(::pthread_self(), text, sizeof text);
    name.set_value(text);
    processor.set_value(::sched_getcpu());
    loop.set_value(Loop::current());
  });
  EXPECT_EQ(name.get_future().get(), "a-name-that-is-");
  EXPECT_EQ(processor.get_future().get(), static_cast<int>(cpu));
  EXPECT_EQ(loop.get_future().get(), &thread->loop());
}

TEST(LoopThread, AProcessorThatIsNotThereIsAFailure) {
  for (const int cpu : {CPU_SETSIZE - 1, CPU_SETSIZE, 1'000'000}) {
    auto thread = LoopThread::start({.cpu = cpu});
    EXPECT_EQ(thread.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(thread.status().message().find(std::to_string(cpu)), std::string_view::npos);
  }
}

TEST(LoopThread, WorkPostedAfterTheStopIsDroppedWithIt) {
  auto token = std::make_shared<int>(0);
  auto thread = start_thread();
  thread->stop();
  thread->stop();
  thread->post([token] { FAIL() << "must not run"; });
  thread.reset();
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace weft
