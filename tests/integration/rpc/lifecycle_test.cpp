// SPDX-License-Identifier: Apache-2.0
// CR-1: each function of a server's life in each of its states, on each thread that may call it; and log
// lines about handlers that hold up the end.
#include <atomic>
#include <cstdio>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "integration/rpc/warning_logger.hpp"
#include "support/manual_time.hpp"
#include "weft/blocking_client.hpp"
#include "weft/detail/coro/with_scope.hpp"

namespace weft::testing::lifecycle_tests {

using namespace weft::detail;
namespace {

int add(int a, int b) {
  return a + b;
}

enum class State { kNew, kStartFailed, kRunning, kStopping, kStopped };
constexpr State kStates[] = {State::kNew, State::kStartFailed, State::kRunning, State::kStopping,
                             State::kStopped};
constexpr const char* kStateNames[] = {"new", "start failed", "running", "stopping", "stopped"};

const char* name_of(State state) {
  return kStateNames[static_cast<int>(state)];
}
bool was_started(State state) {
  return state >= State::kRunning;
}

/// A function of a server's life, and its check.
struct Step {
  const char* name;
  bool any_thread;
  std::function<void(Server&, State)> run;
};

void check_start(const Result<void>& started, State before) {
  EXPECT_EQ(started.status().code(), was_started(before) ? StatusCode::kFailedPrecondition : StatusCode::kOk);
}

std::vector<Step> steps() {
  return {
      {"start()", false, [](Server& server, State before) { check_start(server.start(), before); }},
      {"run()", false,
       [](Server& server, State before) {
         if (!was_started(before)) server.stop(0s);  // kept, so that run() returns
         check_start(server.run(), before);
         if (before != State::kStopping) {
           EXPECT_EQ(server.stopped(), before != State::kRunning);
         }
       }},
      {"stop()", true, [](Server& server, State) { server.stop(); }},
      {"stop(0s)", true, [](Server& server, State) { server.stop(0s); }},
      {"stop(kNoTimeout)", true, [](Server& server, State) { server.stop(kNoTimeout); }},
      {"wait()", false,
       [](Server& server, State before) {
         if (before == State::kRunning) server.stop(0s);
         server.wait();
         EXPECT_EQ(server.stopped(), was_started(before));
       }},
      {"stopped()", true,
       [](Server& server, State before) {
         if (before != State::kStopping) {
           EXPECT_EQ(server.stopped(), before == State::kStopped);
         }
       }},
      {"urls()", false,
       [](Server& server, State before) { EXPECT_EQ(server.urls().size(), was_started(before) ? 1u : 0u); }},
      {"stats()", true, [](Server& server, State) { EXPECT_EQ(server.stats().connections, 0u); }},
  };
}

/// State of a loop.
struct Part {
  int value = 1;
};

class ServerLife : public RpcTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  std::unique_ptr<Server> in_state(State state) {
    const bool fails = state == State::kStartFailed;
    auto server = std::make_unique<Server>(ServerOptions{
        .listen = {kAnyPort}, .threads = GetParam(), .loop = GetParam() == 0 ? &loop() : nullptr});
    server->register_handler<add>();
    fails_ = fails;
    server->per_loop<Part>([this](Loop&) -> Result<Part> {
      if (fails_.exchange(false)) return Status{StatusCode::kUnavailable, Layer::kUser, "not yet"};
      return Part{};
    });
    if (fails) {
      EXPECT_EQ(server->start().status().code(), StatusCode::kUnavailable);
    }
    if (was_started(state)) server->start().value();
    if (state >= State::kStopping) server->stop();
    if (state == State::kStopped) server->wait();
    return server;
  }
  /// Ends the server in any state, and expects that it says so.
  static void end(Server& server) {
    server.stop(0s);
    static_cast<void>(server.start());  // for one that was not started; the stop before is kept
    server.wait();
    EXPECT_TRUE(server.stopped());
  }

