// SPDX-License-Identifier: Apache-2.0
// CR-12: calls and coroutines of a loop as senders, which other executors connect and start.
#include "weft/detail/adapters/sender.hpp"

#include <optional>
#include <stdexcept>

#include "integration/threads/threads_testing.hpp"
#include "weft/detail/fleet/fleet_client.hpp"

namespace weft::testing::sender_tests {
namespace {

template <typename T>
struct Outcome {
  void await() { told.wait(); }

  std::latch told{1};
  std::optional<T> value;
  Status failure;
  std::string thrown;
  bool stopped = false;
  std::stop_token token{};
};

/// Tells `outcome` of the one end that an operation has.
template <typename T>
struct Receiver {
  struct Environment {
    std::stop_token query(detail::GetStopToken) const noexcept { return token; }
    std::stop_token token;
  };
  Environment get_env() const noexcept { return {outcome->token}; }

  template <typename... Value>
  void set_value(Value&&... value) && noexcept {
    outcome->value.emplace(std::forward<Value>(value)...);
    outcome->told.count_down();
  }
  void set_error(Status status) && noexcept {
    outcome->failure = std::move(status);
    outcome->told.count_down();
  }
  void set_error(std::exception_ptr error) && noexcept {
    try {
      std::rethrow_exception(std::move(error));
    } catch (const std::exception& exception) {
      outcome->thrown = exception.what();
    }
    outcome->told.count_down();
  }
  void set_stopped() && noexcept {
    outcome->stopped = true;
    outcome->told.count_down();
  }

