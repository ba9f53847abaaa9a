// SPDX-License-Identifier: Apache-2.0
// CR-13, CR-21: coroutines of other loops call the servers of a fleet.
#include "weft/detail/fleet/fleet_on_loop.hpp"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "integration/threads/threads_testing.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/with_scope.hpp"
#include "weft/detail/fleet/fleet_client.hpp"
#include "weft/detail/runtime/with_deadline.hpp"

namespace weft::testing::fleet_on_loop_tests {
namespace {

FleetOptions options_of(std::string name) {
  FleetOptions options;
  options.name = std::move(name);
  options.outliers = std::nullopt;
  options.pool.client.call_timeout = kNoTimeout;
  return options;
}

class FleetsOfOtherLoops : public ::testing::Test {
 protected:
  ~FleetsOfOtherLoops() override {
    thread_->stop();
    fleet_.reset();
  }

  LoopFleet make() {
    run_on(thread_->loop(),
           [&] { fleet_ = std::make_unique<FleetClient>(thread_->loop(), options_of("static:" + both())); });
    return on_loop_of(*fleet_);
  }
  std::string both() const { return first_.url() + "," + second_.url(); }
  void end_fleet() {
    run_on(thread_->loop(), [this] { fleet_.reset(); });
  }
  /// Does `work` in a turn of the loop where coroutines begin.
  template <typename Work>
  void in_turn(Work work) {
    home_->post(work);
    home_->run_once(Duration::zero());
  }
  /// Blocks until one of the servers has been asked so often in all.
  void await_asked(int calls) const {
    while (first_.silence.asked.load() + second_.silence.asked.load() < calls) std::this_thread::yield();
  }
  void await_idle() {
    std::size_t in_flight = 1;
    while (in_flight != 0) {
      run_on(thread_->loop(), [&] { in_flight = fleet_->stats().calls_in_flight; });
    }
  }

  Served first_;
  Served second_;
  std::unique_ptr<LoopThread> thread_ = LoopThread::start().value();
  std::unique_ptr<FleetClient> fleet_;
  std::unique_ptr<Loop> home_ = Loop::create().value();
};

Task<void> add_there(LoopFleet fleet, Loop** went_on, Result<int>* result) {
  *result = co_await fleet.call<add>(1, 2);
  *went_on = Loop::current();
}
Task<void> ask_there(LoopFleet fleet, FleetCallOptions options, Status* status) {
  const Result<int> result = co_await fleet.call<&Silence::ask>(options);
  *status = result.status();
}

TEST_F(FleetsOfOtherLoops, AreCalledAndTheCoroutineGoesOnWhereItWas) {
  const LoopFleet fleet = make();
  Loop* went_on = nullptr;
  Result<int> result = 0;
  home_->block_on(add_there(fleet, &went_on, &result));
  EXPECT_EQ(result.value(), 3);
  EXPECT_EQ(went_on, home_.get());
  const std::string text(1'000'000, 'x');
  EXPECT_EQ(home_->block_on(fleet.call<echoed>(text)).value(), text);
  EXPECT_TRUE(home_->block_on(fleet.call<nothing>()).ok());
}

TEST_F(FleetsOfOtherLoops, MayBeOfTheCoroutinesOwn) {
  FleetClient own{*home_, options_of("static:" + both())};
  const LoopFleet fleet = on_loop_of(own);
  EXPECT_EQ(home_->block_on(fleet.call<add>(1, 2)).value(), 3);
  const std::vector<std::byte> bytes(10);
  const FleetCallOptions with_memory{.call = {.attachment = Bytes{bytes}}};
  const Status refused = home_->block_on(fleet.call<add>(with_memory, 1, 2)).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(refused.unprocessed());
}

TEST_F(FleetsOfOtherLoops, TakeManyCallsAtOnceThatAreKeptAndMoved) {
  const LoopFleet fleet = make();
  std::vector<decltype(fleet.call<add>(1, 2))> calls;
  for (int i = 0; i < 100; ++i) calls.push_back(fleet.call<add>(i, i));
  const std::vector<Result<int>> results = home_->block_on(when_all(std::move(calls)));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)].value(), 2 * i);
}

