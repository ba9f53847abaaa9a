// SPDX-License-Identifier: Apache-2.0
// CR-2: each function of the life of a client, pool, fleet, blocking client, worker pool and loop's thread,
// in each state, on each thread that may call it.
#include <algorithm>
#include <array>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "weft/blocking_client.hpp"
#include "weft/fleet.hpp"

namespace weft::testing::caller_lifecycle_tests {

using namespace weft::detail;
namespace {

int add_up(int a, int b) {
  return a + b;
}
/// Never answers by itself.
Task<int> hang(int number) {
  Event never;
  static_cast<void>(co_await never.wait());
  co_return number;
}

enum class State { kNew, kConnecting, kReady, kCalling, kServerGone, kClosed };
constexpr std::array kStates = {State::kNew,     State::kConnecting, State::kReady,
                                State::kCalling, State::kServerGone, State::kClosed};
constexpr const char* kStateNames[] = {"new", "connecting", "ready", "calling", "server gone", "closed"};

std::unique_ptr<Server> make_server() {
  auto server = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}});
  server->register_handler<add_up, hang>();
  server->start().value();
  return server;
}

template <typename C>
std::unique_ptr<C> make_caller(Loop& loop, const std::string& url);
template <>
std::unique_ptr<Client> make_caller(Loop& loop, const std::string& url) {
  return std::make_unique<Client>(loop, ClientOptions{.connect = url});
}
template <>
std::unique_ptr<ConnectionPool> make_caller(Loop& loop, const std::string& url) {
  return std::make_unique<ConnectionPool>(loop, PoolOptions{.client = {.connect = url}});
}
template <>
std::unique_ptr<FleetClient> make_caller(Loop& loop, const std::string& url) {
  return std::make_unique<FleetClient>(loop, FleetOptions{.name = "static:" + url});
}

/// A call that was begun, and its outcome. Owns its coroutine.
template <typename C>
class Pending {
 public:
  Pending(C& caller, int number) : task_(run(&caller, number)) { weft::detail::start(task_, nullptr, end_); }
  bool done() const { return outcome_.has_value(); }
  const Result<int>& outcome() const { return *outcome_; }

 private:
  Task<void> run(C* caller, int number) { outcome_ = co_await caller->template call<hang>(number); }
  std::optional<Result<int>> outcome_;
  Completion end_{[](Completion&, TaskPromiseBase&) noexcept {}};
  Task<void> task_;
};

