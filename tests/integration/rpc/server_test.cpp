// SPDX-License-Identifier: Apache-2.0
// CR-1: where a server listens, how it starts, whom it takes in, and how it ends.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <future>
#include <stdexcept>
#include <thread>

#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"
#include "integration/rpc/warning_logger.hpp"
#include "support/raw_socket.hpp"
#include "support/wire_bytes.hpp"
#include "weft/blocking_client.hpp"
#include "weft/detail/coro/with_scope.hpp"

namespace weft::testing::server_tests {

using namespace weft::detail;
namespace {

std::string echo(std::string_view text) {
  return std::string{text};
}
Task<std::string> echo_in_coroutine(std::string text) {
  co_return text;
}
void fill_echo(Server& server) {
  server.register_handler<echo>();
  server.register_handler<echo_in_coroutine>();
}

/// Stops the server that it serves.
struct Stopper {
  Server* server = nullptr;
  Duration grace = 10s;
  std::string stop(std::string text) {
    server->stop(grace);
    return text;
  }
  Task<std::string> stop_in_coroutine(std::string text) {
    server->stop(grace);
    const Result<void> slept = co_await sleep_for(1ms);
    co_return slept.ok() ? text : "cancelled";
  }
  void fill(Server& its_server) {
    server = &its_server;
    its_server.register_handler<&Stopper::stop>(this);
    its_server.register_handler<&Stopper::stop_in_coroutine>(this);
  }
};

/// Holds its callers until it is let go.
struct Gate {
  Event open;
  int waiting = 0;
  int cancelled = 0;
  Task<int> wait(int number) {
    ++waiting;
    const Result<void> passed = co_await open.wait();
    --waiting;
    if (!passed.ok()) ++cancelled;
    co_return number;
  }
  /// Runs on whatever the caller does.
  Task<int> wait_stubbornly(int number) {
    ++waiting;
    while (!open.is_set()) co_await sleep_without_cancel();
    --waiting;
    co_return number;
  }
  static Task<void> sleep_without_cancel() {
    CancelScope mine{nullptr};
    Task<void> nap = nap_once();
    co_await with_scope(mine, std::move(nap));
  }
  static Task<void> nap_once() { [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms); }
};

using Servers = RpcTest;

TEST_F(Servers, ServesAllItsListenersAndKnowsTheirRealUrls) {
  const std::string path = "/tmp/weft-cr1-" + std::to_string(::getpid()) + ".sock";
  ServerOptions options;
  options.listen = {kAnyPort, "tcp://[::1]:0", "unix://" + path, kAnyPort};
  options.threads = 2;
  Server& server = serve(std::move(options), fill_echo);
  const std::vector<std::string> urls = server.urls();
  ASSERT_EQ(urls.size(), 4u);
  EXPECT_NE(urls[0], urls[3]);
  for (const std::string& url : urls) {
    const Url parsed = Url::parse(url).value();
    if (parsed.scheme == "tcp") {
      EXPECT_NE(parsed.port, 0) << url;
    }
    Client& caller = client(url);
    EXPECT_EQ(call<echo>(caller, "to " + url).value(), "to " + url);
    EXPECT_EQ(call<echo_in_coroutine>(caller, url).value(), url);
  }
  EXPECT_EQ(server.stats().connections_accepted, 4u);
  EXPECT_EQ(server.stats().calls, 8u);
}

TEST_F(Servers, SpreadsConnectionsOverItsThreads) {
  Server& server = serve({.threads = 3}, fill_echo);
  std::vector<Client*> callers;
  for (int i = 0; i < 9; ++i) callers.push_back(&client(server));
  for (Client* caller : callers) EXPECT_TRUE(call<echo>(*caller, "x").ok());
  EXPECT_EQ(server.stats().connections, 9u);
}

TEST_F(Servers, SaysThatAPortIsTaken) {
  Server& first = serve_here(fill_echo);
  Server second{{.listen = {first.urls().front()}}};
  second.register_handler<echo>();
  const Result<void> started = second.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.status().native(), EADDRINUSE);
  EXPECT_THAT(started.status().message(),
              ::testing::StartsWith("listen on " + first.urls().front() + ": bind"));
  EXPECT_TRUE(call<echo>(client(first), "still here").ok());
}

TEST_F(Servers, RunsNothingWhenOneOfSeveralListenersCannotBe) {
  Server& first = serve_here(fill_echo);
  const std::string path = ::testing::TempDir() + "weft_one_of_several." + std::to_string(::getpid());
  Server second{{.listen = {"unix://" + path, first.urls().front()}, .threads = 2}};
  const Result<void> started = second.start();
  ASSERT_FALSE(started.ok());
  EXPECT_TRUE(second.urls().empty());
  const RawPeer peer{"unix://" + path};
  EXPECT_FALSE(peer.connected());
}

TEST_F(Servers, StartsWithAllItsMethodsWhenAFirstStartHadFailed) {
  auto first = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}});
  first->start().value();
  const std::string url = first->urls().front();
  for (const unsigned threads : {0u, 2u}) {
    Server second{{.listen = {kAnyPort, url}, .threads = threads, .loop = threads == 0 ? &loop() : nullptr}};
    fill_echo(second);
    ASSERT_FALSE(second.start().ok());
    first.reset();
    ASSERT_TRUE(second.start().ok());
    EXPECT_EQ(second.urls().size(), 2u);
    EXPECT_EQ(second.urls().back(), url);
    Client& caller = client(url);
    EXPECT_EQ(call<echo>(caller, "served").value(), "served");
    caller.close();
    if (threads == 0) {
      second.stop();
      second.wait();
      first = std::make_unique<Server>(ServerOptions{.listen = {url}});
      first->start().value();
    }
  }
}

