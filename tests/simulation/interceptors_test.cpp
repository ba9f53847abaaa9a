// SPDX-License-Identifier: Apache-2.0
// Interceptors of servers: what they see of every kind of handler, in which order, and what they may do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulation/gated_world.hpp"
#include "weft/weft.hpp"

namespace weft::simulation {
namespace {

using ::testing::ElementsAre;

/// Writes down what it sees, and refuses what it is told to.
class Witness final : public ServerInterceptor {
 public:
  Witness(std::string name, std::vector<std::string>& lines) : name_(std::move(name)), lines_(lines) {}

  Status before(IncomingCall& call) override {
    lines_.push_back(name_ + " before " + last_part(call.method()));
    if (throws) throw std::runtime_error("the witness is ill");
    return refusal;
  }
  void after(const EndedCall& call) noexcept override {
    lines_.push_back(name_ + " after " + last_part(call.method) + ": " +
                     std::string{to_string(call.status.code())});
    last_duration = call.duration;
    last_request_bytes = call.request_bytes;
    last_answer_bytes = call.answer_bytes;
  }

  Status refusal;
  bool throws = false;
  Duration last_duration{};
  std::uint64_t last_request_bytes = 0;
  std::uint64_t last_answer_bytes = 0;

 private:
  static std::string last_part(std::string_view method) {
    const std::size_t colon = method.rfind(':');
    return std::string{colon == std::string_view::npos ? method : method.substr(colon + 1)};
  }

  const std::string name_;
  std::vector<std::string>& lines_;
};

class Interceptors : public ::testing::Test {
 protected:
  GatedWorld& world() {
    if (world_ == nullptr) {
      ServerOptions options;
      options.interceptors = {outer, inner};
      world_ = std::make_unique<GatedWorld>(std::move(options), 2, HandlerOptions{}, SlowThing{16, 10ms}, 1s);
    }
    return *world_;
  }
  template <typename F>
  Status outcome_of(F make_call) {
    Status status;
    world().run([&]() -> Task<void> {
      auto result = co_await make_call();
      status = result.status();
    });
    return status;
  }

  std::vector<std::string> lines;
  const std::shared_ptr<Witness> outer = std::make_shared<Witness>("outer", lines);
  const std::shared_ptr<Witness> inner = std::make_shared<Witness>("inner", lines);