  Outcome<T>* outcome;
};

struct Nothing {};

Task<int> doubled(int number) {
  co_await yield();
  co_return 2 * number;
}
Task<Result<int>> fails() {
  co_await yield();
  co_return user_error(7, "no luck");
}
Task<int> throws() {
  co_await yield();
  throw std::runtime_error{"thrown on the loop"};
}
Task<void> sleeps(std::atomic<int>* began, std::atomic<bool>* cancelled) {
  began->fetch_add(1);
  began->notify_all();
  const Result<void> slept = co_await sleep_for(std::chrono::hours{1});
  cancelled->store(!slept.ok());
  cancelled->notify_all();
}

class Senders : public ::testing::Test {
 protected:
  Served served;
};

TEST_F(Senders, GiveTheValueOfACall) {
  RemoteLoop remote{served.url()};
  Outcome<int> outcome;
  auto operation = as_sender(remote.client()).call<add>(1, 2).connect(Receiver<int>{&outcome});
  operation.start();
  outcome.await();
  EXPECT_EQ(outcome.value, 3);
  Outcome<Nothing> empty;
  auto second = as_sender(remote.client()).call<nothing>().connect(Receiver<Nothing>{&empty});
  second.start();
  empty.await();
  EXPECT_TRUE(empty.value.has_value());
}

TEST_F(Senders, GiveTheFailureOfACall) {
  RemoteLoop remote{served.url()};
  Outcome<int> outcome;
  auto operation =
      as_sender(remote.client()).call<weft::remote<"none", int()>>().connect(Receiver<int>{&outcome});
  operation.start();
  outcome.await();
  EXPECT_EQ(outcome.failure.code(), StatusCode::kUnimplemented);
  Outcome<int> late;
  const CallOptions options{.timeout = 20ms};
  auto waits = as_sender(remote.client()).call<&Silence::ask>(options).connect(Receiver<int>{&late});
  waits.start();
  late.await();
  EXPECT_EQ(late.failure.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(Senders, AreStoppedAtAnyMoment) {
  RemoteLoop remote{served.url()};
  for (int round = 0; round < 200; ++round) {
    std::stop_source stop;
    Outcome<int> outcome;
    outcome.token = stop.get_token();
    auto operation = as_sender(remote.client()).call<&Silence::ask>().connect(Receiver<int>{&outcome});
    if (round % 4 == 0) stop.request_stop();
    std::thread stopper{[&] {
      if (round % 4 == 1) served.silence.await(1);
      stop.request_stop();
    }};
    operation.start();
    outcome.await();
    stopper.join();
    EXPECT_TRUE(outcome.stopped);
  }
}

TEST_F(Senders, RaceWithTheirAnswers) {
  RemoteLoop remote{served.url()};
  for (int round = 0; round < 500; ++round) {
    std::stop_source stop;
    Outcome<int> outcome;
    outcome.token = stop.get_token();
    auto operation = as_sender(remote.client()).call<add>(round, 1).connect(Receiver<int>{&outcome});
    operation.start();
    stop.request_stop();
    outcome.await();
    ASSERT_TRUE(outcome.stopped || outcome.value == round + 1);
  }
}

TEST_F(Senders, MemoryOfTheOptionsIsBackWhenTheReceiverIsTold) {
  RemoteLoop remote{served.url()};
  std::stop_source stop;
  Outcome<int> outcome;
  outcome.token = stop.get_token();
  auto bytes = pattern(4 << 20);
  const CallOptions options{.attachment = Bytes{bytes}};
  auto operation = as_sender(remote.client()).call<&Silence::ask>(options).connect(Receiver<int>{&outcome});
  operation.start();
  stop.request_stop();
  outcome.await();
  EXPECT_TRUE(outcome.stopped);
  bytes.clear();
  bytes.shrink_to_fit();
}

TEST_F(Senders, EndWithTheLoop) {
  auto remote = std::make_unique<RemoteLoop>(served.url());
  Outcome<int> outcome;
  auto operation = as_sender(remote->client()).call<&Silence::ask>().connect(Receiver<int>{&outcome});
  operation.start();
  served.silence.await(1);
  const auto caller = as_sender(remote->client());
  remote->stop();
  outcome.await();
  EXPECT_EQ(outcome.failure.code(), StatusCode::kCancelled);
  remote.reset();
  Outcome<int> later;
  auto second = caller.call<add>(1, 2).connect(Receiver<int>{&later});
  second.start();
  later.await();
  EXPECT_EQ(later.failure.code(), StatusCode::kCancelled);
}

Task<Result<int>> add_by(FleetClient* fleet, int a, int b) {
  auto call = fleet->call<add>(a, b);
  Result<int> sum = co_await std::move(call);
  co_return sum;
}

TEST_F(Senders, RunCallsOfAFleetOnItsLoop) {
  const auto thread = LoopThread::start().value();
  std::unique_ptr<FleetClient> fleet;
  run_on(thread->loop(), [&] {
    FleetOptions options;
    options.name = "static:" + served.url();
    fleet = std::make_unique<FleetClient>(thread->loop(), std::move(options));
  });
  Outcome<int> outcome;
  auto operation = as_sender(thread->loop()).run(&add_by, fleet.get(), 1, 2).connect(Receiver<int>{&outcome});
  operation.start();
  outcome.await();
  EXPECT_EQ(outcome.value, 3);
  run_on(thread->loop(), [&] { fleet.reset(); });
}

TEST_F(Senders, RunCoroutinesOfALoop) {
  const auto thread = LoopThread::start().value();
  Outcome<int> outcome;
  auto operation = as_sender(thread->loop()).run(&doubled, 21).connect(Receiver<int>{&outcome});
  operation.start();
  outcome.await();
  EXPECT_EQ(outcome.value, 42);
  Outcome<int> failed;
  auto second = as_sender(thread->loop()).run(&fails).connect(Receiver<int>{&failed});
  second.start();
  failed.await();
  EXPECT_EQ(failed.failure.native(), 7);
  Outcome<int> thrown;
  auto third = as_sender(thread->loop()).run(&throws).connect(Receiver<int>{&thrown});
  third.start();
  thrown.await();
  EXPECT_EQ(thrown.thrown, "thrown on the loop");
}

TEST_F(Senders, CancelTheCoroutinesThatTheyRun) {
  const auto thread = LoopThread::start().value();
  std::atomic<int> began = 0;
  std::atomic<bool> cancelled = false;
  std::stop_source stop;
  Outcome<Nothing> outcome;
  outcome.token = stop.get_token();
  auto operation =
      as_sender(thread->loop()).run(&sleeps, &began, &cancelled).connect(Receiver<Nothing>{&outcome});
  operation.start();
  began.wait(0);
  stop.request_stop();
  outcome.await();
  EXPECT_TRUE(outcome.stopped);
  cancelled.wait(false);  // the coroutine hears of it on its loop, perhaps after the receiver
}

TEST_F(Senders, CoroutinesEndWithTheLoop) {
  auto thread = LoopThread::start().value();
  std::atomic<int> began = 0;
  std::atomic<bool> cancelled = false;
  Outcome<Nothing> outcome;
  auto operation =
      as_sender(thread->loop()).run(&sleeps, &began, &cancelled).connect(Receiver<Nothing>{&outcome});
  operation.start();
  began.wait(0);
  thread->stop();
  outcome.await();
  EXPECT_EQ(outcome.failure.code(), StatusCode::kCancelled);
  EXPECT_FALSE(cancelled) << "it was dropped";
}

}  // namespace
}  // namespace weft::testing::sender_tests