TEST_F(Servers, RefusesUrlsThatAreWrong) {
  for (const char* url : {"127.0.0.1", "tcp://127.0.0.1:notaport", "smoke://signals:1", "tcp://", ""}) {
    Server server{{.listen = {url}}};
    const Result<void> started = server.start();
    ASSERT_FALSE(started.ok()) << url;
    EXPECT_EQ(started.status().code(), StatusCode::kInvalidArgument) << url;
  }
}

TEST_F(Servers, NeedsALoopWhenItHasNoThreads) {
  Server server{{.listen = {kAnyPort}, .threads = 0}};
  const Result<void> started = server.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.status().code(), StatusCode::kInvalidArgument);
}

TEST_F(Servers, SaysWhatToSetWhenItHasNowhereToListen) {
  Server server{{.threads = 1}};
  const Result<void> started = server.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(started.status().message(), ::testing::HasSubstr("ServerOptions::listen"));
}

TEST_F(Servers, AHandlerThatWaitsForItsOwnServerIsAMistakeThatIsSaid) {
  const auto wait_in_a_handler = [] {
    Server server{{.listen = {kAnyPort}, .threads = 1}};
    server.register_handler("wait", [&server] { server.wait(); });
    server.start().value();
    BlockingClient caller{{.connect = server.urls().front()}};
    static_cast<void>(caller.call<remote<"wait", void()>>());
  };
  EXPECT_DEATH(wait_in_a_handler(), "would never end: call stop\\(\\)");
}

TEST_F(Servers, AHandlerThatComesAfterTheStartIsAMistakeThatIsSaid) {
  Server& server = serve_here([](Server& its) { its.register_handler<echo>(); });
  EXPECT_DEATH(server.register_handler<echo_in_coroutine>(), "register handlers before start");
}

TEST_F(Servers, RunBlocksUntilAnotherThreadStopsIt) {
  Server server{{.listen = {kAnyPort}}};
  server.register_handler<echo>();
  std::promise<Result<void>> outcome;
  std::thread blocked{[&] { outcome.set_value(server.run()); }};
  server.stop();  // before, during or after the start
  blocked.join();
  EXPECT_TRUE(outcome.get_future().get().ok());
  EXPECT_TRUE(server.stopped());
}

