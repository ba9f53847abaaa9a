// SPDX-License-Identifier: Apache-2.0
// Every limit has a name, holds, and costs only the call or the peer that went over it.
#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"
#include "integration/rpc/warning_logger.hpp"

namespace weft::testing::limits_tests {

using namespace weft::detail;
namespace {

std::size_t size_of(std::string_view text) {
  return text.size();
}
std::string long_text(std::uint32_t bytes) {
  return std::string(bytes, 't');
}
Task<std::string> long_text_later(std::uint32_t bytes) {
  co_return std::string(bytes, 't');
}
std::size_t take(CallContext& context) {
  return context.attachment().size();
}

/// Handlers that go on whatever their caller does, until the test lets them go.
struct Stubborn {
  std::vector<Reply<int>> held;
  void hold(Reply<int> reply) { held.push_back(std::move(reply)); }
  void hold_attachment(Reply<int> reply, CallContext&) { held.push_back(std::move(reply)); }
  void release() {
    for (Reply<int>& reply : held) std::move(reply)(1);
    held.clear();
  }
};

/// Blocks workers until it is let go.
struct Blocker {
  std::mutex mutex;
  std::unique_lock<std::mutex> closed{mutex};
  int pass() {
    const std::lock_guard wait(mutex);
    return 1;
  }
};

/// Keeps what is logged.
struct LogOf final : Logger {
  explicit LogOf(std::string& to) : text(to) {}
  void write(LogLevel, std::string_view message) override { text.append(message); }
  std::string& text;
};

void expect_over(const Status& failure, std::string_view text) {
  EXPECT_EQ(failure.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(failure.retry(), Retry::kNever);
  EXPECT_EQ(failure.message(), text);
}

using Limits = RpcTest;

TEST_F(Limits, ABodyOverTheServersLimitIsRefusedBeforeItIsSent) {
  ServerOptions options;
  options.limits.body_bytes_max = 1000;
  Server& server = serve_here(std::move(options), [](Server& its) { its.register_handler<size_of>(); });
  Client& caller = client(server);
  EXPECT_TRUE(connect(caller).ok());
  expect_over(call<size_of>(caller, std::string(2000, 'x')).status(),
              "a request of 2004 bytes is over the server's limit of 1000; raise "
              "ClientOptions::limits.body_bytes_max and ServerOptions::limits.body_bytes_max");
  EXPECT_EQ(call<size_of>(caller, std::string(900, 'x')).value(), 900u);
  EXPECT_EQ(server.stats().calls, 1u);
}

TEST_F(Limits, ABodyOverTheDefaultLimitIsRefusedInWordsThatSayWhatToDo) {
  Server& server = serve_here([](Server& its) { its.register_handler<size_of, long_text>(); });
  Client& caller = client(server);
  const std::string large(16u << 20, 'x');
  expect_over(call<size_of>(caller, large).status(),
              "a request of 16777220 bytes is over the client's limit of 16777216; raise "
              "ClientOptions::limits.body_bytes_max and ServerOptions::limits.body_bytes_max");
  EXPECT_TRUE(connect(caller).ok());
  expect_over(call<size_of>(caller, large).status(),
              "a request of 16777220 bytes is over the server's limit of 16777216; raise "
              "ClientOptions::limits.body_bytes_max and ServerOptions::limits.body_bytes_max");
  expect_over(call<long_text>(caller, 16u << 20).status(),
              "the server says: the answer of 16777220 bytes is over the caller's limit of 16777216; raise "
              "ClientOptions::limits.body_bytes_max and ServerOptions::limits.body_bytes_max");
  EXPECT_EQ(call<size_of>(caller, large.substr(4)).value(), large.size() - 4);
}

TEST_F(Limits, APeerThatSendsABodyOverTheLimitIsToldOfInTheServersLog) {
  std::string logged;
  LogOf log{logged};
  ServerOptions options;
  options.logger = &log;
  Server& server = serve_here(std::move(options), [](Server& its) { its.register_handler<size_of>(); });
  RawPeer peer{server.urls().front()};
  constexpr auto kKey = detail::method_key<size_of>;
  peer.send_hello();
  peer.send_request(wire::make_id(0, 1), kKey.id, kKey.schema, std::string((16u << 20) + 8, 'x'));
  EXPECT_TRUE(turn_until(loop(), [&] { return !(peer.write_some() && peer.read_some()); }));
  EXPECT_THAT(logged,
              ::testing::HasSubstr("16777224 bytes of at most 16777216, which limits.body_bytes_max"));
}

TEST_F(Limits, ABodyOverItsMethodsLimitIsRefused) {
  Server& server = serve_here([](Server& its) { its.register_handler<size_of>({.body_bytes_max = 100}); });
  Client& caller = client(server);
  const Status refused = call<size_of>(caller, std::string(101, 'x')).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string{refused.message()}, ::testing::HasSubstr("size_of"));
  EXPECT_THAT(std::string{refused.message()},
              ::testing::HasSubstr("105 bytes is over the limit of 100 of method"));
  EXPECT_THAT(std::string{refused.message()},
              ::testing::HasSubstr("which HandlerOptions::body_bytes_max raises"));
  EXPECT_EQ(call<size_of>(caller, std::string(50, 'x')).value(), 50u);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Limits, AnAnswerOverTheCallersLimitFailsThatCall) {
  ClientOptions options;
  options.limits.body_bytes_max = 1000;
  Server& server = serve_here([](Server& its) {
    its.register_handler<long_text>();
    its.register_handler<long_text_later>();
    its.register_handler<method<long_text, "blocking">>({.blocking = true});
  });
  Client& caller = client(server, std::move(options));
  EXPECT_EQ(call<long_text>(caller, 2000u).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(call<long_text_later>(caller, 2000u).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ((call<method<long_text, "blocking">>(caller, 2000u).status().code()),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(call<long_text>(caller, 900u).value().size(), 900u);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Limits, HandlersThatIgnoreCancellingStayUnderCallsInFlightMax) {
  Stubborn stubborn;
  ServerOptions options;
  options.limits.calls_in_flight_max = 8;
  Server& server = serve_here(std::move(options), [&](Server& its) {
    its.register_handler<&Stubborn::hold>(&stubborn);
    its.register_handler<long_text>();
  });
  RawPeer peer{server.urls().front()};
  peer.send_hello();
  constexpr auto kHold = detail::method_key<&Stubborn::hold>;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    peer.send_request(wire::make_id(0, i), kHold.id, kHold.schema, "");
    peer.send_cancel(wire::make_id(0, i));
  }
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.write_some() && peer.read_some() && peer.answers().size() == 992; }));
  EXPECT_EQ(server.stats().calls_running, 8u);
  EXPECT_EQ(server.stats().calls_refused, 992u);
  for (const wire::FrameHeader& header : peer.answers()) {
    EXPECT_EQ(wire::AnswerView{header}.code(), static_cast<unsigned>(StatusCode::kResourceExhausted));
  }
  EXPECT_EQ(call<long_text>(client(server), 5u).value(), "ttttt") << "another connection notices nothing";
  stubborn.release();
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
}

TEST_F(Limits, AClientIsNotRefusedForItsOwnCallsThatItGaveUpButWaitsUntilTheyHaveEnded) {
  Stubborn stubborn;
  ServerOptions options;
  options.limits.calls_in_flight_max = 4;
  Server& server =
      serve_here(std::move(options), [&](Server& its) { its.register_handler<&Stubborn::hold>(&stubborn); });
  Client& caller = client(server);
  CallOptions short_time;
  short_time.timeout = 100ms;  // they have to reach the server before, also on a busy machine
  std::vector<Call<int>> given_up;
  for (int i = 0; i < 4; ++i) given_up.push_back(caller.start<&Stubborn::hold>(short_time));
  for (const auto& each : loop().block_on(await_all(given_up))) {
    EXPECT_EQ(each.status().code(), StatusCode::kDeadlineExceeded);
  }
  std::vector<Call<int>> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(caller.start<&Stubborn::hold>());
  loop().run_until_idle();
  EXPECT_EQ(caller.stats().calls_in_flight, 0u);
  EXPECT_EQ(caller.stats().calls_waiting, 4u);
  EXPECT_EQ(server.stats().calls_running, 4u) << "their handlers do not look at the cancel";
  stubborn.release();
  ASSERT_TRUE(turn_until(loop(), [&] { return stubborn.held.size() == 4; }));
  stubborn.release();
  for (const auto& each : loop().block_on(await_all(calls)))
    EXPECT_TRUE(each.ok()) << each.status().to_string();
  EXPECT_EQ(server.stats().calls_refused, 0u);
}

TEST_F(Limits, AClientKeepsToCallsInFlightMaxAndLetsTheOthersWait) {
  Stubborn stubborn;
  ServerOptions options;
  options.limits.calls_in_flight_max = 4;
  Server& server =
      serve_here(std::move(options), [&](Server& its) { its.register_handler<&Stubborn::hold>(&stubborn); });
  Client& caller = client(server);
  EXPECT_TRUE(connect(caller).ok());
  std::vector<Call<int>> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(caller.start<&Stubborn::hold>());
  EXPECT_EQ(caller.stats().calls_in_flight, 4u);
  EXPECT_EQ(caller.stats().calls_waiting, 6u);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(turn_until(loop(), [&] { return !stubborn.held.empty(); }));
    loop().run_until_idle();
    EXPECT_LE(stubborn.held.size(), 4u);
    stubborn.release();
  }
  for (const auto& result : loop().block_on(await_all(calls))) EXPECT_EQ(result.value(), 1);
  EXPECT_EQ(server.stats().calls_refused, 0u);
}

