// SPDX-License-Identifier: Apache-2.0
// Several threads use objects of UCX that any thread may use, and objects of a loop on another thread.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "unit/ucx/pair.hpp"
#include "weft/detail/runtime/loop_thread.hpp"
#include "weft/detail/ucx/log.hpp"
#include "weft/detail/ucx/status.hpp"

namespace weft::ucx {
namespace {

/// Runs `work` on four threads, which begin together.
template <typename Work>
void on_threads_at_once(Work work) {
  std::latch begin{4};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      begin.arrive_and_wait();
      work();
    });
  }
}

// Each is made and ends beside the others, and one is shared by the workers of all threads.
TEST(UcxThreads, MakeContextsAndShareThem) {
  const auto shared = testing::make_context(testing::ways().front());
  on_threads_at_once([&] {
    EXPECT_TRUE(Context::create({.features = {.tag = true}, .transports = {"tcp"}, .devices = {"lo"}}).ok());
    const auto loop = Loop::create().value();
    const auto its = shared;
    EXPECT_TRUE(Worker::create(*loop, its).ok());
    EXPECT_FALSE(its->description().empty());
  });
}

TEST(UcxThreads, ReadSettingsAndDescribeFailures) {
  const std::string settings = settings_before_contexts();
  EXPECT_FALSE(settings.empty());
  const Status failure = to_setup_status(UCS_ERR_INVALID_PARAM, "making a thing");
  on_threads_at_once([&] {
    EXPECT_EQ(settings_before_contexts(), settings);
    EXPECT_EQ(to_setup_status(UCS_ERR_INVALID_PARAM, "making a thing").message(), failure.message());
  });
}

class CountingLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override { ++messages; }
  std::atomic<int> messages = 0;
};

// UCX warns of the transport. Each warning reaches one of the two loggers.
TEST(UcxThreads, SetTheLoggerWhileOthersCauseWarnings) {
  std::array<CountingLogger, 2> loggers;
  constexpr int kRounds = 10;
  log_to(loggers.data());
  on_threads_at_once([&] {
    for (int round = 0; round < kRounds; ++round) {
      log_to(&loggers[static_cast<std::size_t>(round % 2)]);
      const auto made = Context::create({.features = {.tag = true},
                                         .transports = {"no_such_transport"},
                                         .settings = {{"LOG_LEVEL", "warn"}}});
      EXPECT_FALSE(made.ok());
    }
  });
  log_to(nullptr);
  EXPECT_GE(loggers[0].messages + loggers[1].messages, 4 * kRounds);
  // Of the process: as the other tests want it.
  EXPECT_TRUE(Context::create({.features = {.tag = true}, .settings = {{"LOG_LEVEL", "fatal"}}}).ok());
}

/// A context, and a loop that a thread of its own has begun to run.
struct LoopElsewhere {
  LoopElsewhere() {
    std::latch begun{1};
    thread->post([&] { begun.count_down(); });
    begun.wait();
  }
  std::shared_ptr<Context> context = testing::make_context(testing::ways().front());
  std::unique_ptr<weft::LoopThread> thread = weft::LoopThread::start().value();
};

void make_a_worker_elsewhere() {
  const LoopElsewhere elsewhere;
  static_cast<void>(Worker::create(elsewhere.thread->loop(), elsewhere.context));
}

void end_a_worker_elsewhere() {
  const LoopElsewhere elsewhere;
  std::unique_ptr<Worker> worker;
  std::latch made{1};
  elsewhere.thread->post([&] {
    worker = Worker::create(elsewhere.thread->loop(), elsewhere.context).value();
    made.count_down();
  });
  made.wait();
  worker.reset();
}

TEST(UcxThreadDeathTest, AWorkerElsewhereEndsTheProcessWithAMessage) {
  constexpr const char* kElsewhere = "was added, moved or removed while another thread runs the loop";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(make_a_worker_elsewhere(), kElsewhere);
  EXPECT_DEATH(end_a_worker_elsewhere(), kElsewhere);
}

}  // namespace
}  // namespace weft::ucx