TEST_F(Servers, RunReturnsWhatKeptItFromStarting) {
  Server server{{.listen = {"smoke://signals:1"}}};
  EXPECT_EQ(server.run().status().code(), StatusCode::kInvalidArgument);
}

TEST_F(Servers, MayBeStoppedFromInsideAnOrdinaryHandler) {
  Stopper stopper;
  Server& server = serve({.threads = 2}, [&](Server& its) { stopper.fill(its); });
  EXPECT_EQ(call<&Stopper::stop>(client(server), "last words").value(), "last words");
  turn_until(loop(), [&] { return server.stopped(); });
  server.wait();
  EXPECT_TRUE(server.stopped());
}

TEST_F(Servers, MayBeStoppedFromInsideACoroutineWhichStillAnswers) {
  Stopper stopper;
  Server& server = serve({.threads = 2}, [&](Server& its) { stopper.fill(its); });
  EXPECT_EQ(call<&Stopper::stop_in_coroutine>(client(server), "last words").value(), "last words");
  turn_until(loop(), [&] { return server.stopped(); });
  EXPECT_TRUE(server.stopped());
}

TEST_F(Servers, MayBeStoppedByForceFromInsideAHandler) {
  Stopper stopper{nullptr, Duration::zero()};
  Server& server = serve_here([&](Server& its) { stopper.fill(its); });
  const auto answer = call<&Stopper::stop_in_coroutine>(client(server), "x");
  if (!answer.ok()) {
    EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  }
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stopped(); }));
}

TEST_F(Servers, StopsWithoutEverHavingHadAPeer) {
  Server& server = serve({}, fill_echo);
  server.stop();
  server.stop();
  server.wait();
  EXPECT_TRUE(server.stopped());
}

TEST_F(Servers, IsAskedAboutEveryPeer) {
  int asked = 0;
  bool welcome = false;
  static testing::WarningLogger log;  // outlives the server
  log.take_lines();
  ServerOptions options;
  options.logger = &log;
  options.accept = [&](std::string_view peer) {
    ++asked;
    EXPECT_THAT(std::string{peer}, ::testing::StartsWith("tcp://127.0.0.1:"));
    return welcome;
  };
  Server& server = serve_here(std::move(options), fill_echo);
  Client& caller = client(server);
  const auto refused = call<echo>(caller, "x");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(server.stats().connections_refused, 1u);
  EXPECT_EQ(server.stats().connections_accepted, 0u);
  EXPECT_THAT(log.take_lines(), ::testing::ElementsAre(::testing::EndsWith(
                                    ": refused the connection: ServerOptions::accept returned false")));
  welcome = true;
  EXPECT_EQ(call<echo>(caller, "x").value(), "x");
  EXPECT_EQ(asked, 2);
}

TEST_F(Servers, TurnsEverybodyAwayWhileTheQuestionThrows) {
  bool throws = true;
  static testing::WarningLogger log;  // outlives the server
  log.take_lines();
  ServerOptions options;
  options.logger = &log;
  options.accept = [&](std::string_view) {
    if (throws) throw std::runtime_error("no list of friends");
    return true;
  };
  Server& server = serve_here(std::move(options), fill_echo);
  Client& caller = client(server);
  EXPECT_EQ(call<echo>(caller, "x").status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(server.stats().connections_refused, 1u);
  EXPECT_THAT(log.take_lines(),
              ::testing::ElementsAre(::testing::EndsWith("ServerOptions::accept threw an exception")));
  throws = false;
  EXPECT_EQ(call<echo>(caller, "x").value(), "x");
}

TEST_F(Servers, GiveThePathOfAUnixPeerCleaned) {
  const std::string directory = "/tmp/weft-cr1-" + std::to_string(::getpid());
  std::string asked;
  ServerOptions options;
  options.listen = {"unix://" + directory + ".names"};
  options.accept = [&](std::string_view peer) {
    asked = peer;
    return false;
  };
  serve_here(std::move(options), fill_echo);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = [](const std::string& path) {
    sockaddr_un native{};
    native.sun_family = AF_UNIX;
    path.copy(native.sun_path, sizeof native.sun_path - 1);
    return native;
  };
  const std::string name = directory + "\x1b[31m\nserver: all is well";
  const sockaddr_un own = address(name);
  const sockaddr_un theirs = address(directory + ".names");
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&theirs), sizeof theirs), 0);
  while (asked.empty()) loop().run_once(10s);
  EXPECT_EQ(asked, "unix://" + directory + "?[31m?server: all is well");
  ::close(fd);
  ::unlink(name.c_str());
}