template <typename C>
class CallerLife : public ::testing::Test {
 protected:
  /// Brings a caller into `state`. A call that hangs is kept by calls_.
  std::unique_ptr<C> in_state(State state) {
    server_ = make_server();
    auto caller = make_caller<C>(*loop_, server_->urls().front());
    if (state == State::kConnecting || state == State::kCalling) {
      loop_->post([this, its = caller.get()] { calls_.push_back(std::make_unique<Pending<C>>(*its, 1)); });
      loop_->run_once(Duration::zero());
    }
    if (state == State::kCalling) {
      EXPECT_TRUE(turn_until(*loop_, [this] { return server_->stats().calls_running == 1; }));
    }
    if (state == State::kReady || state == State::kServerGone) {
      EXPECT_EQ(loop_->block_on(caller->template call<add_up>(1, 2)).value_or(-1), 3);
    }
    if (state == State::kServerGone) server_.reset();
    if (state == State::kClosed) caller->close();
    return caller;
  }
  /// Does `deed` in a turn of the loop or outside of one, on this thread or on another one, while no other
  /// thread runs the loop.
  enum class Where { kOutside, kInATurn, kElsewhere };
  void at(Where where, const std::function<void()>& deed) {
    if (where == Where::kOutside) return deed();
    if (where == Where::kElsewhere) return std::thread{deed}.join();
    bool done = false;
    loop_->post([&] {
      deed();
      done = true;
    });
    EXPECT_TRUE(turn_until(*loop_, [&] { return done; }));
  }
  void expect_calls_end() {
    EXPECT_TRUE(turn_until(*loop_, [this] {
      return std::ranges::all_of(calls_, [](const auto& call) { return call->done(); });
    }));
    for (const auto& call : calls_) EXPECT_EQ(call->outcome().status().code(), StatusCode::kCancelled);
    calls_.clear();
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Pending<C>>> calls_;
};

template <typename C>
Task<Result<int>> make_short_call(C& caller) {
  if constexpr (std::is_same_v<C, FleetClient>) {
    Result<int> sum =
        co_await caller.template call<add_up>(FleetCallOptions{.call = {.timeout = 20ms}}, 2, 3);
    co_return sum;
  } else {
    Result<int> sum = co_await caller.template call<add_up>(CallOptions{.timeout = 20ms}, 2, 3);
    co_return sum;
  }
}

using Callers = ::testing::Types<Client, ConnectionPool, FleetClient>;
TYPED_TEST_SUITE(CallerLife, Callers);

TYPED_TEST(CallerLife, EachFunctionWorksInEachState) {
  struct Step {
    const char* name;
    std::function<void(std::unique_ptr<TypeParam>&)> run;
  };
  const std::vector<Step> steps = {
      {"close()", [](auto& caller) { caller->close(); }},
      {"close() twice",
       [](auto& caller) {
         caller->close();
         caller->close();
       }},
      {"the destructor", [](auto& caller) { caller.reset(); }},
      {"close() and the destructor",
       [](auto& caller) {
         caller->close();
         caller.reset();
       }},
  };
  using Where = typename CallerLife<TypeParam>::Where;
  for (const Step& step : steps) {
    for (const State state : kStates) {
      for (const Where where : {Where::kOutside, Where::kInATurn, Where::kElsewhere}) {
        SCOPED_TRACE(std::string{step.name} + " when " + kStateNames[static_cast<int>(state)] + ", place " +
                     std::to_string(static_cast<int>(where)));
        auto caller = this->in_state(state);
        this->at(where, [&] { step.run(caller); });
        this->expect_calls_end();
        if (caller != nullptr) {
          const Result<int> late = this->loop_->block_on(caller->template call<add_up>(1, 2));
          EXPECT_EQ(late.status().code(), StatusCode::kCancelled) << late.status().to_string();
        }
        caller.reset();
        this->loop_->run_until_idle();
      }
    }
  }
}

TYPED_TEST(CallerLife, ACallTellsTheStateItIsMadeIn) {
  for (const State state : kStates) {
    SCOPED_TRACE(kStateNames[static_cast<int>(state)]);
    auto caller = this->in_state(state);
    if (state == State::kServerGone) {
      // A pool and a fleet wait until the server is back, or for the end of the call's time.
      const Result<int> sum = this->loop_->block_on(make_short_call(*caller));
      EXPECT_TRUE(sum.status().code() == StatusCode::kUnavailable ||
                  sum.status().code() == StatusCode::kDeadlineExceeded)
          << sum.status().to_string();
    } else {
      const Result<int> sum = this->loop_->block_on(caller->template call<add_up>(2, 3));
      EXPECT_EQ(sum.status().code(), state == State::kClosed ? StatusCode::kCancelled : StatusCode::kOk)
          << sum.status().to_string();
    }
    caller.reset();
    this->expect_calls_end();
  }
}

/// States of a BlockingClient, which no other thread's loop belongs to.
TEST(BlockingClientLife, EndsInEachStateOnEachThread) {
  for (const State state : {State::kNew, State::kReady, State::kCalling, State::kServerGone}) {
    for (const bool elsewhere : {false, true}) {
      SCOPED_TRACE(std::string{kStateNames[static_cast<int>(state)]} + (elsewhere ? ", elsewhere" : ""));
      auto server = make_server();
      auto caller = std::make_unique<BlockingClient>(ClientOptions{.connect = server->urls().front()});
      std::optional<BlockingCall<int>> call;
      if (state == State::kReady || state == State::kServerGone) {
        EXPECT_EQ(caller->call<add_up>(1, 2).value_or(-1), 3);
      }
      if (state == State::kCalling) call.emplace(caller->start<hang>(1));
      if (state == State::kServerGone) server.reset();
      BlockingCaller kept = blocking(*caller);
      if (elsewhere) {
        std::thread{[&] { caller.reset(); }}.join();
      } else {
        caller.reset();
      }
      if (call) {
        EXPECT_EQ(call->wait().status().code(), StatusCode::kCancelled);
      }
      EXPECT_EQ(kept.call<add_up>(1, 2).status().code(), StatusCode::kCancelled);
    }
  }
}

TEST(LoopThreadLife, StopsInEachStateOnEachThread) {
  for (const int stops : {0, 1, 2}) {
    for (const bool elsewhere : {false, true}) {
      auto thread = LoopThread::start().value();
      run_on(thread->loop(), [] {});
      const auto end = [&] {
        for (int i = 0; i < stops; ++i) thread->stop();
        if (stops != 0) thread->post([] { ADD_FAILURE() << "work ran behind the stop"; });
        thread.reset();
      };
      if (elsewhere) {
        std::thread{end}.join();
      } else {
        end();
      }
    }
  }
}

TEST(LoopLife, AStopBeforeTheRunIsKept) {
  auto loop = Loop::create().value();
  for (int i = 0; i < 2; ++i) {
    std::thread{[&] { loop->stop(); }}.join();
    loop->run();
  }
  bool ran = false;
  loop->post([&] {
    ran = true;
    loop->stop();
  });
  loop->run();
  EXPECT_TRUE(ran);
}

/// Functions that hold the one thread of a pool up, or wait for it.
struct HeldWork {
  std::latch entered{1};
  std::latch open{1};
  int unavailable = 0;
  int ended = 0;

