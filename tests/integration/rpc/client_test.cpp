// SPDX-License-Identifier: Apache-2.0
// CR-6: connecting, timeouts, reconnecting. CR-7: many calls on their way at once.
#include <algorithm>
#include <optional>
#include <thread>

#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/coro/yield.hpp"

namespace weft::testing::client_tests {

using namespace weft::detail;
namespace {

int next(int number) {
  return number + 1;
}

/// Holds its callers, and knows which of them gave up.
struct Hall {
  Event open;
  int inside = 0;
  int told_to_go = 0;
  std::optional<Duration> time_left;
  bool said_cancelled = false;
  Task<int> stay(CallContext& context, int number) {
    ++inside;
    if (!context.deadline().is_infinite()) time_left = context.deadline().remaining(Loop::current()->now());
    const Result<void> passed = co_await open.wait();
    --inside;
    if (!passed.ok()) {
      ++told_to_go;
      said_cancelled = context.cancelled();
    }
    co_return number;
  }
  void fill(Server& server) {
    server.register_handler<&Hall::stay>(this);
    server.register_handler<next>();
  }
};

class Clients : public RpcTest {
 protected:
  Hall hall_;
  Server& hall_here() {
    return serve_here([this](Server& its) { hall_.fill(its); });
  }
  bool inside(int count) {
    return turn_until(loop(), [&] { return hall_.inside == count; });
  }
};
class Pipelines : public Clients {};

TEST_F(Clients, ConnectsByUrlOverEveryFamily) {
  const std::string path = "unix:///tmp/weft-cr6-" + std::to_string(::getpid()) + ".sock";
  for (const std::string& url : {std::string{kAnyPort}, std::string{"tcp://[::1]:0"}, path}) {
    Server& server = serve_here({.listen = {url}}, [](Server& its) { its.register_handler<next>(); });
    Client& caller = client(server);
    EXPECT_FALSE(caller.connected());
    EXPECT_TRUE(connect(caller).ok()) << url;
    EXPECT_TRUE(caller.connected());
    EXPECT_EQ(caller.remote_endpoint(), server.urls().front());
    EXPECT_EQ(call<next>(caller, 1).value(), 2);
  }
}

TEST_F(Clients, FindsAServerOfItsProcessByItsNameInMemory) {
  Server server{{.listen = {"memory://found"}, .threads = 1}};
  server.register_handler<next>();
  server.start().value();
  Client found{loop(), {.connect = "memory://found"}};
  EXPECT_EQ(call<next>(found, 1).value(), 2);

  Transports apart;
  apart.add(std::make_unique<MemoryNetwork>());
  Client lost{loop(), {.connect = "memory://found"}, apart};
  EXPECT_EQ(call<next>(lost, 1).status().code(), StatusCode::kUnavailable)
      << "a network of one's own has names of its own";
  Transports same = apart;
  Server hidden{{.listen = {"memory://found"}, .threads = 1}, std::move(same)};
  hidden.register_handler<next>();
  hidden.start().value();
  EXPECT_EQ(call<next>(lost, 1).value(), 2);
}

TEST_F(Clients, ConnectsByTheNameOfThisMachine) {
  Server& server = serve_here([](Server& its) { its.register_handler<next>(); });
  const Url url = Url::parse(server.urls().front()).value();
  EXPECT_EQ(call<next>(client("tcp://localhost:" + std::to_string(url.port)), 1).value(), 2);
}

TEST_F(Clients, RefusesUrlsThatAreWrong) {
  for (const char* url : {"127.0.0.1", "smoke://signals:1", "tcp://127.0.0.1:99999", ""}) {
    Client& caller = client(url);
    EXPECT_EQ(call<next>(caller, 1).status().code(), StatusCode::kInvalidArgument) << url;
    EXPECT_EQ(connect(caller).status().code(), StatusCode::kInvalidArgument) << url;
  }
}

TEST_F(Clients, SaysThatNobodyListens) {
  std::string url;
  {
    const SilentListener gone;
    url = gone.url();
  }
  Client& caller = client(url);
  const Status failure = call<next>(caller, 1).status();
  EXPECT_EQ(failure.code(), StatusCode::kUnavailable);
  EXPECT_EQ(failure.native(), ECONNREFUSED);
  EXPECT_EQ(caller.stats().connect_failures, 1u);
}

TEST_F(Clients, GivesUpOnAPeerThatNeverSaysHello) {
  const SilentListener silent;
  Client& caller = client(silent.url(), {.connect_timeout = 30ms});
  const auto before = std::chrono::steady_clock::now();
  const Result<void> connected = connect(caller);
  ASSERT_FALSE(connected.ok());
  EXPECT_THAT(connected.status().code(),
              ::testing::AnyOf(StatusCode::kUnavailable, StatusCode::kDeadlineExceeded));
  // Far below the ten seconds of the limit on hellos, which is not what the user asked for.
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
}

TEST_F(Clients, BindsTheLocalAddressItIsGiven) {
  Server& server = serve_here([](Server& its) { its.register_handler<next>(); });
  Client& caller = client(server, {.local_address = "127.0.0.2"});
  EXPECT_EQ(call<next>(caller, 1).value(), 2);
  EXPECT_THAT(caller.local_endpoint(), ::testing::StartsWith("tcp://127.0.0.2:"));
}

TEST_F(Clients, ATimeoutOfACallEndsThatCallAndNoNeighbour) {
  Client& caller = client(hall_here());
  Call<int> patient = caller.start<&Hall::stay>(1);
  // It has to reach the server before, also on a busy machine.
  Call<int> hasty = caller.start<&Hall::stay>(CallOptions{.timeout = 100ms}, 2);
  const Status failure = wait_for(std::move(hasty)).status();
  EXPECT_EQ(failure.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(call<next>(caller, 1).value(), 2);
  ASSERT_TRUE(turn_until(loop(), [&] { return hall_.told_to_go == 1; }));
  EXPECT_TRUE(hall_.said_cancelled);
  EXPECT_FALSE(patient.done());
  hall_.open.set();
  EXPECT_EQ(wait_for(std::move(patient)).value(), 1);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Clients, TheDefaultTimeoutIsForCallsWithoutTheirOwn) {
  Client& caller = client(hall_here(), {.call_timeout = 5ms});
  Call<int> with_own = caller.start<&Hall::stay>(CallOptions{.timeout = 1min}, 1);
  EXPECT_EQ(call<&Hall::stay>(caller, 2).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(with_own.done());
  hall_.open.set();
  EXPECT_EQ(wait_for(std::move(with_own)).value(), 1);
}

TEST_F(Clients, TheRemainingTimeReachesTheHandler) {
  Client& caller = client(hall_here());
  Call<int> held = caller.start<&Hall::stay>(CallOptions{.timeout = 1min}, 1);
  ASSERT_TRUE(inside(1));
  ASSERT_TRUE(hall_.time_left.has_value());
  EXPECT_LE(*hall_.time_left, 1min + 1ms);
  EXPECT_GT(*hall_.time_left, 30s);
  hall_.open.set();
  EXPECT_TRUE(wait_for(std::move(held)).ok());
}

Task<Result<int>> stay_for_a_while(Client* caller) {
  Result<int> result = co_await caller->call<&Hall::stay>(1);
  co_return result;
}
TEST_F(Clients, TheCallersDeadlineHoldsForTheCall) {
  Client& caller = client(hall_here());
  EXPECT_TRUE(connect(caller).ok());
  Task<Result<int>> limited = with_deadline(Deadline::after(loop().now(), 5ms), stay_for_a_while(&caller));
  EXPECT_EQ(loop().block_on(std::move(limited)).status().code(), StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(turn_until(loop(), [&] { return hall_.told_to_go == 1; }));
}

TEST_F(Clients, ADeadlineThatHasPassedSendsNothing) {
  Server& server = hall_here();
  Client& caller = client(server);
  EXPECT_TRUE(connect(caller).ok());
  EXPECT_EQ(call<next>(caller, CallOptions{.deadline = Deadline{loop().now() - 1s}}, 1).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(call<next>(caller, 1).value(), 2);
  EXPECT_EQ(server.stats().calls, 1u);
}

TEST_F(Clients, LateAnswersAreDroppedAndCounted) {
  Server& server = serve({.threads = 1}, [](Server& its) { its.register_handler<next>(); });
  Client& caller = client(server);
  EXPECT_TRUE(connect(caller).ok());
  Call<int> hasty = caller.start<next>(1);
  loop().run_once(0ms);  // sends, and does not receive before the next turn
  while (server.stats().calls == 0) std::this_thread::yield();
  hasty.cancel();
  EXPECT_EQ(call<next>(caller, 1).value(), 2);
  EXPECT_EQ(caller.stats().late_answers, 1u);
}

TEST_F(Clients, TheAnswerToACallThatTimedOutIsNotSent) {
  struct Desk {
    std::optional<Reply<int>> kept;
    void ask(Reply<int> reply) { kept.emplace(std::move(reply)); }
  } desk;
  Server& server = serve_here([&](Server& its) {
    its.register_handler<&Desk::ask>(&desk);
    its.register_handler<next>();
  });
  Client& caller = client(server);
  EXPECT_EQ(call<&Desk::ask>(caller, CallOptions{.timeout = 20ms}).status().code(),
            StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(desk.kept.has_value());
  ASSERT_TRUE(turn_until(loop(), [&] { return desk.kept->cancelled(); }));
  EXPECT_EQ(call<next>(caller, 1).value(), 2) << "the cancel has arrived before this";
  std::move (*desk.kept)(1);
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
  EXPECT_EQ(call<next>(caller, 2).value(), 3);
  EXPECT_EQ(caller.stats().late_answers, 0u);
}

TEST_F(Clients, ReconnectsToAServerThatWasRestartedOnTheSamePort) {
  auto first = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}, .threads = 1});
  first->register_handler<next>();
  first->start().value();
  const std::vector<std::string> urls = first->urls();
  Client& caller = client(urls.front());
  EXPECT_EQ(call<next>(caller, 1).value(), 2);
  first.reset();
  Server& second = serve({.listen = urls, .threads = 1}, [](Server& its) { its.register_handler<next>(); });
  ASSERT_TRUE(turn_until(loop(), [&] { return !caller.connected(); }));
  EXPECT_EQ(call<next>(caller, 2).value(), 3) << "the first call after the restart does not fail";
  EXPECT_EQ(second.stats().calls, 1u);
}

TEST_F(Clients, CallsInFlightWhenTheConnectionIsLostSayThatTheirFateIsUnknown) {
  Server& server = hall_here();
  Client& caller = client(server);
  std::vector<Call<int>> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(caller.start<&Hall::stay>(i));
  ASSERT_TRUE(inside(10));
  server.stop(Duration::zero());
  for (const auto& result : loop().block_on(await_all(calls))) {
    EXPECT_EQ(result.status().code(), StatusCode::kUnavailable);
    EXPECT_EQ(result.status().retry(), Retry::kReconnect);
    EXPECT_THAT(std::string{result.status().message()}, ::testing::HasSubstr("may or may not have run"));
  }
}

TEST_F(Clients, SeveralCallsWaitForOneConnection) {
  Server& server = serve({.threads = 1}, [](Server& its) { its.register_handler<next>(); });
  Client& caller = client(server);
  std::vector<Call<int>> calls;
  for (int i = 0; i < 100; ++i) calls.push_back(caller.start<next>(i));
  EXPECT_EQ(caller.stats().calls_waiting, 100u);
  calls.pop_back();  // gave up while it waited
  EXPECT_EQ(caller.stats().calls_waiting, 99u);
  const auto results = loop().block_on(await_all(calls));
  for (int i = 0; i < 99; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)].value(), i + 1);
  EXPECT_EQ(server.stats().connections_accepted, 1u);
  EXPECT_EQ(server.stats().calls, 99u);
}

TEST_F(Clients, AFailedAttemptFailsAllThatWaitedForItAndTheNextCallTriesAgain) {
  std::string url;
  {
    const SilentListener gone;
    url = gone.url();
  }
  Client& caller = client(url, {.reconnect_wait_min = 1ms});
  std::vector<Call<int>> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(caller.start<next>(i));
  for (const auto& result : loop().block_on(await_all(calls))) {
    EXPECT_EQ(result.status().code(), StatusCode::kUnavailable);
  }
  serve({.listen = {url}}, [](Server& its) { its.register_handler<next>(); });
  EXPECT_EQ(call<next>(caller, 1).value(), 2);
}

TEST_F(Clients, AClosedClientCallsNobody) {
  Client& caller = client(hall_here());
  EXPECT_EQ(call<next>(caller, 1).value(), 2);
  caller.close();
  EXPECT_EQ(call<next>(caller, 1).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(connect(caller).status().code(), StatusCode::kCancelled);
}

TEST_F(Clients, ChecksumsWorkWhoeverAsksForThem) {
  for (const bool by_server : {false, true}) {
    Server& server = serve_here({.checksums = by_server}, [](Server& its) { its.register_handler<next>(); });
    EXPECT_EQ(call<next>(client(server, {.checksums = !by_server}), 1).value(), 2);
  }
}

// CR-7

TEST_F(Pipelines, ManyCallsAreAwaitedInAnyOrder) {
  Client& caller = client(serve({.threads = 1}, [](Server& its) { its.register_handler<next>(); }));
  std::vector<Call<int>> calls;
  for (int i = 0; i < 1000; ++i) calls.push_back(caller.start<next>(i));
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::size_t index = (i * 7919) % 1000;
    EXPECT_EQ(wait_for(std::move(calls[index])).value(), static_cast<int>(index) + 1);
  }
}

TEST_F(Pipelines, TellsHowManyAreInFlight) {
  Client& caller = client(hall_here());
  EXPECT_TRUE(connect(caller).ok());
  std::vector<Call<int>> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(caller.start<&Hall::stay>(i));
  EXPECT_EQ(caller.stats().calls_in_flight, 10u);
  calls.resize(4);
  EXPECT_EQ(caller.stats().calls_in_flight, 4u);
  ASSERT_TRUE(inside(4));
  hall_.open.set();
  for (const auto& result : loop().block_on(await_all(calls))) EXPECT_TRUE(result.ok());
  EXPECT_EQ(caller.stats().calls_in_flight, 0u);
}

TEST_F(Pipelines, ADroppedCallIsCancelledAtTheServer) {
  Server& server = hall_here();
  Client& caller = client(server);
  {
    const Call<int> dropped = caller.start<&Hall::stay>(1);
    ASSERT_TRUE(inside(1));
  }
  ASSERT_TRUE(turn_until(loop(), [&] { return hall_.told_to_go == 1; }));
  EXPECT_TRUE(hall_.said_cancelled);
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
  EXPECT_EQ(call<next>(caller, 1).value(), 2);
}

TEST_F(Pipelines, ACancelledCallCanStillBeAwaited) {
  Client& caller = client(hall_here());
  Call<int> cancelled = caller.start<&Hall::stay>(1);
  ASSERT_TRUE(inside(1));
  cancelled.cancel();
  EXPECT_TRUE(cancelled.done());
  EXPECT_EQ(wait_for(std::move(cancelled)).status().code(), StatusCode::kCancelled);
  ASSERT_TRUE(turn_until(loop(), [&] { return hall_.told_to_go == 1; }));
}

Task<int> stay_value(Client* caller) {
  Result<int> result = co_await caller->call<&Hall::stay>(1);
  co_return result.ok() ? *result : -1;
}
Task<int> next_value(Client* caller) {
  Result<int> result = co_await caller->call<next>(41);
  co_return result.value();
}
TEST_F(Pipelines, TheLoserOfARaceIsCancelledAtTheServer) {
  Client& caller = client(hall_here());
  EXPECT_TRUE(connect(caller).ok());
  const auto winner = loop().block_on(race(stay_value(&caller), next_value(&caller)));
  EXPECT_EQ(winner.index, 1u);
  EXPECT_EQ(winner.value, 42);
  ASSERT_TRUE(turn_until(loop(), [&] { return hall_.told_to_go == 1; }));
}

TEST_F(Pipelines, ACallOutlivesItsClientsConnectionAndItsEnd) {
  auto caller = std::make_unique<Client>(loop(), ClientOptions{.connect = hall_here().urls().front()});
  Call<int> held = caller->start<&Hall::stay>(1);
  ASSERT_TRUE(inside(1));
  caller->close();
  EXPECT_TRUE(held.done());
  EXPECT_EQ(wait_for(std::move(held)).status().code(), StatusCode::kCancelled);
  ASSERT_TRUE(turn_until(loop(), [&] { return hall_.told_to_go == 1; }));
}

}  // namespace
}  // namespace weft::testing::client_tests
