// SPDX-License-Identifier: Apache-2.0
// CR-1: each function of a server's life, called on a thread of the server's own: in a turn of its loop, in a
// handler, and in a function that its start() calls.
#include <cstdio>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "support/sockets.hpp"
#include "weft/blocking_client.hpp"

namespace weft::testing::server_on_loop_tests {
namespace {

int sum(int a, int b) {
  return a + b;
}

enum class State { kNew, kStartFailed, kRunning, kStopping, kStopped };
constexpr State kStates[] = {State::kNew, State::kStartFailed, State::kRunning, State::kStopping,
                             State::kStopped};
constexpr const char* kStateNames[] = {"new", "start failed", "running", "stopping", "stopped"};

bool was_started(State state) {
  return state >= State::kRunning;
}

/// A function of a server's life that returns on the server's own thread, and its check.
struct Step {
  const char* name;
  std::function<void(Server&, State)> run;
  /// May be called in a state in which it would wait for its own end; see the death tests.
  bool waits = false;
};

std::vector<Step> steps() {
  return {
      {"start()",
       [](Server& server, State before) {
         const StatusCode expected = was_started(before) ? StatusCode::kFailedPrecondition : StatusCode::kOk;
         EXPECT_EQ(server.start().status().code(), expected);
       }},
      {"stop()", [](Server& server, State) { server.stop(); }},
      {"stop(0s)", [](Server& server, State) { server.stop(0s); }},
      {"stop(kNoTimeout)", [](Server& server, State) { server.stop(kNoTimeout); }},
      {"stop() twice",
       [](Server& server, State) {
         server.stop();
         server.stop(0s);
       }},
      {"wait()",
       [](Server& server, State before) {
         server.wait();
         EXPECT_EQ(server.stopped(), before == State::kStopped);
       },
       true},
      {"stopped()",
       [](Server& server, State before) {
         const bool stopped = server.stopped();
         EXPECT_TRUE(before == State::kStopping || stopped == (before == State::kStopped));
       }},
      {"urls()",
       [](Server& server, State before) { EXPECT_EQ(server.urls().size(), was_started(before) ? 1u : 0u); }},
      {"stats()", [](Server& server, State) { EXPECT_LE(server.stats().connections, 1u); }},
      {"peers()", [](Server& server, State) { EXPECT_LE(server.peers().count(), 1u); }},
      {"register_memory()",
       [](Server& server, State) {
         std::byte memory[64];
         EXPECT_TRUE(server.register_memory(memory).ok());
       }},
  };
}

/// A server on the loop of the test, or with threads of its own.
class ServerOnItsLoop : public RpcTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  /// State of a loop, by which the test knows the loop.
  struct Noted {};

  void make(std::string listen = kAnyPort) {
    const unsigned threads = GetParam();
    server_ = std::make_unique<Server>(ServerOptions{
        .listen = {std::move(listen)}, .threads = threads, .loop = threads == 0 ? &loop() : nullptr});
    server_->register_handler<sum>();
    its_loop_ = &loop();
    if (threads == 0) return;
    server_->per_loop<Noted>([this](Loop& its) {
      its_loop_ = &its;
      return Noted{};
    });
  }
  /// True if a server in `state` has a loop in whose turn something can be called.
  static bool has_loop(State state) { return GetParam() == 0 || was_started(state); }
  void make_in(State state) {
    if (state == State::kStartFailed) {
      const SilentListener taken;
      make(taken.url());
      EXPECT_EQ(server_->start().status().code(), StatusCode::kAlreadyExists);
      return;
    }
    make();
    if (was_started(state)) server_->start().value();
    if (state >= State::kStopping) server_->stop();
    if (state == State::kStopped) server_->wait();
  }
  /// Calls `work` in a turn of the server's first loop.
  void in_a_turn(const std::function<void()>& work) {
    if (GetParam() != 0) return run_on(*its_loop_, work);
    bool done = false;
    loop().post([&] {
      work();
      done = true;
    });
    EXPECT_TRUE(turn_until(loop(), [&] { return done; }));
  }
  /// Ends a server in any state, and expects that it says so.
  void end() {
    server_->stop(0s);
    static_cast<void>(server_->start());  // for one that was not started; the stop before is kept
    server_->wait();
    EXPECT_TRUE(server_->stopped());
    server_.reset();
  }

