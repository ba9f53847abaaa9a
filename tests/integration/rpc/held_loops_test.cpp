// SPDX-License-Identifier: Apache-2.0
// CR-1: a handler that holds its loop up is named in the log and counted. Handlers move the loop's clock
// instead of blocking, so no test takes time.
#include <functional>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "integration/rpc/warning_logger.hpp"
#include "weft/blocking_client.hpp"

namespace weft::testing::held_loops_tests {

using namespace weft::detail;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace {

/// Base of the test, so that its clock outlives the loop.
struct HandlersClock {
  ManualClock clock;
  Event open;
};

constexpr auto& hold = remote<"hold", void(int)>;
constexpr auto& hold_later = remote<"hold_later", void(int)>;
constexpr auto& ping = remote<"ping", void()>;
constexpr auto& let_go_on = remote<"let_go_on", void()>;

class HeldLoops : private HandlersClock, public RpcTest {
 protected:
  HeldLoops() : RpcTest(LoopOptions{.clock = &(HandlersClock::clock)}) {}

  Server& serve_holding(ServerOptions options = {}) {
    options.logger = &logger_;
    return serve_here(std::move(options), [this](Server& its) {
      its.register_handler("hold", [this](int milliseconds) { move_clock(milliseconds); });
      its.register_handler("ping", [] {});
      its.register_handler("hold_later", [this](int milliseconds) { return wait_and_hold(milliseconds); });
      its.register_handler("let_go_on", [this] {
        open.set();
        open.reset();
      });
    });
  }
  void move_clock(int milliseconds) { HandlersClock::clock.advance(std::chrono::milliseconds{milliseconds}); }
  /// Waits twice, and holds the loop up after each.
  Task<void> wait_and_hold(int milliseconds) {
    for (int i = 0; i < 2; ++i) {
      static_cast<void>(co_await open.wait());
      move_clock(milliseconds);
    }
  }
  /// Makes these calls in one turn and waits for their ends.
  void call_together(std::vector<Call<void>> calls) {
    for (const Result<void>& outcome : loop().block_on(await_all(calls))) EXPECT_TRUE(outcome.ok());
    loop().run_until_idle();
  }
  std::vector<std::string> lines() {
    loop().run_until_idle();
    return logger_.take_lines();
  }

  /// Holds the loop up when it fires.
  struct LateTimer final : Timer {
    explicit LateTimer(HeldLoops& its) : test(&its) {}
    void on_timer() override { test->move_clock(400); }
    HeldLoops* test;
  };

  WarningLogger logger_;
};

TEST_F(HeldLoops, AHandlerIsNamed) {
  Server& server = serve_holding();
  Client& caller = client(server);
  ASSERT_TRUE(call<hold>(caller, 300).ok());
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("held up for 300 ms by probably the handler of 'hold'")));
  EXPECT_EQ(server.stats().loops_held, 1u);
}

TEST_F(HeldLoops, TheNextHandlerIsKnownAmongMany) {
  Server& server = serve_holding();
  Client& caller = client(server);
  ASSERT_TRUE(call<hold>(caller, 300).ok());
  lines();
  move_clock(1000);
  std::vector<Call<void>> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(caller.start<ping>());
  calls.push_back(caller.start<hold>(250));
  for (int i = 0; i < 20; ++i) calls.push_back(caller.start<ping>());
  call_together(std::move(calls));
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("held up for 250 ms by the handler of 'hold'")));
}

TEST_F(HeldLoops, ACoroutineThatWaitsAgainIsNamed) {
  Server& server = serve_holding();
  Client& caller = client(server);
  Call<void> held = caller.start<hold_later>(300);
  ASSERT_TRUE(call<let_go_on>(caller).ok());
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("a coroutine of 'hold_later'")));
  move_clock(1000);
  std::vector<Call<void>> calls;
  calls.push_back(std::move(held));
  calls.push_back(caller.start<let_go_on>());
  calls.push_back(caller.start<ping>());
  call_together(std::move(calls));
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("held up for 300 ms by the handler of 'hold_later'")));
  EXPECT_EQ(server.stats().loops_held, 2u);
}