TEST_F(Servers, GracefulStopLetsEveryCallInFlightEnd) {
  Gate gate;
  Server& server = serve_here([&](Server& its) { its.register_handler<&Gate::wait>(&gate); });
  Client& caller = client(server);
  std::vector<Call<int>> calls;
  for (int i = 0; i < 100; ++i) calls.push_back(caller.start<&Gate::wait>(i));
  ASSERT_TRUE(turn_until(loop(), [&] { return gate.waiting == 100; }));
  server.stop();
  loop().run_until_idle();
  EXPECT_FALSE(server.stopped());
  EXPECT_FALSE(caller.connected()) << "a goaway keeps new calls from this connection";
  gate.open.set();
  const auto results = loop().block_on(await_all(calls));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)].value(), i);
  EXPECT_EQ(gate.cancelled, 0);
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stopped(); }));
}

TEST_F(Servers, AStopUnderLoadFailsNoCallWhenAnotherServerTakesOverThePort) {
  Gate gate;
  Server& first = serve_here([&](Server& its) {
    fill_echo(its);
    its.register_handler<&Gate::wait>(&gate);
  });
  Client& caller = client(first);
  std::vector<Call<int>> held;
  for (int i = 0; i < 50; ++i) held.push_back(caller.start<&Gate::wait>(i));
  ASSERT_TRUE(turn_until(loop(), [&] { return gate.waiting == 50; }));
  first.stop();
  ASSERT_TRUE(turn_until(loop(), [&] { return !caller.connected(); }));
  // The old server has closed its listener and still works; the new one listens on the same port.
  Server& second = serve_here({.listen = first.urls()}, fill_echo);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(call<echo>(caller, "to the new one").value(), "to the new one");
  gate.open.set();
  for (const Result<int>& result : loop().block_on(await_all(held))) EXPECT_TRUE(result.ok());
  EXPECT_TRUE(turn_until(loop(), [&] { return first.stopped(); }));
  EXPECT_EQ(second.stats().calls, 50u);
  EXPECT_EQ(caller.stats().connections, 2u);
}

TEST_F(Servers, AStopDoesNotWaitForConnectionsThatSayNothing) {
  Server& server = serve_here(fill_echo);
  const Url url = Url::parse(server.urls().front()).value();
  std::vector<std::unique_ptr<RawSocket>> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(std::make_unique<RawSocket>(url));
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 50; }));
  server.stop(1h);
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stopped(); }));
  for (const auto& each : silent) {
    while (!each->receive_some(1000).empty()) {  // the server's hello
    }
    EXPECT_TRUE(each->at_end());
  }
}