TEST_F(Limits, CallsWaitingMaxRefusesTheNext) {
  ClientOptions options;
  options.limits.calls_waiting_max = 3;
  Server& server = serve_here([](Server& its) { its.register_handler<long_text>(); });
  Client& caller = client(server, std::move(options));
  std::vector<Call<std::string>> calls;
  for (int i = 0; i < 5; ++i) calls.push_back(caller.start<long_text>(1u));
  const auto results = loop().block_on(await_all(calls));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(results[i].status().code(), i < 3 ? StatusCode::kOk : StatusCode::kResourceExhausted) << i;
  }
}

TEST_F(Limits, ConnectionsMaxTurnsThePeerAway) {
  static testing::WarningLogger log;  // outlives the server
  log.take_lines();
  Server& server = serve_here({.connections_max = 2, .logger = &log},
                              [](Server& its) { its.register_handler<long_text>(); });
  Client& first = client(server);
  EXPECT_TRUE(call<long_text>(first, 1u).ok());
  EXPECT_TRUE(call<long_text>(client(server), 1u).ok());
  Client& third = client(server, {.reconnect_wait_min = 1ms});
  EXPECT_EQ(call<long_text>(third, 1u).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(server.stats().connections_refused, 1u);
  EXPECT_THAT(log.take_lines(),
              ::testing::ElementsAre(::testing::MatchesRegex(
                  "tcp://127.0.0.1:[0-9]+: refused the connection: .*ServerOptions::connections_max.*")));
  first.close();
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 1; }));
  EXPECT_TRUE(call<long_text>(third, 1u).ok());
}