  std::unique_ptr<Server> server_;
  Loop* its_loop_ = nullptr;
};

TEST_P(ServerOnItsLoop, EachFunctionReturnsInATurn) {
  for (const Step& step : steps()) {
    for (const State state : kStates) {
      if (!has_loop(state)) continue;
      if (step.waits && (state == State::kRunning || state == State::kStopping)) continue;
      const std::string row = std::string{step.name} + " when " + kStateNames[static_cast<int>(state)];
      std::printf("server, %u threads, in a turn: %s\n", GetParam(), row.c_str());
      SCOPED_TRACE(row);
      make_in(state);
      in_a_turn([&] { step.run(*server_, state); });
      end();
    }
  }
}

/// A server without threads of its own, so that its destructor joins none.
class ServerOnTheCallersLoop : public ServerOnItsLoop {};

TEST_P(ServerOnTheCallersLoop, EndsByItsDestructorInATurnUnlessItWouldWait) {
  for (const State state : {State::kNew, State::kStartFailed, State::kStopped}) {
    std::printf("server, 0 threads, in a turn: destroyed when %s\n", kStateNames[static_cast<int>(state)]);
    make_in(state);
    in_a_turn([&] { server_.reset(); });
    loop().run_until_idle();
  }
}

INSTANTIATE_TEST_SUITE_P(WithoutThreads, ServerOnTheCallersLoop, ::testing::Values(0u));

TEST_P(ServerOnItsLoop, EachFunctionReturnsInAHandler) {
  for (const Step& step : steps()) {
    if (step.waits) continue;
    SCOPED_TRACE(step.name);
    make();
    bool ran = false;
    server_->register_handler("act", [&] {
      step.run(*server_, State::kRunning);
      ran = true;
    });
    server_->start().value();
    Client& its = client(*server_);
    const Result<void> answer = wait_for(its.start<remote<"act", void()>>());
    EXPECT_TRUE(ran);
    EXPECT_TRUE(answer.ok() || std::string{step.name}.starts_with("stop(")) << answer.status().to_string();
    its.close();
    end();
  }
}

/// A start() that another start() calls, or whose functions ask the server.
TEST_P(ServerOnItsLoop, EachFunctionReturnsInAFunctionThatStartCalls) {
  for (const Step& step : steps()) {
    SCOPED_TRACE(step.name);
    make();
    int calls = 0;
    struct Asked {};
    server_->per_loop<Asked>([&](Loop&) {
      if (++calls > 1) return Asked{};
      if (std::string{step.name} == "start()") {
        EXPECT_EQ(server_->start().status().code(), StatusCode::kFailedPrecondition);
        EXPECT_EQ(server_->run().status().code(), StatusCode::kFailedPrecondition);
      } else {
        step.run(*server_, State::kNew);
      }
      return Asked{};
    });
    const Result<void> started = server_->start();
    EXPECT_TRUE(started.ok()) << started.status().to_string();
    EXPECT_EQ(calls, GetParam() == 0 ? 1 : 2) << "once for each loop";
    end();
  }
}

TEST_P(ServerOnItsLoop, AFailedStartLetsItsFunctionsAskAndIsTriedAgain) {
  make();
  struct Fickle {
    explicit Fickle(Server& its) : server(its) {}
    Fickle(const Fickle&) = delete;
    Fickle& operator=(const Fickle&) = delete;
    ~Fickle() {
      EXPECT_EQ(server.start().status().code(), StatusCode::kFailedPrecondition) << "while it is taken down";
    }
    Server& server;
  };
  int failures = 0;
  server_->per_loop<Fickle>([&](Loop&) { return std::make_unique<Fickle>(*server_); });
  struct Late {};
  server_->per_loop<Late>([&](Loop&) -> Result<Late> {
    if (failures++ == 0) return Status{StatusCode::kUnavailable, Layer::kUser, "not yet"};
    return Late{};
  });
  EXPECT_EQ(server_->start().status().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(server_->start().ok());
  Client& its = client(*server_);
  EXPECT_EQ(call<sum>(its, 1, 2).value_or(-1), 3);
  its.close();
  end();
}

INSTANTIATE_TEST_SUITE_P(OnThreads, ServerOnItsLoop, ::testing::Values(0u, 2u));

constexpr const char* kWaitsForItself = "waits for its own server's end, or destroys the server";
constexpr const char* kWaitsInTurn = "inside its own loop's turn would never end";

/// Calls that would wait for their own thread, each with its words.
class ServerOnItsLoopDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  /// Calls `act` in a handler of a server with a thread of its own.
  static void act_in_a_handler(void (*act)(std::unique_ptr<Server>&)) {
    auto server = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}});
    server->register_handler("act", [&] { act(server); });
    server->start().value();
    BlockingClient caller{{.connect = server->urls().front()}};
    static_cast<void>(caller.call<remote<"act", void()>>());
  }
  /// Calls `act` in a turn of the one loop of a server without threads.
  static void act_in_a_turn(void (*act)(std::unique_ptr<Server>&), bool stops) {
    const auto loop = Loop::create().value();
    auto server =
        std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}, .threads = 0, .loop = loop.get()});
    server->start().value();
    if (stops) server->stop();
    loop->post([&] { act(server); });
    while (true) loop->run_once(1ms);
  }
  static void wait(std::unique_ptr<Server>& server) { server->wait(); }
  static void stop_and_wait(std::unique_ptr<Server>& server) {
    server->stop(0s);
    server->wait();
  }
  static void destroy(std::unique_ptr<Server>& server) { server.reset(); }
};