TEST_F(FleetsOfOtherLoops, AskAllServersAndAQuorum) {
  const LoopFleet fleet = make();
  const FleetCallOptions options{.call = {.timeout = 10s}};
  const FleetAnswers<int> all = home_->block_on(fleet.call_all<add>(options, 1, 2));
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  ASSERT_EQ(all->size(), 2u);
  for (const FleetAnswer<int>& one : *all) EXPECT_EQ(one.outcome.value(), 3);
  EXPECT_EQ(home_->block_on(fleet.call_all<add>(1, 2)).value().size(), 2u);
  EXPECT_EQ(home_->block_on(fleet.call_quorum<add>(1, 1, 2)).value().front().outcome.value(), 3);
  const FleetAnswers<int> two = home_->block_on(fleet.call_quorum<add>(2, options, 1, 2));
  ASSERT_TRUE(two.ok()) << two.status().to_string();
  EXPECT_EQ(two->size(), 2u);
  EXPECT_EQ(home_->block_on(fleet.call_quorum<add>(3, options, 1, 2)).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(FleetsOfOtherLoops, RefuseALandingForTheAnswersOfSeveralServers) {
  const LoopFleet fleet = make();
  std::vector<std::byte> memory(64);
  const FleetCallOptions options{.call = {.landing = MutableBytes{memory}}};
  const Status all = home_->block_on(fleet.call_all<add>(options, 1, 2)).status();
  EXPECT_EQ(all.code(), StatusCode::kInvalidArgument) << all.to_string();
  const Status two = home_->block_on(fleet.call_quorum<add>(2, options, 1, 2)).status();
  EXPECT_EQ(two.code(), StatusCode::kInvalidArgument) << two.to_string();
}

TEST_F(FleetsOfOtherLoops, TakeWhatACallCarries) {
  const LoopFleet fleet = make();
  const std::vector<std::byte> bytes(300'000, std::byte{7});
  const FleetCallOptions with_bytes{.call = {.attachment = Bytes{bytes}}};
  const auto answer = home_->block_on(fleet.call<with_attachment>(with_bytes).with_attachment());
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->value, bytes.size());
  EXPECT_EQ(answer->attachment.size(), bytes.size());

  EXPECT_EQ(home_->block_on(fleet.call<time_left>()).value(), 0);
  const Deadline deadline = Deadline::after(home_->now(), 1min);
  const auto left = home_->block_on(with_deadline(deadline, fleet.call<time_left>()));
  EXPECT_GT(left.value(), 0);
  EXPECT_LE(left.value(), 60'000);

  Metadata blue;
  blue.set("tenant", "blue").value();
  Metadata green;
  green.set("tenant", "green").value();
  CancelScope scope;
  scope.set_carried(MetadataView{blue}.bytes());
  const auto told = [&](auto call) { return home_->block_on(with_scope(scope, std::move(call))); };
  EXPECT_EQ(told(fleet.call<tenant>()).value(), "tenant=blue;");
  const FleetCallOptions with_green{.call = {.metadata = green.view()}};
  EXPECT_EQ(told(fleet.call<tenant>(with_green)).value(), "tenant=green;");
}

TEST_F(FleetsOfOtherLoops, EndACallThatIsCancelledOrLate) {
  const LoopFleet fleet = make();
  const Deadline soon = Deadline::after(home_->now(), 10ms);
  EXPECT_EQ(home_->block_on(with_deadline(soon, fleet.call<&Silence::ask>())).status().code(),
            StatusCode::kDeadlineExceeded);
  const int asked = first_.silence.asked.load() + second_.silence.asked.load();
  Status status;
  Scope scope;
  in_turn([&] { scope.spawn(&ask_there, fleet, FleetCallOptions{}, &status); });
  await_asked(asked + 1);
  scope.cancel(CancelReason::kRequested);
  home_->block_on(scope.join());
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  await_idle();

  CancelScope cancelled;
  cancelled.cancel(CancelReason::kRequested);
  const Status never = home_->block_on(with_scope(cancelled, fleet.call<add>(1, 2))).status();
  EXPECT_EQ(never.code(), StatusCode::kCancelled);
  EXPECT_TRUE(never.unprocessed());
}

TEST_F(FleetsOfOtherLoops, GiveMemoryBackBeforeACoroutineGoesOnOrIsGone) {
  const LoopFleet fleet = make();
  std::vector<std::byte> bytes(1 << 20);
  const FleetCallOptions options{.call = {.attachment = Bytes{bytes}}};
  Status status;
  Scope scope;
  in_turn([&] { scope.spawn(&ask_there, fleet, options, &status); });
  await_asked(1);
  scope.cancel(CancelReason::kRequested);
  home_->block_on(scope.join());
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.to_string();
  Scope dropped;
  in_turn([&] { dropped.spawn(&ask_there, fleet, options, &status); });
  await_asked(2);
  dropped.drop_all();
  std::size_t in_flight = 1;
  run_on(thread_->loop(), [&] { in_flight = fleet_->stats().calls_in_flight; });
  EXPECT_EQ(in_flight, 0u) << "nothing has the memory any more";
}

TEST_F(FleetsOfOtherLoops, EndTheirCallsWithTheFleetAndWithItsLoop) {
  const LoopFleet fleet = make();
  auto made_before = fleet.call<add>(1, 2);
  std::thread ends{[this] {
    await_asked(1);
    end_fleet();
  }};
  EXPECT_EQ(home_->block_on(fleet.call<&Silence::ask>()).status().code(), StatusCode::kCancelled);
  ends.join();
  EXPECT_EQ(home_->block_on(std::move(made_before)).status().message(), "the fleet has ended");
  thread_->stop();
  const Status stopped = home_->block_on(fleet.call<add>(1, 2)).status();
  EXPECT_EQ(stopped.code(), StatusCode::kCancelled);
  EXPECT_EQ(stopped.message(), "the fleet's loop was stopped");
  EXPECT_TRUE(stopped.unprocessed());
}

/// One loop asks, the other has the fleet; both are driven by this thread, step by step.
struct TwoLoops {
  explicit TwoLoops(const std::string& name) : fleet(*theirs, options_of(name)) {}
  void step() {
    home->run_once(Duration::zero());
    theirs->run_once(Duration::zero());
  }

  std::unique_ptr<Loop> home = Loop::create().value();
  std::unique_ptr<Loop> theirs = Loop::create().value();
  FleetClient fleet;
};

Task<void> ask_once(LoopFleet fleet, std::string text, bool* answered) {
  const Result<std::string> answer = co_await fleet.call<echoed>(text);
  *answered = answer.ok() && *answer == text;
}

TEST_F(FleetsOfOtherLoops, MayLoseTheCoroutineAndItsLoopAtAnyMoment) {
  bool answered = false;
  for (int steps = 0; !answered; ++steps) {
    TwoLoops loops{"static:" + first_.url()};
    Scope scope;
    loops.home->post(
        [&] { scope.spawn(&ask_once, on_loop_of(loops.fleet), std::string(10'000, 'x'), &answered); });
    for (int i = 0; i < steps && !answered; ++i) loops.step();
    scope.drop_all();
    if (steps % 2 == 0) loops.home = Loop::create().value();
    for (int i = 0; i < 5; ++i) loops.step();
  }
}

TEST_F(FleetsOfOtherLoops, MayHaveTheCoroutineCancelledAtAnyMoment) {
  bool answered = false;
  for (int steps = 1; !answered; ++steps) {
    TwoLoops loops{"static:" + first_.url()};
    Scope scope;
    loops.home->post(
        [&] { scope.spawn(&ask_once, on_loop_of(loops.fleet), std::string(10'000, 'x'), &answered); });
    for (int i = 0; i < steps && !answered; ++i) loops.step();
    scope.cancel(CancelReason::kRequested);
    while (scope.count() != 0) loops.step();
  }
}

Task<void> call_many(LoopFleet fleet, int calls, int* right) {
  for (int i = 0; i < calls; ++i) {
    if (i % 3 == 0) {
      const Deadline now = Deadline{Loop::current()->now() + std::chrono::microseconds{i}};
      [[maybe_unused]] const auto maybe = co_await with_deadline(now, fleet.call<add>(i, 1));
      ++*right;
    } else {
      const Result<int> sum = co_await fleet.call<add>(i, 1);
      *right += sum.ok() && *sum == i + 1 ? 1 : 0;
    }
  }
}

TEST_F(FleetsOfOtherLoops, AreCalledFromManyLoopsWhileCallsAreCancelled) {
  const LoopFleet fleet = make();
  constexpr int kThreads = 3;
  constexpr int kCalls = 300;
  int right[kThreads] = {};
  std::vector<std::jthread> threads;
  for (int& mine : right) {
    threads.emplace_back([fleet, &mine] {
      auto loop = Loop::create().value();
      loop->block_on(call_many(fleet, kCalls, &mine));
    });
  }
  threads.clear();
  for (const int each : right) EXPECT_EQ(each, kCalls);
}

}  // namespace
}  // namespace weft::testing::fleet_on_loop_tests