TEST_F(Limits, ConnectionAndProcessMemoryBoundTheAttachmentsThatAreHeld) {
  for (const bool per_process : {false, true}) {
    Stubborn stubborn;
    ServerOptions options;
    (per_process ? options.limits.process_memory_max : options.limits.connection_memory_max) = 250'000;
    Server& server = serve_here(std::move(options), [&](Server& its) {
      its.register_handler<&Stubborn::hold_attachment>(&stubborn);
      its.register_handler<take>();
    });
    Client& caller = client(server);
    const std::vector<std::byte> memory = pattern(100'000);
    const CallOptions with_attachment{.attachment = Bytes{memory}};
    std::vector<Call<int>> calls;
    for (int i = 0; i < 5; ++i) calls.push_back(caller.start<&Stubborn::hold_attachment>(with_attachment));
    const auto done = [](const Call<int>& each) { return each.done(); };
    ASSERT_TRUE(turn_until(loop(), [&] { return std::ranges::count_if(calls, done) == 3; }));
    EXPECT_EQ(stubborn.held.size(), 2u);
    EXPECT_EQ(call<take>(client(server), with_attachment).status().code(),
              per_process ? StatusCode::kResourceExhausted : StatusCode::kOk);
    stubborn.release();
    const auto results = loop().block_on(await_all(calls));
    EXPECT_EQ(std::ranges::count_if(results, [](const auto& each) { return each.ok(); }), 2);
    EXPECT_EQ(call<take>(caller, with_attachment).value(), 100'000u) << "what was held is free again";
  }
}

/// Coroutines that go on until the test opens them.
struct Waiter {
  Event open;
  Task<int> pass() {
    [[maybe_unused]] const Result<void> passed = co_await open.wait();
    co_return 1;
  }
};

TEST_F(Limits, RunningMaxOfAMethodRefusesTheNextCallOfThatMethodFromAnyConnection) {
  Waiter waiter;
  Stubborn stubborn;
  Server& server = serve_here([&](Server& its) {
    its.register_handler<&Waiter::pass>(&waiter, {.running_max = 2});
    its.register_handler<&Stubborn::hold>(&stubborn);
  });
  Client& first = client(server);
  Client& second = client(server);
  Call<int> one = first.start<&Waiter::pass>();
  Call<int> two = second.start<&Waiter::pass>();
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 2; }));
  const Status refused = call<&Waiter::pass>(second).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.retry(), Retry::kBackoff);
  EXPECT_THAT(std::string{refused.message()}, ::testing::HasSubstr("HandlerOptions::running_max"));
  EXPECT_EQ(refused.retry_after(), 10ms) << "none has ended, so nothing is known";
  EXPECT_EQ(server.stats().refused[RefusalReason::kOverRunning], 1u);
  Call<int> other = first.start<&Stubborn::hold>();
  ASSERT_TRUE(turn_until(loop(), [&] { return stubborn.held.size() == 1; }))
      << "another method has its place";
  waiter.open.set();
  stubborn.release();
  EXPECT_EQ(loop().block_on(std::move(one)).value(), 1);
  EXPECT_EQ(loop().block_on(std::move(two)).value(), 1);
  EXPECT_EQ(loop().block_on(std::move(other)).value(), 1);
  EXPECT_EQ(call<&Waiter::pass>(second).value(), 1) << "those that ended have left their places";
}

