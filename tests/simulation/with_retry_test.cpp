// SPDX-License-Identifier: Apache-2.0
// Calls of a client that are made again: which, when, and how often.
#include "weft/detail/calls/client/with_retry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "simulation/gated_world.hpp"
#include "weft/detail/runtime/with_deadline.hpp"

namespace weft::simulation {
namespace {

/// Fails as often as it is told to, and notes when it was asked.
struct Flaky {
  int failures = 0;
  Status failure;
  std::vector<TimePoint> asked{};

  Task<Result<int>> attempt() {
    asked.push_back(Loop::current()->now());
    if (failures-- > 0) co_return failure;
    co_return 7;
  }
};

Status refused(Duration retry_after = {}) {
  Status status{StatusCode::kResourceExhausted, Layer::kRpc, "too much"};
  status.mark_unprocessed();
  status.set_retry_after(retry_after);
  return status;
}

class Retried : public ::testing::Test {
 protected:
  Result<int> outcome(Flaky& flaky, const RetryPolicy& policy) {
    Result<int> result = Status{StatusCode::kInternal, Layer::kUser, "nothing"};
    world.run([&]() -> Task<void> { result = co_await with_retry(policy, [&] { return flaky.attempt(); }); });
    return result;
  }

  GatedWorld world{ServerOptions{}};
};

TEST_F(Retried, UntilItSucceedsWithLongerWaits) {
  Flaky flaky{3, refused()};
  EXPECT_EQ(outcome(flaky, {.attempts_max = 9, .wait_min = 10ms, .wait_max = 1s}).value(), 7);
  ASSERT_EQ(flaky.asked.size(), 4u);
  for (std::size_t i = 1; i < 4; ++i) {
    const Duration wait = flaky.asked[i] - flaky.asked[i - 1];
    EXPECT_GE(wait, 5ms * (1 << (i - 1)));
    EXPECT_LE(wait, 10ms * (1 << (i - 1)));
  }
}

TEST_F(Retried, NoMoreOftenThanThePolicySays) {
  Flaky flaky{100, refused()};
  EXPECT_EQ(outcome(flaky, {.attempts_max = 3}).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(flaky.asked.size(), 3u);
}

TEST_F(Retried, NotBeforeTheTimeThatTheFailureSays) {
  Flaky flaky{1, refused(500ms)};
  EXPECT_TRUE(outcome(flaky, {.wait_min = 1ms}).ok());
  EXPECT_GE(flaky.asked[1] - flaky.asked[0], 500ms);
  EXPECT_LE(flaky.asked[1] - flaky.asked[0], 626ms);
}

TEST_F(Retried, NeverWhatMayHaveRunUnlessThatDoesNoHarm) {
  const Status unknown{StatusCode::kUnavailable, Layer::kTransport, "gone"};
  Flaky once{1, unknown};
  EXPECT_FALSE(outcome(once, {}).ok());
  EXPECT_EQ(once.asked.size(), 1u);
  Flaky again{1, unknown};
  EXPECT_TRUE(outcome(again, {.idempotent = true}).ok());
}

/// Fails with each of these, one after the other, and then with the last one.
struct FailsInTurn {
  std::vector<Status> failures;
  std::size_t asked = 0;

  Task<Result<int>> attempt() { co_return failures[std::min(asked++, failures.size() - 1)]; }
};

TEST_F(Retried, ACallThatMayHaveRunOnceIsNotUnprocessedWhateverItsLastAttemptSays) {
  const Status unknown{StatusCode::kUnavailable, Layer::kTransport, "gone"};
  const auto fail_in_turn = [&](std::vector<Status> failures, const RetryPolicy& policy) {
    FailsInTurn calls{std::move(failures)};
    Status outcome;
    world.run([&]() -> Task<void> {
      const Result<int> result = co_await with_retry(policy, [&] { return calls.attempt(); });
      outcome = result.status();
    });
    return outcome;
  };
  const Status mixed = fail_in_turn({refused(), unknown, refused(20ms)}, {.idempotent = true});
  EXPECT_FALSE(mixed.unprocessed()) << "the second attempt may have run";
  EXPECT_EQ(mixed.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(mixed.layer(), Layer::kRpc);
  EXPECT_EQ(mixed.message(), "too much");
  EXPECT_EQ(mixed.retry(), Retry::kBackoff);
  EXPECT_EQ(mixed.retry_after(), 20ms);
  EXPECT_TRUE(fail_in_turn({refused(), refused()}, {.idempotent = true}).unprocessed());
  const RetryPolicy short_of_time{.idempotent = true, .deadline = Deadline::after(world.now(), 1s)};
  const Status late = fail_in_turn({unknown, refused(5s)}, short_of_time);
  EXPECT_EQ(late.code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(late.unprocessed());
}

TEST_F(Retried, ACallThatIsCancelledInAWaitIsNotUnprocessedIfItMayHaveRun) {
  FailsInTurn calls{{{StatusCode::kUnavailable, Layer::kTransport, "gone"}, refused(5s)}};
  const RetryPolicy policy{.idempotent = true};
  Status outcome;
  world.run([&]() -> Task<void> {
    auto calling = with_retry(policy, [&] { return calls.attempt(); });
    const Result<int> result = co_await with_deadline(Deadline::after(world.now(), 1s), std::move(calling));
    outcome = result.status();
  });
  EXPECT_EQ(calls.asked, 2u);
  EXPECT_EQ(outcome.code(), StatusCode::kResourceExhausted) << outcome.to_string();
  EXPECT_FALSE(outcome.unprocessed());
}

TEST_F(Retried, NeverWhatFailsAgain) {
  Flaky flaky{1, {StatusCode::kInvalidArgument, Layer::kUser, "no"}};
  EXPECT_FALSE(outcome(flaky, {.idempotent = true}).ok());
  EXPECT_EQ(flaky.asked.size(), 1u);
}

TEST_F(Retried, NotPastTheDeadline) {
  Flaky flaky{100, refused(300ms)};
  EXPECT_FALSE(outcome(flaky, {.attempts_max = 50, .deadline = Deadline::after(world.now(), 1s)}).ok());
  EXPECT_GE(flaky.asked.size(), 3u);
  EXPECT_LE(flaky.asked.size(), 4u);
}

TEST_F(Retried, WithinABudgetThatAllShare) {
  RetryBudget budget{{.share_of_calls = 0, .floor_per_second = 0.001, .saved_max = 3}, world.now()};
  const auto retries = static_cast<std::size_t>(budget.available(world.now()));
  EXPECT_LE(retries, 3u);
  std::size_t attempts = 0;
  for (int i = 0; i < 10; ++i) {
    Flaky flaky{100, refused()};
    EXPECT_FALSE(outcome(flaky, {.budget = &budget}).ok());
    attempts += flaky.asked.size();
  }
  EXPECT_EQ(attempts, 10 + retries);
}

TEST_F(Retried, CallsOfAServerOverItsRateWaitAsLongAsItSays) {
  HandlerOptions handler;
  handler.rate = Rate{.per_second = 10, .burst = 1};
  GatedWorld limited{ServerOptions{}, 1, handler};
  const TimePoint began = limited.now();
  limited.run([&]() -> Task<void> {
    for (int i = 0; i < 11; ++i) {
      const RetryPolicy policy{.attempts_max = 3, .wait_min = 1ms};
      const Result<int> answer =
          co_await with_retry(policy, [&] { return limited.client().call<&SlowThing::plain>(i); });
      EXPECT_TRUE(answer.ok()) << answer.status().to_string();
    }
  });
  EXPECT_EQ(limited.thing.runs, 11);
  EXPECT_GE(limited.now() - began, 999ms);
  EXPECT_LE(limited.now() - began, 1300ms);
  EXPECT_LE(limited.server().stats().calls, 22u);
}

Task<void> try_again_and_again(Flaky* flaky) {
  const RetryPolicy policy;
  [[maybe_unused]] const auto answer = co_await with_retry(policy, [&] { return flaky->attempt(); });
}

TEST_F(Retried, EndsWithItsCoroutine) {
  Flaky flaky{100, refused(10s)};
  Scope scope;
  world.spawn(scope, &try_again_and_again, &flaky);
  world.pass(1s);
  scope.cancel(CancelReason::kRequested);
  while (scope.count() != 0 && world.step()) {
  }
  EXPECT_EQ(flaky.asked.size(), 1u);
}

/// Writes down what it sees of a client's calls.
class ClientWitness final : public ClientInterceptor {
 public:
  ClientWitness(std::string name, std::vector<std::string>& lines) : name_(std::move(name)), lines_(lines) {}

  Status before(OutgoingCall& call) override {
    lines_.push_back(name_ + " before");
    call.set(name_, "was here").value();
    return refusal;
  }
  void after(const EndedCall& call) noexcept override {
    lines_.push_back(name_ + " after: " + std::string{to_string(call.status.code())});
    duration = call.duration;
    answer_bytes = call.answer_bytes;
  }

  Status refusal;
  Duration duration{};
  std::uint64_t answer_bytes = 0;

 private:
  const std::string name_;
  std::vector<std::string>& lines_;
};

/// Notes the metadata of the calls that a server gets.
class MetadataNotes final : public ServerInterceptor {
 public:
  Status before(IncomingCall& call) override {
    notes.emplace_back();
    for (const auto& [key, value] : call.metadata()) notes.back() += std::string{key} + " ";
    return {};
  }
  std::vector<std::string> notes;
};

class ClientInterceptors : public ::testing::Test {
 protected:
  ClientInterceptors() {
    ServerOptions options;
    options.interceptors = {notes};
    world = std::make_unique<GatedWorld>(std::move(options), 1, HandlerOptions{}, SlowThing{16, 10ms}, 1s);
    ClientOptions client;
    client.interceptors = {outer, inner};
    client_ = world->make_client(std::move(client));
  }
  ~ClientInterceptors() override { client_.reset(); }
  Client& client() { return *client_; }

  std::vector<std::string> lines;
  const std::shared_ptr<ClientWitness> outer = std::make_shared<ClientWitness>("outer", lines);
  const std::shared_ptr<ClientWitness> inner = std::make_shared<ClientWitness>("inner", lines);
  const std::shared_ptr<MetadataNotes> notes = std::make_shared<MetadataNotes>();
  std::unique_ptr<GatedWorld> world;
  std::unique_ptr<Client> client_;
};

TEST_F(ClientInterceptors, AddMetadataInOrderAndHearOfTheEndInReverse) {
  world->run([&]() -> Task<void> {
    const Result<int> plain = co_await client().call<&SlowThing::work>(1);
    EXPECT_TRUE(plain.ok()) << plain.status().to_string();
  });
  EXPECT_EQ(lines,
            (std::vector<std::string>{"outer before", "inner before", "inner after: OK", "outer after: OK"}));
  EXPECT_EQ(notes->notes, std::vector<std::string>{"outer inner "});
  EXPECT_EQ(outer->duration, 10ms);
  EXPECT_GT(outer->answer_bytes, 0u);
}

TEST_F(ClientInterceptors, KeepTheMetadataAndTheAttachmentOfTheCall) {
  world->run([&]() -> Task<void> {
    Metadata metadata;
    metadata.set("tenant", "blue").value();
    const Buffer attachment = blob(300'000);
    CallOptions options;
    options.metadata = metadata;
    options.attachment = attachment.bytes();
    const Result<std::uint64_t> taken = co_await client().call<&SlowThing::take>(options, 1);
    EXPECT_EQ(taken.value(), 300'000u);
    EXPECT_EQ(options.metadata.bytes().size(), metadata.view().bytes().size());
  });
  EXPECT_EQ(notes->notes, std::vector<std::string>{"tenant outer inner "});
}

TEST_F(ClientInterceptors, RefuseACallThatThenNeverLeaves) {
  inner->refusal = Status{StatusCode::kUnauthenticated, Layer::kUser, "no token yet"};
  world->run([&]() -> Task<void> {
    const Result<int> answer = co_await client().call<&SlowThing::plain>(1);
    EXPECT_EQ(answer.status().message(), "no token yet");
    EXPECT_TRUE(answer.status().unprocessed());
  });
  EXPECT_EQ(lines,
            (std::vector<std::string>{"outer before", "inner before", "outer after: UNAUTHENTICATED"}));
  EXPECT_TRUE(notes->notes.empty());
}

Task<void> work_once(Client* client) {
  [[maybe_unused]] const auto answer = co_await client->call<&SlowThing::work>(1);
}

TEST_F(ClientInterceptors, HearOfEveryWayInWhichACallEnds) {
  const auto end_of = [&](const std::string& end) { EXPECT_EQ(lines.back(), "outer after: " + end); };
  auto given_up = client().start<&SlowThing::work>(1);
  world->pass(1ms);
  given_up.cancel();
  end_of("CANCELLED");
  auto dropped = client().start<&SlowThing::work>(1);
  world->pass(1ms);
  dropped = {};
  end_of("CANCELLED");
  {
    // A call without options, in a coroutine that is dropped.
    detail::Completion end{[](detail::Completion&, detail::TaskPromiseBase&) noexcept {}};
    Task<void> dropped_task = work_once(&client());
    world->loop().post([&] { detail::start(dropped_task, nullptr, end); });
    world->pass(1ms);
  }
  end_of("CANCELLED");
  world->run([&]() -> Task<void> {
    CallOptions options;
    options.timeout = 1ms;
    const Result<int> late = co_await client().call<&SlowThing::work>(options, 1);
    EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  });
  end_of("DEADLINE_EXCEEDED");
  auto lost = client().start<&SlowThing::work>(1);
  world->pass(1ms);
  client_->close();
  end_of("CANCELLED");
  EXPECT_EQ(lines.size(), 5u * 4u);
}

}  // namespace
}  // namespace weft::simulation