// Nobody waited for it before: it is not told that half of its time had passed.
TEST_F(Servers, ACallThatWasThereBeforeItsConnectionWasLookedAtIsServed) {
  Server& server = serve_here(fill_echo);
  RawSocket caller{Url::parse(server.urls().front()).value()};
  const std::string argument = "early";
  std::string body(encoded_size(argument), '\0');
  encode_to(reinterpret_cast<std::byte*>(body.data()), body.size(), argument);
  wire::RequestHead head{
      .id = 1, .method = detail::method_key<echo>.id, .schema = detail::method_key<echo>.schema};
  head.timeout = 1'000'000;  // us
  ASSERT_TRUE(caller.send(hello_bytes() + frame_bytes(head.header(), body)));
  std::string heard;
  std::size_t hello = 0;
  ASSERT_TRUE(turn_until(loop(), [&] {
    heard += caller.receive_some(1000);
    hello = wire::hello_length(as_bytes(heard)).value();
    return hello != 0 && heard.size() >= hello + wire::kHeaderBytes;
  }));
  wire::FrameHeader answer;
  std::memcpy(&answer, heard.data() + hello, sizeof answer);
  EXPECT_EQ(answer.type, wire::FrameType::kAnswer);
  EXPECT_TRUE(wire::AnswerView{answer}.succeeded());
}

TEST_F(Servers, AForcedStopEndsEveryCallWithAStatusAndWaitsForItsHandler) {
  Gate gate;
  Server& server = serve_here([&](Server& its) {
    its.register_handler<&Gate::wait>(&gate);
    its.register_handler<&Gate::wait_stubbornly>(&gate);
  });
  Client& caller = client(server);
  std::vector<Call<int>> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(caller.start<&Gate::wait>(i));
  calls.push_back(caller.start<&Gate::wait_stubbornly>(20));
  ASSERT_TRUE(turn_until(loop(), [&] { return gate.waiting == 21; }));
  server.stop(5ms);
  for (const Result<int>& result : loop().block_on(await_all(calls))) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), StatusCode::kUnavailable);
    EXPECT_EQ(result.status().retry(), Retry::kReconnect);
  }
  EXPECT_EQ(gate.cancelled, 20);
  EXPECT_FALSE(server.stopped()) << "a handler still runs";
  gate.open.set();
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stopped(); }));
  EXPECT_EQ(gate.waiting, 0);
}

TEST_F(Servers, ASecondStopShortensTheGraceOfTheFirst) {
  Gate gate;
  Server& server = serve_here([&](Server& its) { its.register_handler<&Gate::wait>(&gate); });
  Call<int> held = client(server).start<&Gate::wait>(1);
  ASSERT_TRUE(turn_until(loop(), [&] { return gate.waiting == 1; }));
  server.stop(1h);
  server.stop(2h);
  loop().run_until_idle();
  EXPECT_FALSE(server.stopped());
  server.stop(0s);
  EXPECT_EQ(wait_for(std::move(held)).status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stopped(); }));
  server.stop(0s);
}

TEST_F(Servers, ItsEndShortensTheGraceOfAStopThatWasAskedForBefore) {
  for (const unsigned threads : {0u, 2u}) {
    Gate gate;
    auto server = std::make_unique<Server>(
        ServerOptions{.listen = {kAnyPort}, .threads = threads, .loop = threads == 0 ? &loop() : nullptr});
    server->register_handler<&Gate::wait>(&gate);
    server->start().value();
    Client& caller = client(*server);
    Call<int> held = caller.start<&Gate::wait>(1);
    ASSERT_TRUE(turn_until(loop(), [&] { return server->stats().calls_running == 1; }));
    server->stop(1h);
    server.reset();
    EXPECT_FALSE(wait_for(std::move(held)).ok());
  }
}

TEST_F(Servers, ItsEndEndsWhatStillRuns) {
  auto gate = std::make_unique<Gate>();
  auto server = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}, .threads = 0, .loop = &loop()});
  server->register_handler<&Gate::wait>(gate.get());
  server->start().value();
  Call<int> held = client(*server).start<&Gate::wait>(1);
  ASSERT_TRUE(turn_until(loop(), [&] { return gate->waiting == 1; }));
  server.reset();
  EXPECT_EQ(gate->waiting, 0);
  gate.reset();
  EXPECT_FALSE(wait_for(std::move(held)).ok());
}

}  // namespace
}  // namespace weft::testing::server_tests