 private:
  std::unique_ptr<GatedWorld> world_;
};

TEST_F(Interceptors, AreAskedInOrderAndToldInReverse) {
  EXPECT_TRUE(outcome_of([&] { return world().client().call<&SlowThing::plain>(1); }).ok());
  EXPECT_THAT(lines, ElementsAre("outer before plain", "inner before plain", "inner after plain: OK",
                                 "outer after plain: OK"));
}

TEST_F(Interceptors, SeeTheTimeAndTheBytesOfACoroutine) {
  EXPECT_TRUE(outcome_of([&] { return world().client().call<&SlowThing::work>(1); }).ok());
  EXPECT_EQ(lines.size(), 4u);
  EXPECT_EQ(outer->last_duration, 10ms);
  EXPECT_GT(outer->last_request_bytes, 0u);
  EXPECT_GT(outer->last_answer_bytes, 0u);
}

TEST_F(Interceptors, RefuseACallAndThoseThatItPassedHearOfIt) {
  inner->refusal = Status{StatusCode::kUnauthenticated, Layer::kUser, "no token"};
  inner->refusal.set_retry_after(1500us);
  const Status status = outcome_of([&] { return world().client().call<&SlowThing::plain>(1); });
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(status.message(), "no token");
  EXPECT_EQ(status.retry_after(), 2ms);
  EXPECT_TRUE(status.unprocessed());
  EXPECT_EQ(world().thing.runs, 0);
  EXPECT_THAT(lines,
              ElementsAre("outer before plain", "inner before plain", "outer after plain: UNAUTHENTICATED"));
  EXPECT_EQ(world().server().stats().refused[RefusalReason::kByInterceptor], 1u);
}

TEST_F(Interceptors, ThatThrowRefuseTheCall) {
  outer->throws = true;
  const Status status = outcome_of([&] { return world().client().call<&SlowThing::work>(1); });
  EXPECT_EQ(status.code(), StatusCode::kUnknown);
  EXPECT_EQ(status.message(), "an interceptor threw: the witness is ill");
  EXPECT_EQ(world().thing.runs, 0);
  EXPECT_THAT(lines, ElementsAre("outer before work"));
}

TEST_F(Interceptors, RefuseAnAttachmentBeforeItHasArrived) {
  outer->refusal = Status{StatusCode::kPermissionDenied, Layer::kUser, "not you"};
  const Buffer attachment = blob(64 << 20);
  CallOptions options;
  options.attachment = attachment.bytes();
  const Status status = outcome_of([&] { return world().client().call<&SlowThing::take>(options, 1); });
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(world().thing.runs, 0);
  EXPECT_LT(world().server().stats().traffic.bytes_received, std::uint64_t{32} << 20);
}

TEST_F(Interceptors, SeeCallsWithAttachmentsOnce) {
  for (const std::size_t bytes : {std::size_t{1000}, std::size_t{4} << 20}) {
    lines.clear();
    const Buffer attachment = blob(bytes);
    CallOptions options;
    options.attachment = attachment.bytes();
    EXPECT_TRUE(outcome_of([&] { return world().client().call<&SlowThing::take>(options, 1); }).ok());
    EXPECT_THAT(lines, ElementsAre("outer before take", "inner before take", "inner after take: OK",
                                   "outer after take: OK"));
  }
}

TEST_F(Interceptors, HearThatACallerGaveUpAndThatAConnectionIsGone) {
  auto given_up = world().client(0).start<&SlowThing::work>(1);
  world().pass(1ms);
  given_up.cancel();
  world().pass(1ms);
  EXPECT_EQ(lines.back(), "outer after work: CANCELLED");
  auto lost = world().client(1).start<&SlowThing::work>(1);
  world().pass(1ms);
  lost = {};
  world().lose_client(1);
  world().pass(1ms);
  EXPECT_EQ(lines.size(), 8u);
  EXPECT_NE(lines.back(), "outer after work: OK");
}

TEST_F(Interceptors, HearThatAConnectionWasLostBeforeTheHandlerRan) {
  const Buffer attachment = blob(64 << 20);
  CallOptions options;
  options.attachment = attachment.bytes();
  auto lost = world().client(1).start<&SlowThing::take>(options, 1);
  while (lines.size() < 2 && world().step()) {
  }
  EXPECT_THAT(lines, ElementsAre("outer before take", "inner before take"));
  lost = {};
  world().lose_client(1);
  world().pass(1ms);
  EXPECT_EQ(world().thing.runs, 0);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2], "inner after take: UNAVAILABLE");
  EXPECT_EQ(lines[3], "outer after take: UNAVAILABLE");
}

/// The caller, as an interceptor found it.
struct User {
  std::string name;
};

class Authentication final : public ServerInterceptor {
 public:
  Status before(IncomingCall& call) override {
    const auto token = call.metadata().find("token");
    if (!token) return {StatusCode::kUnauthenticated, Layer::kUser, "a call needs a token"};
    call.attach(std::make_shared<User>(User{"user of " + std::string{*token}}));
    return {};
  }
};

/// Callers by whom they were found to be.
class ByUser final : public CallerKey {
 public:
  std::string_view of(const IncomingCall& call) const noexcept override {
    return call.attached<User>()->name;
  }
};

struct Greeter {
  static std::string greet(CallContext& context) { return context.attached<User>()->name; }
  static Task<std::string> greet_later(CallContext& context) {
    [[maybe_unused]] const auto slept = co_await sleep_for(1ms);
    co_return context.attached<User>()->name;
  }
  static std::string greet_off_the_loop(CallContext& context) { return context.attached<User>()->name; }
};

