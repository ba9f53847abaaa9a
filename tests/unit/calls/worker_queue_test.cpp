// SPDX-License-Identifier: Apache-2.0
// Who is next when calls wait for a worker, and who has to go when there are too many.
#include "calls/serve/worker_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "calls/serve/calls_host.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr TimePoint kStart{std::chrono::hours{1}};

/// A connection whose answers nobody looks at.
class QuietSink final : public AnswerSink {
 public:
  explicit QuietSink(std::uint64_t connection) : AnswerSink(connection) {}
  std::byte* begin_answer(std::uint64_t, std::size_t, std::uint64_t) override { return nullptr; }
  void end_answer() override {}
  void take_back_answer(const std::byte*) override {}
  void end_answer_with(std::uint64_t, Attachment&, std::unique_ptr<AnswerWishes>) override {}
  void fail(std::uint64_t, const Status&) override {}
  void refuse(std::uint64_t, RefusalReason, const Status&) override {}
  void refuse_without_memory(std::uint64_t) override {}
  bool has_room() const noexcept override { return true; }
  void add_room_waiter(RoomWaiter&) override {}
  void wake_room_waiter() override {}
  bool charge_answer(std::size_t) override { return true; }
  void forget(ServedCall&) override {}
  std::string local_endpoint() const override { return {}; }
  std::string remote_endpoint() const override { return {}; }
  std::shared_ptr<void>& connection_tag() override { return tag_; }
  void finish() override {}

 private:
  std::shared_ptr<void> tag_;
};

class WorkerQueues : public ::testing::Test {
 protected:
  WorkerQueues() { host_.memory.emplace(std::make_shared<MemoryBudget>(0)); }