TEST_F(Limits, APlaceAmongThoseThatRunIsKeptByAHandlerWhoseCallerIsGoneUntilItEnds) {
  Stubborn stubborn;
  Server& server =
      serve_here([&](Server& its) { its.register_handler<&Stubborn::hold>(&stubborn, {.running_max = 2}); });
  Client& cancels = client(server);
  Client& leaves = client(server);
  {
    const Call<int> dropped = cancels.start<&Stubborn::hold>();
    ASSERT_TRUE(turn_until(loop(), [&] { return stubborn.held.size() == 1; }));
  }
  const Call<int> lost = leaves.start<&Stubborn::hold>();
  ASSERT_TRUE(turn_until(loop(), [&] { return stubborn.held.size() == 2; }));
  leaves.close();
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 1; }));
  Client& caller = client(server);
  EXPECT_EQ(call<&Stubborn::hold>(caller).status().code(), StatusCode::kResourceExhausted);
  stubborn.release();
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
  Call<int> next = caller.start<&Stubborn::hold>();
  ASSERT_TRUE(turn_until(loop(), [&] { return stubborn.held.size() == 1; }));
  stubborn.release();
  EXPECT_EQ(wait_for(std::move(next)).value(), 1);
}

Task<int> throw_later(bool at_once) {
  if (!at_once) static_cast<void>(co_await sleep_for(1us));
  throw std::runtime_error("it broke");
}
int throw_on_worker() {
  throw std::runtime_error("it broke");
}
void throw_with_reply(Reply<int>) {
  throw std::runtime_error("it broke");
}

TEST_F(Limits, AHandlerThatThrowsLeavesItsPlace) {
  ServerOptions options;
  options.calls_running_max = 1;
  Server& server = serve_here(std::move(options), [](Server& its) {
    its.register_handler<throw_later>({.running_max = 1});
    its.register_handler<throw_with_reply>({.running_max = 1});
    its.register_handler<throw_on_worker>({.blocking = true, .running_max = 1});
  });
  Client& caller = client(server);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(call<throw_later>(caller, true).status().code(), StatusCode::kUnknown);
    EXPECT_EQ(call<throw_later>(caller, false).status().code(), StatusCode::kUnknown);
    EXPECT_EQ(call<throw_with_reply>(caller).status().code(), StatusCode::kUnknown);
    EXPECT_EQ(call<throw_on_worker>(caller).status().code(), StatusCode::kUnknown);
  }
  EXPECT_EQ(server.stats().refused[RefusalReason::kOverRunning], 0u);
}