TEST_F(ServerOnItsLoopDeathTest, AHandlerThatWaitsForItsServerSaysSo) {
  EXPECT_DEATH(act_in_a_handler(&wait), kWaitsForItself);
  EXPECT_DEATH(act_in_a_handler(&stop_and_wait), kWaitsForItself);
}

TEST_F(ServerOnItsLoopDeathTest, AHandlerThatDestroysItsServerSaysSo) {
  EXPECT_DEATH(act_in_a_handler(&destroy), kWaitsForItself);
}

TEST_F(ServerOnItsLoopDeathTest, ATurnThatWaitsForItsServerSaysSo) {
  for (const bool stops : {false, true}) {
    EXPECT_DEATH(act_in_a_turn(&wait, stops), kWaitsInTurn);
    EXPECT_DEATH(act_in_a_turn(&stop_and_wait, stops), kWaitsInTurn);
    EXPECT_DEATH(act_in_a_turn(&destroy, stops), kWaitsInTurn);
  }
}

TEST_F(ServerOnItsLoopDeathTest, ARunInATurnOfItsLoopSaysSo) {
  const auto run = [] {
    const auto loop = Loop::create().value();
    Server server{{.listen = {kAnyPort}, .threads = 0, .loop = loop.get()}};
    loop->post([&] { static_cast<void>(server.run()); });
    while (true) loop->run_once(1ms);
  };
  EXPECT_DEATH(run(), kWaitsInTurn);
}

TEST_F(ServerOnItsLoopDeathTest, AStoppedServerIsNotDestroyedOnItsOwnThread) {
  const auto destroy_late = [] {
    struct Noted {};
    Loop* its_loop = nullptr;
    auto server = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}});
    server->per_loop<Noted>([&](Loop& its) {
      its_loop = &its;
      return Noted{};
    });
    server->start().value();
    server->stop(0s);
    server->wait();
    run_on(*its_loop, [&] { server.reset(); });
  };
  EXPECT_DEATH(destroy_late(), kWaitsForItself);
}

TEST_F(ServerOnItsLoopDeathTest, AFunctionThatStartCallsNeitherRegistersNorDestroys) {
  struct Asked {};
  const auto start_with = [](void (*act)(std::unique_ptr<Server>&)) {
    auto server = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}});
    server->per_loop<Asked>([&, act](Loop&) {
      act(server);
      return Asked{};
    });
    static_cast<void>(server->start());
  };
  EXPECT_DEATH(start_with([](std::unique_ptr<Server>& server) { server->register_handler<sum>(); }),
               "register handlers before start");
  EXPECT_DEATH(
      start_with([](std::unique_ptr<Server>& server) { server->per_loop<int>([](Loop&) { return 1; }); }),
      "per_loop\\(\\) before start");
  EXPECT_DEATH(
      start_with([](std::unique_ptr<Server>& server) { server->on_peers([](Peer) {}, [](Peer) {}); }),
      "on_peers\\(\\) before start");
  EXPECT_DEATH(start_with(&destroy), "destroyed by a function that its start\\(\\) calls");
}

}  // namespace
}  // namespace weft::testing::server_on_loop_tests