TEST_F(HeldLoops, OtherWorkOfTheLoopIsNoHandler) {
  Server& server = serve_holding();
  Client& caller = client(server);
  ASSERT_TRUE(call<ping>(caller).ok());
  loop().run_until_idle();
  loop().post([this] { move_clock(500); });
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("held up for 500 ms by something else than a handler")));
  EXPECT_EQ(server.stats().loops_held, 1u);
}

TEST_F(HeldLoops, ATimerIsNotChargedToAHandlerOfTheSameTurn) {
  Client& caller = client(serve_holding());
  ASSERT_TRUE(call<hold>(caller, 300).ok());
  EXPECT_EQ(lines().size(), 1u);
  move_clock(1000);
  LateTimer late{*this};
  loop().arm(late, loop().now());
  std::vector<Call<void>> calls;
  calls.push_back(caller.start<ping>());
  call_together(std::move(calls));
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("held up for 400 ms by something else than a handler")));
}

TEST_F(HeldLoops, WriteOneLineASecondAndCountAll) {
  Server& server = serve_holding();
  Client& caller = client(server);
  ASSERT_TRUE(call<hold>(caller, 200).ok());
  EXPECT_EQ(lines().size(), 1u);
  for (const int milliseconds : {200, 201, 200}) ASSERT_TRUE(call<hold>(caller, milliseconds).ok());
  EXPECT_THAT(lines(), IsEmpty());
  ASSERT_TRUE(call<hold>(caller, 1000).ok());
  EXPECT_THAT(lines(), ElementsAre(AllOf(HasSubstr("held up for 1000 ms"), HasSubstr("(3 shorter holds"))));
  EXPECT_EQ(server.stats().loops_held, 5u);
}

TEST_F(HeldLoops, AHoldWithinASecondOfALineIsWrittenAfterThatSecond) {
  Client& caller = client(serve_holding());
  ASSERT_TRUE(call<hold>(caller, 300).ok());
  EXPECT_EQ(lines().size(), 1u);
  ASSERT_TRUE(call<hold>(caller, 400).ok());
  EXPECT_THAT(lines(), IsEmpty());
  move_clock(1000);
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("held up for 400 ms")));
  move_clock(5000);
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(HeldLoops, TimeBetweenTheTurnsIsNoHold) {
  Server& server = serve_holding();
  Client& caller = client(server);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(call<hold>(caller, 199).ok());
    loop().run_until_idle();
    move_clock(5000);
  }
  EXPECT_THAT(lines(), IsEmpty());
  EXPECT_EQ(server.stats().loops_held, 0u);
}

TEST_F(HeldLoops, NothingIsSaidWithoutAThreshold) {
  Server& server = serve_holding({.loop_held_from = kNoTimeout});
  Client& caller = client(server);
  ASSERT_TRUE(call<hold>(caller, 60'000).ok());
  EXPECT_THAT(lines(), IsEmpty());
  EXPECT_EQ(server.stats().loops_held, 0u);
}

TEST_F(HeldLoops, AnotherThresholdHolds) {
  Server& server = serve_holding({.loop_held_from = 5ms});
  Client& caller = client(server);
  ASSERT_TRUE(call<hold>(caller, 5).ok());
  EXPECT_EQ(lines().size(), 1u);
  EXPECT_EQ(server.stats().loops_held, 1u);
}

TEST(HeldLoopsOfThreads, AHandlerThatDoesNotEndIsNamedWhileTheServerIsWaitedFor) {
  std::latch named{1};
  WarningLogger logger;
  logger.on_line = [&, done = false](std::string_view line) mutable {
    if (done || line.find("has not turned") == line.npos || line.find("'dawdle'") == line.npos) return;
    done = true;
    named.count_down();
  };
  Server server{{.listen = {kAnyPort}, .threads = 1, .logger = &logger}};
  server.register_handler("dawdle", [&] { named.wait(); });
  server.start().value();
  std::thread waits{[&] { server.wait(); }};
  BlockingClient caller{{.connect = server.urls().front()}};
  EXPECT_TRUE((caller.call<remote<"dawdle", void()>>({.timeout = 60s}).ok()));  // it ends by the line only
  server.stop(0s);
  waits.join();
}

}  // namespace
}  // namespace weft::testing::held_loops_tests