TEST_F(Limits, AConnectionThatFillsCallsRunningMaxLeavesRoomForOthers) {
  Stubborn stubborn;
  ServerOptions options;
  options.calls_running_max = 90;
  Server& server =
      serve_here(std::move(options), [&](Server& its) { its.register_handler<&Stubborn::hold>(&stubborn); });
  Client& greedy = client(server);
  std::vector<Call<int>> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(greedy.start<&Stubborn::hold>());
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_refused == 120; }));
  EXPECT_EQ(stubborn.held.size(), 80u);
  Client& modest = client(server);
  Call<int> one = modest.start<&Stubborn::hold>();
  ASSERT_TRUE(turn_until(loop(), [&] { return stubborn.held.size() == 81; }));
  stubborn.release();
  EXPECT_EQ(wait_for(std::move(one)).value(), 1);
}

TEST_F(Limits, CallsRunningMaxBoundsTheCallsOfAllMethodsTogether) {
  Waiter waiter;
  Stubborn stubborn;
  Blocker blocker;
  ServerOptions options;
  options.calls_running_max = 3;
  Server& server = serve_here(std::move(options), [&](Server& its) {
    its.register_handler<&Waiter::pass>(&waiter, {.running_max = 2});
    its.register_handler<&Stubborn::hold>(&stubborn);
    its.register_handler<&Blocker::pass>(&blocker, {.blocking = true});
    its.register_handler<long_text>();
  });
  Client& caller = client(server);
  Call<int> one = caller.start<&Waiter::pass>();
  Call<int> two = caller.start<&Stubborn::hold>();
  Call<int> three = caller.start<&Blocker::pass>();
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 3; }));
  EXPECT_EQ(call<&Stubborn::hold>(caller).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(call<&Waiter::pass>(caller).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(call<&Blocker::pass>(client(server)).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(call<long_text>(caller, 1u).value(), "t") << "what runs at once takes no place";
  EXPECT_EQ(server.stats().refused[RefusalReason::kOverRunning], 3u);
  stubborn.release();
  EXPECT_EQ(loop().block_on(std::move(two)).value(), 1);
  Call<int> next = caller.start<&Waiter::pass>();
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 3; })) << "its place is free";
  waiter.open.set();
  blocker.closed.unlock();
  EXPECT_EQ(loop().block_on(std::move(one)).value(), 1);
  EXPECT_EQ(loop().block_on(std::move(three)).value(), 1);
  EXPECT_EQ(loop().block_on(std::move(next)).value(), 1);
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
}

TEST_F(Limits, WorkerQueueMaxRefusesTheNextBlockingCall) {
  Blocker blocker;
  ServerOptions options;
  options.worker_threads = 1;
  options.worker_queue_max = 2;
  Server& server = serve_here(std::move(options), [&](Server& its) {
    its.register_handler<&Blocker::pass>(&blocker, {.blocking = true});
    its.register_handler<long_text>();
  });
  Client& caller = client(server);
  std::vector<Call<int>> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(caller.start<&Blocker::pass>());
  const auto done = [](const Call<int>& each) { return each.done(); };
  ASSERT_TRUE(turn_until(loop(), [&] { return std::ranges::count_if(calls, done) >= 17; }));
  EXPECT_EQ(call<long_text>(caller, 1u).value(), "t") << "the loop is never blocked";
  blocker.closed.unlock();
  const auto results = loop().block_on(await_all(calls));
  const auto refused = std::ranges::count_if(
      results, [](const auto& each) { return each.status().code() == StatusCode::kResourceExhausted; });
  const auto served = std::ranges::count_if(results, [](const auto& each) { return each.ok(); });
  EXPECT_EQ(refused + served, 20);
  EXPECT_GE(served, 2);
  EXPECT_LE(served, 3);
}