  /// A call of `connection`, which ends with the test.
  ServedCall& call(std::uint64_t connection) { return call(connection, method_); }
  ServedCall& call(std::uint64_t connection, const MethodEntry& method) {
    auto& sink = sinks_[connection];
    if (sink == nullptr) sink = std::make_unique<QuietSink>(connection);
    ServedRequest request{.id = ++last_id_, .kept{*host_.memory, 0}};
    calls_.push_back(std::make_unique<ServedCall>(*sink, host_, *loop_, method, std::move(request)));
    return *calls_.back();
  }
  bool add(std::uint64_t connection) {
    ServedCall* gone = nullptr;
    const bool taken = !queue_.add(call(connection), gone);
    if (gone != nullptr) gone_.push_back(gone->connection_id());
    return taken;
  }
  /// Takes all, or so many.
  std::vector<std::uint64_t> take(std::size_t count = 1000) {
    std::vector<std::uint64_t> connections;
    while (connections.size() < count) {
      ServedCall* next = queue_.next(kStart);
      if (next == nullptr) break;
      connections.push_back(next->connection_id());
    }
    return connections;
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  CallsHost host_;
  MethodEntry method_;
  std::map<std::uint64_t, std::unique_ptr<QuietSink>> sinks_;
  std::deque<std::unique_ptr<ServedCall>> calls_;
  std::uint64_t last_id_ = 0;
  std::vector<std::uint64_t> gone_;
  WorkerQueue queue_{12, 0};
};

TEST_F(WorkerQueues, ServeConnectionsInTurn) {
  for (int i = 0; i < 4; ++i) add(1);
  add(2);
  add(2);
  add(3);
  EXPECT_THAT(take(), ElementsAre(1, 2, 3, 1, 2, 1, 1));
}

TEST_F(WorkerQueues, ThatAreFullOfOneConnectionsCallsTakeThoseOfOthers) {
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(add(1));
  EXPECT_FALSE(add(1)) << "it has them all";
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(add(2));
  EXPECT_FALSE(add(2)) << "it has its half";
  EXPECT_THAT(gone_, ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(take(4), ElementsAre(1, 2, 1, 2));
}

TEST_F(WorkerQueues, GiveEachOfTenConnectionsItsShareUnderTenTimesTheLoad) {
  std::map<std::uint64_t, int> served;
  for (int round = 0; round < 1000; ++round) {
    for (std::uint64_t connection = 1; connection <= 10; ++connection) add(connection);
    for (const std::uint64_t connection : take(1)) ++served[connection];
  }
  for (const auto& [connection, count] : served) EXPECT_NEAR(count, 100, 30) << connection;
  EXPECT_EQ(served.size(), 10u);
}

TEST_F(WorkerQueues, LeaveWorkersToOtherMethodsWhenOneRunsAsOftenAsItMay) {
  MethodEntry slow;
  slow.options.running_max = 2;
  ServedCall* gone = nullptr;
  for (int i = 0; i < 5; ++i) ASSERT_FALSE(queue_.add(call(1, slow), gone));
  add(2);
  EXPECT_THAT(take(), ElementsAre(1, 2, 1)) << "two of the slow ones, and the other";
  EXPECT_TRUE(queue_.ended(slow, kStart));
  EXPECT_THAT(take(), ElementsAre(1));
}

TEST_F(WorkerQueues, BoundHowManyCallsOfAMethodWait) {
  MethodEntry rare;
  rare.options.waiting_max = 2;
  ServedCall* gone = nullptr;
  ServedCall& first = call(1, rare);
  EXPECT_FALSE(queue_.add(first, gone));
  EXPECT_FALSE(queue_.add(call(2, rare), gone));
  const auto refused = queue_.add(call(3, rare), gone);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status.message(),
            "as many calls of the method wait for a worker as may (HandlerOptions::waiting_max)");
  EXPECT_TRUE(add(3)) << "another method";
  EXPECT_TRUE(queue_.remove(first));
  EXPECT_FALSE(queue_.remove(first));
  EXPECT_FALSE(queue_.add(call(3, rare), gone));
}

TEST_F(WorkerQueues, CountNoCallAsWaitingThatAWorkerIsAboutToTake) {
  MethodEntry rare;
  rare.options.waiting_max = 1;
  WorkerQueue queue{12, 3};
  ServedCall* gone = nullptr;
  EXPECT_FALSE(queue.add(call(1), gone)) << "of another method, for the first worker";
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(queue.add(call(1, rare), gone)) << i;
  EXPECT_TRUE(queue.add(call(1, rare), gone)) << "two are for workers, and one waits";
  for (int i = 0; i < 3; ++i) ASSERT_NE(queue.next(kStart), nullptr);
  EXPECT_TRUE(queue.add(call(1, rare), gone)) << "all workers have calls, and one waits";
  ASSERT_FALSE(queue.ended(rare, kStart));
  EXPECT_FALSE(queue.add(call(1, rare), gone)) << "the one that waits is for the worker that is free";
}

TEST_F(WorkerQueues, CountCallsAsWaitingThatTheirMethodDoesNotLetRun) {
  MethodEntry rare;
  rare.options.running_max = 1;
  rare.options.waiting_max = 1;
  WorkerQueue queue{12, 3};
  ServedCall* gone = nullptr;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(queue.add(call(1, rare), gone)) << i;
  EXPECT_TRUE(queue.add(call(1, rare), gone));
}

TEST_F(WorkerQueues, AreNotFullOfCallsThatWorkersAreAboutToTake) {
  WorkerQueue queue{1, 3};
  ServedCall* gone = nullptr;
  const auto takes = [&](const MethodEntry& method) { return !queue.add(call(1, method), gone); };
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(takes(method_)) << i;
  EXPECT_FALSE(takes(method_)) << "three are for workers, and one waits";
  for (int i = 0; i < 3; ++i) ASSERT_NE(queue.next(kStart), nullptr);
  EXPECT_FALSE(takes(method_)) << "all workers have calls, and one waits";
  ASSERT_FALSE(queue.ended(method_, kStart));
  EXPECT_TRUE(takes(method_)) << "the one that waited is for the worker that is free";
  EXPECT_FALSE(takes(method_));
}

TEST_F(WorkerQueues, TakeWhatAnIdleWorkerMayRunAlthoughCallsOfAnotherMethodFillThem) {
  MethodEntry rare;
  rare.options.running_max = 1;
  WorkerQueue queue{1, 3};
  ServedCall* gone = nullptr;
  const auto takes = [&](const MethodEntry& method) { return !queue.add(call(1, method), gone); };
  EXPECT_TRUE(takes(rare)) << "for a worker";
  EXPECT_TRUE(takes(rare)) << "waits";
  EXPECT_FALSE(takes(rare)) << "no worker may take it";
  EXPECT_TRUE(takes(method_));
  EXPECT_TRUE(takes(method_));
  EXPECT_FALSE(takes(method_)) << "all three workers have something to take, and one waits";
  for (int i = 0; i < 3; ++i) ASSERT_NE(queue.next(kStart), nullptr);
  EXPECT_EQ(queue.next(kStart), nullptr);
  ASSERT_FALSE(queue.ended(method_, kStart));
  EXPECT_FALSE(takes(rare)) << "a worker is free, and not for this method";
  EXPECT_TRUE(takes(method_));
}

TEST_F(WorkerQueues, ShareAlsoThePlacesOfCallsThatWorkersAreAboutToTake) {
  WorkerQueue queue{2, 4};
  ServedCall* gone = nullptr;
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(queue.add(call(1), gone)) << i;
  EXPECT_TRUE(queue.add(call(1), gone));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(queue.add(call(2), gone)) << i;
    ASSERT_NE(gone, nullptr) << "one of the connection that has more than half";
    EXPECT_EQ(gone->connection_id(), 1u);
  }
  EXPECT_TRUE(queue.add(call(2), gone)) << "it has its half";
}