  Task<void> run(WorkerPool& pool) {
    const auto function = [this] {
      if (!entered.try_wait()) entered.count_down();  // the pool has one thread
      open.wait();
    };
    const Result<void> outcome = co_await on_worker(pool, function);
    if (outcome.status().code() == StatusCode::kUnavailable) ++unavailable;
    ++ended;
  }
};

TEST(WorkerPoolLife, EndsInEachStateOnEachThread) {
  for (const int functions : {0, 1, 3}) {  // none; one that runs; two more that wait
    for (const bool elsewhere : {false, true}) {
      SCOPED_TRACE(std::to_string(functions) + (elsewhere ? ", elsewhere" : ""));
      auto loop = Loop::create().value();
      auto pool = WorkerPool::start({.threads = 1, .threads_max = 1}).value();
      HeldWork work;
      std::vector<Task<void>> tasks;
      Completion end{[](Completion&, TaskPromiseBase&) noexcept {}};
      loop->post([&] {
        for (int i = 0; i < functions; ++i) {
          tasks.push_back(work.run(*pool));
          weft::detail::start(tasks.back(), nullptr, end);
          if (i == 0) work.entered.wait();
        }
      });
      loop->run_once(Duration::zero());
      std::thread ender{[&] { pool.reset(); }};
      work.open.count_down();
      if (!elsewhere) ender.join();
      EXPECT_TRUE(turn_until(*loop, [&] { return work.ended == functions; }));
      if (elsewhere) ender.join();
      EXPECT_LE(work.unavailable, 2);
    }
  }
}

class LifeDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(LifeDeathTest, AWorkerPoolThatIsDestroyedByItsOwnFunctionSaysSo) {
  const auto destroy = [] {
    auto pool = WorkerPool::start({.threads = 1}).value();
    auto loop = Loop::create().value();
    static_cast<void>(loop->block_on(on_worker(*pool, [&pool] { pool.reset(); })));
  };
  EXPECT_DEATH(destroy(), "destroyed by a function that runs on it");
}

TEST_F(LifeDeathTest, ABlockingHandlerThatWaitsForItsServerSaysSo) {
  const auto wait = [] {
    Server server{{.listen = {kAnyPort}}};
    server.register_handler("wait",
                            [&server] {
                              server.stop();
                              server.wait();
                            },
                            {.blocking = true});
    server.start().value();
    BlockingClient caller{{.connect = server.urls().front()}};
    static_cast<void>(caller.call<remote<"wait", void()>>());
  };
  EXPECT_DEATH(wait(), "waits for its own server's end");
}

TEST_F(LifeDeathTest, ALoopThreadThatStopsItselfSaysSo) {
  const auto stop = [] {
    auto thread = LoopThread::start().value();
    std::latch never{1};
    thread->post([&] { thread->stop(); });
    never.wait();
  };
  EXPECT_DEATH(stop(), "stopped from its own thread");
}

TEST_F(LifeDeathTest, ALoopThatTwoThreadsDriveSaysSo) {
  const auto drive = [] {
    auto thread = LoopThread::start().value();
    run_on(thread->loop(), [] {});
    thread->loop().run_once(Duration::zero());
  };
  EXPECT_DEATH(drive(), "while another thread runs it");
}

}  // namespace
}  // namespace weft::testing::caller_lifecycle_tests