TEST_F(Limits, WaitingMaxRefusesNoneOfTheCallsOfOneTurnThatIdleWorkersAreAboutToTake) {
  Blocker blocker;
  ServerOptions options;
  options.worker_threads = 2;
  Server& server = serve_here(std::move(options), [&](Server& its) {
    its.register_handler<&Blocker::pass>(&blocker, {.blocking = true, .waiting_max = 1});
  });
  Client& caller = client(server);
  std::vector<Call<int>> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(caller.start<&Blocker::pass>());
  const auto done = [](const Call<int>& each) { return each.done(); };
  ASSERT_TRUE(turn_until(loop(), [&] { return std::ranges::count_if(calls, done) == 1; }));
  blocker.closed.unlock();
  const auto results = loop().block_on(await_all(calls));
  const auto served = std::ranges::count_if(results, [](const auto& each) { return each.ok(); });
  EXPECT_EQ(served, 3) << "two run and one waits";
  const Status refused = results.back().status();
  EXPECT_EQ(refused.message(),
            "the server says: as many calls of the method wait for a worker as may "
            "(HandlerOptions::waiting_max)");
  EXPECT_GT(refused.retry_after(), Duration::zero());
}

TEST_F(Limits, WorkerQueueMaxRefusesNoneOfTheCallsOfOneTurnThatIdleWorkersAreAboutToTake) {
  Blocker blocker;
  ServerOptions options;
  options.worker_threads = 3;
  options.worker_queue_max = 1;
  Server& server = serve_here(std::move(options), [&](Server& its) {
    its.register_handler<&Blocker::pass>(&blocker, {.blocking = true});
  });
  Client& caller = client(server);
  std::vector<Call<int>> calls;
  for (int i = 0; i < 5; ++i) calls.push_back(caller.start<&Blocker::pass>());
  const auto done = [](const Call<int>& each) { return each.done(); };
  ASSERT_TRUE(turn_until(loop(), [&] { return std::ranges::count_if(calls, done) == 1; }));
  EXPECT_TRUE(calls.back().done()) << "three run, one waits, and the fifth is refused";
  blocker.closed.unlock();
  const auto results = loop().block_on(await_all(calls));
  const auto served = std::ranges::count_if(results, [](const auto& each) { return each.ok(); });
  EXPECT_EQ(served, 4);
  EXPECT_THAT(std::string{results.back().status().message()},
              ::testing::HasSubstr("ServerOptions::worker_queue_max"));
  EXPECT_EQ(server.stats().refused[RefusalReason::kOverWorkerQueue], 1u);
}

/// Handlers of a server whose peer does not read; they count the answers that they make.
struct Producer {
  std::size_t produced = 0;
  std::string inline_answer() { return make(); }
  Task<std::string> coroutine_answer() { co_return make(); }
  Event open;
  Task<std::string> held_answer() {
    [[maybe_unused]] const Result<void> passed = co_await open.wait();
    co_return make();
  }
  int attachment_answer(CallContext& context) {
    context.set_attachment(Buffer::adopt(make()));
    return 1;
  }
  std::string make() {
    produced += kAnswerBytes;
    return std::string(kAnswerBytes, 'a');
  }
  static constexpr std::size_t kAnswerBytes = 64 * 1024;
};

class APeerThatStopsReading : public RpcTest {
 protected:
  static constexpr std::size_t kHighWater = 1u << 20;
  // What the kernel's buffers on both sides may swallow beside our queue.
  static constexpr std::size_t kKernelBytes = 16u << 20;
  // Their answers are twice as many bytes as any test here lets the server make, or more.
  static constexpr std::uint32_t kRequests = 1200;