  std::atomic<bool> fails_ = false;
};

TEST_P(ServerLife, EachFunctionReturnsInEachState) {
  for (const Step& step : steps()) {
    for (const State state : kStates) {
      for (const bool elsewhere : {false, true}) {
        if (elsewhere && !step.any_thread) continue;
        std::printf("server, %u threads: %s when %s, %s\n", GetParam(), step.name, name_of(state),
                    elsewhere ? "on another thread" : "on the owner's thread");
        SCOPED_TRACE(std::string{step.name} + " when " + name_of(state));
        const auto server = in_state(state);
        if (elsewhere) {
          std::thread{[&] { step.run(*server, state); }}.join();
        } else {
          step.run(*server, state);
        }
        end(*server);
      }
    }
  }
}

TEST_P(ServerLife, EndsByItsDestructorInEachState) {
  for (const State state : kStates) {
    std::printf("server, %u threads: destroyed when %s\n", GetParam(), name_of(state));
    in_state(state).reset();
  }
}

TEST_P(ServerLife, StopsWhenToldToDuringItsStart) {
  for (const bool elsewhere : {false, true}) {
    std::printf("server, %u threads: stop(0s) during start(), on %s thread\n", GetParam(),
                elsewhere ? "another" : "a loop's");
    Server server{{.listen = {kAnyPort}, .threads = GetParam(), .loop = GetParam() == 0 ? &loop() : nullptr}};
    server.register_handler<add>();
    server.per_loop<Part>([&server, elsewhere](Loop&) {
      if (elsewhere) {
        std::thread{[&server] { server.stop(0s); }}.join();
      } else {
        server.stop(0s);
      }
      return Part{};
    });
    EXPECT_TRUE(server.start().ok());
    server.wait();
    EXPECT_TRUE(server.stopped());
  }
}

INSTANTIATE_TEST_SUITE_P(OnThreads, ServerLife, ::testing::Values(0u, 2u));

TEST(HeldServers, NameTheMethodThatBlocksALoop) {
  std::latch entered{1};
  std::latch named{1};
  WarningLogger logger;
  logger.on_line = [&, done = false](std::string_view line) mutable {
    if (done || line.find("has not turned") == line.npos || line.find("'dawdle'") == line.npos) return;
    done = true;
    named.count_down();
  };
  Server server{{.listen = {kAnyPort}, .threads = 1, .logger = &logger}};
  server.register_handler("dawdle", [&] {
    entered.count_down();
    named.wait();
  });
  server.start().value();
  BlockingClient caller{{.connect = server.urls().front()}};
  auto call = caller.start<remote<"dawdle", void()>>();
  entered.wait();
  server.stop(0s);
  server.wait();  // the handler ends by the log line only
  EXPECT_TRUE(server.stopped());
  static_cast<void>(call.wait());
}

/// A handler that ignores its cancel.
struct Stubborn {
  Event open;
  bool inside = false;
  Task<void> pass() { static_cast<void>(co_await open.wait()); }
  Task<int> wait(int number) {
    inside = true;
    CancelScope mine{nullptr};
    Task<void> passing = pass();
    co_await with_scope(mine, std::move(passing));
    co_return number;
  }
};

/// Base of the test, so that its clock outlives the loop.
struct StillClock {
  ManualClock clock;
};

class HeldByCoroutines : private StillClock, public RpcTest {
 protected:
  HeldByCoroutines() : RpcTest(LoopOptions{.clock = &(StillClock::clock)}) {}
  void let_pass(Duration time) { pass(loop(), StillClock::clock, time); }
};

TEST_F(HeldByCoroutines, AServerNamesTheMethodOneSecondAfterTheGrace) {
  Stubborn stubborn;
  WarningLogger logger;
  Server& server =
      serve_here({.logger = &logger}, [&](Server& its) { its.register_handler<&Stubborn::wait>(&stubborn); });
  Call<int> held = client(server).start<&Stubborn::wait>(1);
  ASSERT_TRUE(turn_until(loop(), [&] { return stubborn.inside; }));
  server.stop(1s);
  let_pass(1s);
  EXPECT_FALSE(wait_for(std::move(held)).ok());
  EXPECT_TRUE(logger.lines().empty());
  let_pass(1s);
  ASSERT_EQ(logger.lines().size(), 1u);
  EXPECT_THAT(logger.lines().front(), ::testing::HasSubstr("waits for a handler of"));
  EXPECT_THAT(logger.lines().front(), ::testing::HasSubstr("Stubborn::wait"));
  let_pass(5s);
  EXPECT_EQ(logger.lines().size(), 2u);
  stubborn.open.set();
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stopped(); }));
}

}  // namespace
}  // namespace weft::testing::lifecycle_tests
