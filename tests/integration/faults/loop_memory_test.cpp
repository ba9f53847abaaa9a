// SPDX-License-Identifier: Apache-2.0
// CR-25; resources: each allocation fails once while a server makes and ends the objects of its loops, and
// while a function goes to a worker and comes back.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <weft/weft.hpp>

#include "support/heap_count.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::faults::loop_memory_tests {
namespace {

using testing::allocation_anywhere_still_to_fail;
using testing::fail_allocations_anywhere;
using testing::kHeapIsCounted;

struct Counts {
  std::atomic<int> made = 0;
  std::atomic<int> ended = 0;
};

/// Has something of its own that runs, and takes memory.
class Busy {
 public:
  explicit Busy(Counts& counts) : counts_(counts) {
    scope_.spawn(&Busy::wait, &stop_);
    ++counts_.made;
  }
  ~Busy() { ++counts_.ended; }
  Task<void> close() {
    stop_.set();
    co_await scope_.join();
  }

 private:
  static Task<void> wait(Event* stop) {
    const Result<void> stopped = co_await stop->wait();
    EXPECT_TRUE(stopped.ok());
  }
  Counts& counts_;
  Event stop_;
  Scope scope_;
};
struct Plain {
  explicit Plain(Loop& loop) : client(loop, {.connect = "tcp://127.0.0.1:1"}) {}
  Client client;
};

std::unique_ptr<Server> make_server(Loop* loop, Counts& counts) {
  ServerOptions options;
  options.listen = {"tcp://127.0.0.1:0"};
  options.threads = loop == nullptr ? 2 : 0;
  options.loop = loop;
  auto server = std::make_unique<Server>(std::move(options));
  server->per_loop<Plain>();
  server->per_loop<Busy>([&counts](Loop&) -> Task<Result<std::unique_ptr<Busy>>> {
    co_await yield();
    co_return std::make_unique<Busy>(counts);
  });
  return server;
}

class LoopMemory : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Loop> own_ = Loop::create().value();
  Loop* loop_ = GetParam() ? own_.get() : nullptr;
  const testing::MallocsFailToo mallocs_fail_too_;
};

TEST_P(LoopMemory, ThatIsShortFailsTheStartAndLeavesNothing) {
  if (!kHeapIsCounted) GTEST_SKIP() << "operator new is the sanitizer's";
  std::size_t failed = 0;
  bool all_tried = false;
  for (std::size_t nth = 1; !all_tried; ++nth) {
    Counts counts;
    {
      const auto server = make_server(loop_, counts);
      fail_allocations_anywhere(nth);
      const Result<void> started = server->start();
      all_tried = allocation_anywhere_still_to_fail();
      fail_allocations_anywhere(0);
      if (!started.ok()) {
        ++failed;
        EXPECT_EQ(started.status().code(), StatusCode::kResourceExhausted) << started.status().to_string();
        EXPECT_EQ(counts.made, counts.ended);
        EXPECT_TRUE(server->start().ok());
      }
    }
    EXPECT_EQ(counts.made, counts.ended) << nth;
  }
  EXPECT_GT(failed, 10);
}

TEST_P(LoopMemory, ThatIsShortDoesNotKeepAnythingFromEnding) {
  if (!kHeapIsCounted) GTEST_SKIP() << "operator new is the sanitizer's";
  bool all_tried = false;
  for (std::size_t nth = 1; !all_tried; ++nth) {
    Counts counts;
    auto server = make_server(loop_, counts);
    server->start().value();
    fail_allocations_anywhere(nth, 3);
    server.reset();
    all_tried = allocation_anywhere_still_to_fail();
    fail_allocations_anywhere(0);
    EXPECT_EQ(counts.ended, loop_ == nullptr ? 2 : 1);
  }
}

INSTANTIATE_TEST_SUITE_P(On, LoopMemory, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "ALoopOfTheUsers" : "LoopsOfItsOwn"; });

TEST(WorkerMemory, ThatIsShortIsAStatusAndNothingIsLost) {
  if (!kHeapIsCounted) GTEST_SKIP() << "operator new is the sanitizer's";
  const auto loop = Loop::create().value();
  const auto pool = WorkerPool::start({.threads = 1}).value();
  const std::string text(100, 'x');
  const auto length = [&] {
    return loop->block_on(on_worker(
        *pool, [](const std::string& its, const std::string* also) { return its.size() + also->size(); },
        text, &text));
  };
  ASSERT_EQ(length().value(), 200);
  std::size_t refused = 0;
  bool all_tried = false;
  for (std::size_t nth = 1; !all_tried; ++nth) {
    fail_allocations_anywhere(nth);
    try {
      const Result<std::size_t> result = length();
      all_tried = allocation_anywhere_still_to_fail();
      fail_allocations_anywhere(0);
      if (!result.ok()) ++refused;
      EXPECT_EQ(result.status().code(), result.ok() ? StatusCode::kOk : StatusCode::kResourceExhausted);
    } catch (const std::bad_alloc&) {  // the frame of the coroutine that awaits it
      fail_allocations_anywhere(0);
    }
  }
  EXPECT_GE(refused, 2) << "the record, and the text that it owns";
  EXPECT_EQ(length().value(), 200);
}

TEST(WorkerMemory, IsTwoAllocationsForEachFunction) {
  if (!kHeapIsCounted) GTEST_SKIP() << "operator new is the sanitizer's";
  const auto loop = Loop::create().value();
  const auto pool = WorkerPool::start({.threads = 1}).value();
  const auto hand_over = [](WorkerPool* its, int times) -> Task<void> {
    for (int i = 0; i < times; ++i) {
      const Result<int> result = co_await on_worker(*its, [] { return 1; });
      EXPECT_TRUE(result.ok());
    }
  };
  loop->block_on(hand_over(pool.get(), 1));
  const std::size_t before = testing::heap_allocations();
  loop->block_on(hand_over(pool.get(), 100));
  EXPECT_LE(testing::heap_allocations() - before, 200 + 1);
}

TEST(WorkerMemory, ThatIsShortFailsTheStartOfAPool) {
  if (!kHeapIsCounted) GTEST_SKIP() << "operator new is the sanitizer's";
  bool all_tried = false;
  for (std::size_t nth = 1; !all_tried; ++nth) {
    WorkerPoolOptions options{.name = "a name of the threads", .threads = 3};
    fail_allocations_anywhere(nth);
    const auto pool = WorkerPool::start(std::move(options));
    all_tried = allocation_anywhere_still_to_fail();
    fail_allocations_anywhere(0);
    EXPECT_EQ(pool.status().code(), all_tried ? StatusCode::kOk : StatusCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace weft::faults::loop_memory_tests