  Producer producer_;
  Server& server_with_small_queue(Duration stall_timeout) {
    ServerOptions options;
    options.limits.outbox_high_water = kHighWater;
    options.limits.stall_timeout = stall_timeout;
    return serve_here(std::move(options), [this](Server& its) {
      its.register_handler<&Producer::inline_answer>(&producer_);
      its.register_handler<&Producer::coroutine_answer>(&producer_);
      its.register_handler<&Producer::held_answer>(&producer_);
      its.register_handler<&Producer::attachment_answer>(&producer_);
    });
  }
  void ask(RawPeer& peer, const MethodKey& method, std::string_view attachment = {}) {
    peer.send_hello();
    for (std::uint32_t i = 0; i < kRequests; ++i) {
      peer.send_request(wire::make_id(i, 0), method.id, method.schema, "", attachment);
    }
    // As long as anything moves: then everything stands still, with most of the answers not made.
    std::size_t before = 0;
    do {
      before = producer_.produced;
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(peer.write_some());
        loop().run_once(1ms);
      }
    } while (producer_.produced != before);
  }
};

TEST_F(APeerThatStopsReading, KeepsTheQueueOfOrdinaryAnswersBounded) {
  Server& server = server_with_small_queue(30s);
  RawPeer peer{server.urls().front(), 32 * 1024};
  ask(peer, detail::method_key<&Producer::inline_answer>);
  EXPECT_LE(producer_.produced, kHighWater + kKernelBytes);
  ASSERT_TRUE(turn_until(loop(), [&] {
    return peer.write_some() && peer.read_some() && peer.answers().size() == kRequests;
  })) << "it reads again, and everything comes";
}

TEST_F(APeerThatStopsReading, SuspendsCoroutinesThatAnswerIt) {
  Server& server = server_with_small_queue(30s);
  RawPeer peer{server.urls().front(), 32 * 1024};
  ask(peer, detail::method_key<&Producer::coroutine_answer>);
  EXPECT_LE(producer_.produced, 2 * (kHighWater + kKernelBytes));
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.write_some() && peer.read_some() && peer.answers().size() == kRequests; }));
}

TEST_F(APeerThatStopsReading, LetsCoroutinesThatWaitForRoomGoOnOnlyAsFarAsThereIsRoom) {
  constexpr std::uint32_t kHeld = 1000;
  Server& server = server_with_small_queue(30s);
  RawPeer peer{server.urls().front(), 32 * 1024};
  peer.send_hello();
  constexpr auto kMethod = detail::method_key<&Producer::held_answer>;
  for (std::uint32_t i = 0; i < kHeld; ++i) {
    peer.send_request(wire::make_id(i, 0), kMethod.id, kMethod.schema, "");
  }
  ASSERT_TRUE(turn_until(loop(), [&] { return peer.write_some() && server.stats().calls_running == kHeld; }));
  producer_.open.set();
  std::size_t before = 0;
  do {
    before = server.stats().calls_running;
    for (int i = 0; i < 20; ++i) loop().run_once(1ms);
  } while (server.stats().calls_running != before);
  EXPECT_GE(before, kHeld - (kHighWater + kKernelBytes) / Producer::kAnswerBytes);
  ASSERT_TRUE(turn_until(loop(), [&] { return peer.read_some() && peer.answers().size() == kHeld; }));
  EXPECT_EQ(server.stats().calls_running, 0u);
}

TEST_F(APeerThatStopsReading, IsNotReadFromWhenItsRequestsBringAttachments) {
  Server& server = server_with_small_queue(30s);
  RawPeer peer{server.urls().front(), 32 * 1024};
  ask(peer, detail::method_key<&Producer::attachment_answer>, "attached");
  EXPECT_LE(producer_.produced, kHighWater + kKernelBytes);
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.write_some() && peer.read_some() && peer.answers().size() == kRequests; }));
}

TEST_F(APeerThatStopsReading, IsEndedAfterTheStallTimeout) {
  Server& server = server_with_small_queue(50ms);
  RawPeer peer{server.urls().front(), 32 * 1024};
  peer.send_hello();
  constexpr auto kMethod = detail::method_key<&Producer::inline_answer>;
  for (std::uint32_t i = 0; i < kRequests; ++i) {
    peer.send_request(wire::make_id(i, 0), kMethod.id, kMethod.schema, "");
  }
  ASSERT_TRUE(turn_until(loop(), [&] { return peer.write_some() && server.stats().connections == 1; }));
  ASSERT_TRUE(turn_until(loop(), [&] {
    peer.write_some();
    return server.stats().connections == 0;
  }));
  EXPECT_EQ(server.stats().calls_running, 0u);
}

}  // namespace
}  // namespace weft::testing::limits_tests