TEST_F(WorkerQueues, TellWhoIsRefusedHowLongWhatWaitsTakes) {
  MethodEntry rare;
  rare.options.waiting_max = 3;
  WorkerQueue queue{4, 1};
  ServedCall* gone = nullptr;
  for (int i = 0; i < 4; ++i) ASSERT_FALSE(queue.add(call(1, rare), gone)) << i;
  const auto unknown = queue.add(call(1, rare), gone);
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->retry_after, 10ms) << "nothing is known of how long they take";
  const auto run = [&](Duration takes) {
    ASSERT_NE(queue.next(kStart), nullptr);
    static_cast<void>(queue.ended(rare, kStart + takes));
  };
  run(40ms);
  const auto refused_of_method = [&] {
    while (!queue.add(call(1, rare), gone)) continue;
    return queue.add(call(1, rare), gone)->retry_after;
  };
  ASSERT_NE(queue.next(kStart + 40ms), nullptr) << "the worker is busy, and three wait";
  EXPECT_EQ(refused_of_method(), 120ms);
  ASSERT_FALSE(queue.add(call(1), gone)) << "of another method";
  EXPECT_EQ(queue.add(call(1), gone)->retry_after, 160ms) << "all four of the queue";
}

TEST(ServiceTimes, AreMeansOfThoseThatEndedAndTellOfAMillisecondToASecond) {
  ServiceTime time;
  EXPECT_EQ(time.wait(1, 1), 10ms);
  TimePoint now = kStart;
  const auto take = [&](Duration takes) {
    time.begins(now, 0);
    time.begins(now, 1);
    now += takes;
    time.ends(now, 2);
    time.ends(now, 1);
    now += 1h;
  };
  take(20ms);
  EXPECT_EQ(time.wait(1, 1), 20ms) << "each of both, and not both together, nor the time between";
  EXPECT_EQ(time.wait(10, 4), 50ms);
  EXPECT_EQ(time.wait(1000, 1), 1s);
  for (int i = 0; i < 1000; ++i) take(1us);
  EXPECT_EQ(time.wait(1, 1), 1ms) << "what was long ago is forgotten";
}

}  // namespace
}  // namespace weft
