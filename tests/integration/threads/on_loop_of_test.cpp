// SPDX-License-Identifier: Apache-2.0
// CR-21: calls of coroutines through the clients of other loops.
#include <cstring>
#include <optional>

#include "integration/threads/threads_testing.hpp"
#include "weft/detail/coro/with_scope.hpp"

namespace weft::testing::on_loop_of_tests {
namespace {

class OnLoopOf : public ::testing::Test {
 protected:
  Served served;
  std::unique_ptr<Loop> home = Loop::create().value();
};

/// Does `work` in a turn of `loop`, where coroutines begin.
template <typename Work>
void in_turn(Loop& loop, Work work) {
  loop.post(work);
  loop.run_once(Duration::zero());
}

struct Outcome {
  std::optional<Result<int>> result;
  Loop* went_on = nullptr;
};

Task<void> add_on(LoopCaller caller, int a, int b, Outcome* outcome) {
  outcome->result = co_await caller.call<add>(a, b);
  outcome->went_on = Loop::current();
}
Task<Result<int>> ask_on(LoopCaller caller) {
  co_return co_await caller.call<&Silence::ask>();
}

TEST_F(OnLoopOf, ACoroutineGoesOnWhereItWas) {
  RemoteLoop remote{served.url()};
  Outcome outcome;
  home->block_on(add_on(on_loop_of(remote.client()), 1, 2, &outcome));
  EXPECT_EQ(outcome.result->value(), 3);
  EXPECT_EQ(outcome.went_on, home.get());
  EXPECT_EQ(
      home->block_on(on_loop_of(remote.client()).call<echoed>(std::string(100'000, 'x'))).value().size(),
      100'000u);
  EXPECT_TRUE(home->block_on(on_loop_of(remote.client()).call<nothing>()).ok());
}

TEST_F(OnLoopOf, TheLoopMayBeTheCoroutinesOwn) {
  Client client{*home, {.connect = served.url()}};
  EXPECT_EQ(home->block_on(on_loop_of(client).call<add>(1, 2)).value(), 3);
}

TEST_F(OnLoopOf, ABlockingClientServesCoroutinesToo) {
  BlockingClient client{{.connect = served.url()}};
  EXPECT_EQ(home->block_on(on_loop_of(client).call<add>(1, 2)).value(), 3);
}

TEST_F(OnLoopOf, CallsMayBeKeptMovedAndAwaitedTogether) {
  RemoteLoop remote{served.url()};
  std::vector<detail::CallOnLoop<int>> calls;
  for (int i = 0; i < 50; ++i) calls.push_back(on_loop_of(remote.client()).call<add>(i, i));
  const std::vector<Result<int>> results = home->block_on(when_all(std::move(calls)));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)].value(), 2 * i);
}

TEST_F(OnLoopOf, AttachmentsGoBothWays) {
  RemoteLoop remote{served.url()};
  const std::vector<std::byte> sent = pattern(300'000);
  const CallOptions options{.attachment = Bytes{sent}};
  auto answer = home->block_on(on_loop_of(remote.client()).call<with_attachment>(options).with_attachment());
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  ASSERT_EQ(answer->attachment.size(), sent.size());
  EXPECT_EQ(std::memcmp(answer->attachment.data(), sent.data(), sent.size()), 0);
}

TEST_F(OnLoopOf, DeadlineAndMetadataOfTheCoroutineGoAlong) {
  RemoteLoop remote{served.url(), {.call_timeout = kNoTimeout}};
  LoopCaller caller = on_loop_of(remote.client());
  EXPECT_EQ(home->block_on(caller.call<time_left>()).value(), 0);
  const Deadline deadline = Deadline::after(home->now(), 1min);
  const std::int64_t left = home->block_on(with_deadline(deadline, caller.call<time_left>())).value();
  EXPECT_GT(left, 0);
  EXPECT_LE(left, 60'000);
  Metadata blue;
  blue.set("tenant", "blue").value();
  CancelScope scope;
  scope.set_carried(MetadataView{blue}.bytes());
  auto told = home->block_on(with_scope(scope, caller.call<tenant>()));
  EXPECT_EQ(told.value(), "tenant=blue;");
  const Deadline soon = Deadline::after(home->now(), 10ms);
  EXPECT_EQ(home->block_on(with_deadline(soon, caller.call<&Silence::ask>())).status().code(),
            StatusCode::kDeadlineExceeded);
}

TEST_F(OnLoopOf, ACancelReachesTheCall) {
  RemoteLoop remote{served.url(), {.call_timeout = kNoTimeout}};
  Scope scope;
  Result<int> result = 0;
  in_turn(*home, [&] {
    scope.spawn(
        [](LoopCaller caller, Result<int>* to) -> Task<void> { *to = co_await ask_on(std::move(caller)); },
        on_loop_of(remote.client()), &result);
  });
  served.silence.await(1);
  scope.cancel(CancelReason::kRequested);
  home->block_on(scope.join());
  EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
  // The call left its client as well, once the loop heard of it.
  std::size_t in_flight = 1;
  while (in_flight != 0) run_on(remote.loop(), [&] { in_flight = remote.client().stats().calls_in_flight; });
}

TEST_F(OnLoopOf, WhatIsCancelledBeforeItBeginsIsNotSent) {
  RemoteLoop remote{served.url()};
  CancelScope scope;
  scope.cancel(CancelReason::kRequested);
  const Status status =
      home->block_on(with_scope(scope, on_loop_of(remote.client()).call<add>(1, 2))).status();
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_TRUE(status.unprocessed());
}

TEST_F(OnLoopOf, ALoopThatStopsEndsTheCall) {
  RemoteLoop remote{served.url(), {.call_timeout = kNoTimeout}};
  LoopCaller caller = on_loop_of(remote.client());
  std::thread stopper{[&] {
    served.silence.await(1);
    remote.stop();
  }};
  EXPECT_EQ(home->block_on(caller.call<&Silence::ask>()).status().code(), StatusCode::kCancelled);
  stopper.join();
  EXPECT_EQ(home->block_on(caller.call<add>(1, 2)).status().code(), StatusCode::kCancelled);
}

TEST_F(OnLoopOf, ACallerMayOutliveItsClient) {
  RemoteLoop remote{served.url()};
  LoopCaller caller = on_loop_of(remote.client());
  auto made_before = caller.call<add>(1, 2);
  remote.end_client();
  EXPECT_EQ(home->block_on(std::move(made_before)).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(home->block_on(caller.call<add>(1, 2)).status().code(), StatusCode::kCancelled);
}

// One loop asks, the other has the client; both are driven by this thread, step by step.
struct TwoLoops {
  explicit TwoLoops(const std::string& url) : client(*theirs, {.connect = url, .call_timeout = kNoTimeout}) {}
  void step() {
    home->run_once(Duration::zero());
    theirs->run_once(Duration::zero());
  }

  std::unique_ptr<Loop> home = Loop::create().value();
  std::unique_ptr<Loop> theirs = Loop::create().value();
  Client client;
};

Task<void> ask_once(LoopCaller caller, std::string text, bool* answered) {
  const Result<std::string> answer = co_await caller.call<echoed>(text);
  *answered = answer.ok() && *answer == text;
}

TEST_F(OnLoopOf, TheCoroutineMayBeDroppedAtAnyMoment) {
  bool answered = false;
  for (int steps = 0; !answered; ++steps) {
    TwoLoops loops{served.url()};
    Scope scope;
    in_turn(*loops.home,
            [&] { scope.spawn(&ask_once, on_loop_of(loops.client), std::string(10'000, 'x'), &answered); });
    for (int i = 0; i < steps && !answered; ++i) loops.step();
    scope.drop_all();
    if (steps % 2 == 0) loops.home = Loop::create().value();
    for (int i = 0; i < 5; ++i) loops.step();
  }
}

TEST_F(OnLoopOf, TheCoroutineMayBeCancelledAtAnyMoment) {
  bool answered = false;
  for (int steps = 0; !answered; ++steps) {
    TwoLoops loops{served.url()};
    Scope scope;
    in_turn(*loops.home,
            [&] { scope.spawn(&ask_once, on_loop_of(loops.client), std::string(10'000, 'x'), &answered); });
    for (int i = 0; i < steps && !answered; ++i) loops.step();
    scope.cancel(CancelReason::kRequested);
    while (scope.count() != 0) loops.step();
  }
}

TEST_F(OnLoopOf, ABatchOfOneTurnWakesEachLoopOnce) {
  TwoLoops loops{served.url()};
  bool connected = false;
  {
    Scope scope;
    in_turn(*loops.home,
            [&] { scope.spawn(&ask_once, on_loop_of(loops.client), std::string("first"), &connected); });
    while (scope.count() != 0) loops.step();
  }
  ASSERT_TRUE(connected);
  // Between its turns a loop of a foreign one sleeps, as far as others know.
  loops.home->descriptor();
  loops.theirs->descriptor();
  constexpr int kCalls = 100;
  bool answered[kCalls] = {};
  Scope scope;
  loops.home->post([&] {
    for (bool& each : answered) scope.spawn(&ask_once, on_loop_of(loops.client), std::string("text"), &each);
  });
  const std::uint64_t wakeups_there = loops.theirs->stats().wakeups;
  loops.home->run_until_idle();
  EXPECT_EQ(loops.theirs->stats().wakeups - wakeups_there, 1u);
  // All answers are there before the client's loop looks.
  auto& calls = loops.client;
  const std::uint64_t wakeups_home = loops.home->stats().wakeups;
  std::uint64_t turns_that_brought = 0;
  while (calls.stats().calls_in_flight != 0 || turns_that_brought == 0) {
    const std::size_t before = calls.stats().calls_in_flight;
    loops.theirs->run_once(1ms);
    if (before > calls.stats().calls_in_flight) ++turns_that_brought;
  }
  loops.theirs->run_until_idle();
  EXPECT_LE(loops.home->stats().wakeups - wakeups_home, 1u) << turns_that_brought;
  while (scope.count() != 0) loops.step();
  for (const bool each : answered) EXPECT_TRUE(each);
}

Task<void> ask_with(LoopCaller caller, std::vector<std::byte>* bytes, Status* status) {
  CallOptions options;
  options.attachment = Bytes{*bytes};
  auto result = co_await caller.call<&Silence::ask>(options);
  *status = result.status();
}

TEST_F(OnLoopOf, AWaitingCallWithTheCallersMemoryWaitsForIt) {
  RemoteLoop remote{served.url(), {.call_timeout = kNoTimeout}};
  std::vector<std::byte> sent(1 << 20);
  Status status;
  Scope scope;
  in_turn(*home, [&] { scope.spawn(&ask_with, on_loop_of(remote.client()), &sent, &status); });
  served.silence.await(1);
  scope.cancel(CancelReason::kRequested);
  home->block_on(scope.join());
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  // Dropping one blocks until the memory is back.
  Scope dropped;
  in_turn(*home, [&] { dropped.spawn(&ask_with, on_loop_of(remote.client()), &sent, &status); });
  served.silence.await(2);
  dropped.drop_all();
}

Task<void> call_many(LoopCaller caller, int calls, int seed, int* right) {
  for (int i = 0; i < calls; ++i) {
    const int which = (seed + i) % 4;
    if (which == 0) {
      const Deadline now = Deadline{Loop::current()->now() + std::chrono::microseconds{i}};
      [[maybe_unused]] const auto maybe = co_await with_deadline(now, caller.call<add>(i, seed));
      ++*right;
    } else if (which == 1) {
      auto winner = co_await race(caller.call<add>(i, seed), caller.call<add>(i, seed));
      if (winner.value.ok() && *winner.value == i + seed) ++*right;
    } else {
      const Result<int> sum = co_await caller.call<add>(i, seed);
      if (sum.ok() && *sum == i + seed) ++*right;
    }
  }
}

TEST_F(OnLoopOf, ManyLoopsUseOneClientAndGiveUpAtAnyMoment) {
  RemoteLoop remote{served.url()};
  constexpr int kLoops = 4;
  constexpr int kCoroutines = 8;
  constexpr int kCalls = 100;
  std::vector<std::thread> threads;
  std::atomic<int> all_right{0};
  for (int t = 0; t < kLoops; ++t) {
    threads.emplace_back([&, t] {
      auto mine = Loop::create().value();
      Scope scope;
      int right = 0;
      in_turn(*mine, [&] {
        for (int i = 0; i < kCoroutines; ++i) {
          scope.spawn(&call_many, on_loop_of(remote.client()), kCalls, t + i, &right);
        }
      });
      mine->block_on(scope.join());
      all_right += right;
      // What is dropped with its loop comes back to nobody.
      for (int i = 0; i < 20; ++i) {
        in_turn(*mine, [&] { scope.spawn(&call_many, on_loop_of(remote.client()), kCalls, t + i, &right); });
      }
      scope.drop_all();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all_right, kLoops * kCoroutines * kCalls);
}

}  // namespace
}  // namespace weft::testing::on_loop_of_tests