TEST(AttachedObjects, AreFoundByHandlersOfEveryKind) {
  ServerOptions options;
  options.listen = {"tcp://127.0.0.1:0"};
  options.interceptors = {std::make_shared<Authentication>()};
  Server server{std::move(options)};
  server.register_handler<&Greeter::greet>();
  server.register_handler<&Greeter::greet_later>();
  server.register_handler<&Greeter::greet_off_the_loop>({.blocking = true});
  server.start().value();
  const auto loop = Loop::create().value();
  Client client{*loop, {.connect = server.urls().front()}};
  Metadata metadata;
  metadata.set("token", "t").value();
  CallOptions call;
  call.metadata = metadata;
  EXPECT_EQ(loop->block_on(client.call<&Greeter::greet>(call)).value(), "user of t");
  EXPECT_EQ(loop->block_on(client.call<&Greeter::greet_later>(call)).value(), "user of t");
  EXPECT_EQ(loop->block_on(client.call<&Greeter::greet_off_the_loop>(call)).value(), "user of t");
  EXPECT_EQ(loop->block_on(client.call<&Greeter::greet>()).status().code(), StatusCode::kUnauthenticated);
}

TEST(CallerRates, MayBeOfWhomAnInterceptorFound) {
  ServerOptions options;
  options.interceptors = {std::make_shared<Authentication>()};
  options.caller_rates.push_back({.rate = {.per_second = 1, .burst = 2}, .key = std::make_shared<ByUser>()});
  GatedWorld world{std::move(options)};
  Calls calls[2];
  world.run([&]() -> Task<void> {
    for (std::size_t i = 0; i < 8; ++i) {
      Metadata metadata;
      metadata.set("token", i % 2 == 0 ? "a" : "b").value();
      CallOptions call;
      call.metadata = metadata;
      const Result<int> result = co_await world.client().call<&SlowThing::plain>(call, 1);
      calls[i % 2].count(result.status());
    }
  });
  EXPECT_EQ(calls[0].good, 2);
  EXPECT_EQ(calls[1].good, 2);
}

/// Counts what passes it, from every loop.
class Counter final : public ServerInterceptor {
 public:
  Status before(IncomingCall&) override {
    ++begun;
    return {};
  }
  void after(const EndedCall& call) noexcept override {
    ++ended;
    if (call.status.ok()) ++good;
  }
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  std::atomic<int> good = 0;
};

Task<void> add_often(Client* client, Calls* calls) {
  for (int i = 0; i < 200; ++i) {
    const Result<int> sum = co_await client->call<remote<"add", int(int, int)>>(i, 1);
    EXPECT_TRUE(!sum.ok() || *sum == i + 1);
    calls->count(sum.status());
  }
}

TEST(ServerLimits, HoldOverSeveralLoopsWithBlockingHandlers) {
  const auto counter = std::make_shared<Counter>();
  ServerOptions options;
  options.listen = {"tcp://127.0.0.1:0"};
  options.threads = 3;
  options.interceptors = {counter};
  options.adaptive_limit = AdaptiveLimitOptions{.limit_initial = 2, .limit_max = 8, .window = 1ms};
  options.caller_rates.push_back({.rate = {.per_second = 1e6, .burst = 1e6}});
  options.caller_rates.push_back({.rate = {.per_second = 1e6, .burst = 1e6}, .key = by_metadata("tenant")});
  Server server{std::move(options)};
  server.register_handler(
      "add", [](int a, int b) { return a + b; },
      {.blocking = true, .rate = Rate{1e6, 1e6}, .adaptive_limit = AdaptiveLimitOptions{}});
  server.start().value();
  const auto loop = Loop::create().value();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<Client>(*loop, ClientOptions{.connect = server.urls().front()}));
  }
  Calls calls;
  Scope scope;
  loop->post([&] {
    for (const auto& client : clients) scope.spawn(&add_often, client.get(), &calls);
  });
  do {
    loop->run_once(10ms);
  } while (scope.count() != 0);
  EXPECT_EQ(calls.other, 0);
  EXPECT_GT(calls.good, 0);
  EXPECT_EQ(calls.good + calls.refused, 1200);
  EXPECT_EQ(counter->begun, 1200);
  EXPECT_EQ(counter->ended, 1200);
  EXPECT_EQ(counter->good, calls.good);
}

}  // namespace
}  // namespace weft::simulation
