// SPDX-License-Identifier: Apache-2.0
// Faults, part "lifetime": how servers end, and how deadlines and cancels travel along a chain.
#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "weft/detail/transport/memory.hpp"

namespace weft::faults::lifetime_tests {
namespace {

std::atomic<int> begun = 0;

Task<int> a_while(int value) {
  ++begun;
  [[maybe_unused]] const auto slept = co_await sleep_for(50ms);
  co_return value;
}
Task<int> until_cancelled(int value) {
  ++begun;
  [[maybe_unused]] const auto outcome = co_await sleep_for(1h);
  co_return value;
}

class Lifetime : public FaultTest {
 protected:
  void SetUp() override { begun = 0; }
  Server& serve_all(unsigned threads) {
    ServerOptions options;
    options.threads = threads;
    return serve(std::move(options), [](Server& s) {
      s.register_handler<&a_while>();
      s.register_handler<&until_cancelled>();
    });
  }
};

TEST_F(Lifetime, AGracefulStopUnderLoadFailsNoCall) {
  constexpr int kCalls = 2000;
  Server& server = serve_all(2);
  Client* callers[] = {&client(server.urls().front()), &client(server.urls().front())};
  Tally tally;
  Scope scope;
  for (int i = 0; i < kCalls; ++i)
    scope.spawn(&count_end<int>, callers[i % 2]->start<&a_while>(i), i, &tally);
  ASSERT_TRUE(turn_until(loop(), [] { return begun == kCalls; }));
  server.stop();
  loop().block_on(join(scope));
  EXPECT_EQ(tally.right, kCalls);
  // The clients leave when their last answer is there, so the server need not wait for its grace.
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stopped(); }));
}

TEST_F(Lifetime, AForcedStopEndsEveryCallWithAStatus) {
  constexpr int kCalls = 500;
  Server& server = serve_all(2);
  Client& caller = client(server.urls().front());
  Tally tally;
  Scope scope;
  for (int i = 0; i < kCalls; ++i) scope.spawn(&count_end<int>, caller.start<&until_cancelled>(i), i, &tally);
  ASSERT_TRUE(turn_until(loop(), [] { return begun == kCalls; }));
  server.stop(20ms);
  loop().block_on(join(scope));
  EXPECT_EQ(tally.ended, kCalls);
  EXPECT_EQ(tally.unavailable, kCalls);
  server.wait();
  EXPECT_EQ(server.stats().calls_running, 0u);
}

/// A handler that ends its own server.
struct Stopper {
  Server* server = nullptr;
  int stop(Duration::rep grace_ms) {
    server->stop(std::chrono::milliseconds{grace_ms});
    return 1;
  }
};

TEST_F(Lifetime, AHandlerMayStopItsOwnServer) {
  for (const Duration::rep grace_ms : {10'000, 0}) {
    Stopper stopper;
    Server& server = serve(ServerOptions{}, [&](Server& s) { s.register_handler<&Stopper::stop>(&stopper); });
    stopper.server = &server;
    Client& caller = client(server.urls().front());
    const Result<int> result = wait_for(caller.start<&Stopper::stop>(grace_ms));
    if (grace_ms != 0) {
      EXPECT_TRUE(result.ok()) << result.status().to_string();
    }
    EXPECT_TRUE(turn_until(loop(), [&] { return server.stopped(); }));
  }
}

TEST_F(Lifetime, AServerDestroyedWithCallsInFlightEndsThemAll) {
  Tally tally;
  Scope scope;
  auto server = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}, .logger = &logger()});
  server->register_handler<&until_cancelled>();
  server->start().value();
  Client& caller = client(server->urls().front());
  for (int i = 0; i < 100; ++i) scope.spawn(&count_end<int>, caller.start<&until_cancelled>(i), i, &tally);
  ASSERT_TRUE(turn_until(loop(), [] { return begun == 100; }));
  server.reset();
  loop().block_on(join(scope));
  EXPECT_EQ(tally.unavailable, 100);
}

TEST_F(Lifetime, AClientClosedOrDestroyedWithCallsInFlightEndsThemAllAndTheServerHearsOfIt) {
  Server& server = serve_all(1);
  for (const bool destroy : {false, true}) {
    begun = 0;
    int cancelled = 0;
    Scope scope;
    auto caller = std::make_unique<Client>(loop(), ClientOptions{.connect = server.urls().front()});
    std::vector<Call<int>> calls;
    for (int i = 0; i < 100; ++i) calls.push_back(caller->start<&until_cancelled>(i));
    ASSERT_TRUE(turn_until(loop(), [] { return begun == 100; }));
    caller->close();
    for (Call<int>& call : calls) {
      EXPECT_TRUE(call.done());
      if (wait_for(std::move(call)).status().code() == StatusCode::kCancelled) ++cancelled;
    }
    EXPECT_EQ(cancelled, 100);
    if (destroy) caller.reset();
    EXPECT_TRUE(at_rest(server));
  }
}

/// One station of a chain: works for a while, then asks the next, with whatever deadline its own call has.
struct Hop {
  Client* next = nullptr;
  Loop* loop = nullptr;
  Duration left{};
  CancelReason heard = CancelReason::kNone;

  Task<Result<int>> relay(CallContext& context, int depth) {
    left = context.deadline().remaining(loop->now());
    if (next == nullptr) {
      CancelScope* scope = co_await this_cancel_scope();
      [[maybe_unused]] const auto outcome = co_await sleep_for(1h);
      heard = scope->reason();
      co_return Status{StatusCode::kCancelled, Layer::kUser, "gave up"};
    }
    [[maybe_unused]] const auto worked = co_await sleep_for(10ms);
    Result<int> result = co_await next->call<&Hop::relay>(depth + 1);
    co_return result;
  }
};

/// Three servers in a row and a client, all on one loop whose clock the test moves.
class Chain {
 public:
  Chain() {
    transports_.add(std::make_unique<MemoryNetwork>());
    for (int i = 2; i >= 0; --i) {
      const std::string url = "memory://hop" + std::to_string(i);
      hops[i].loop = loop_.get();
      hops[i].next = i < 2 ? clients_.back().get() : nullptr;
      ServerOptions options;
      options.listen = {url};
      options.threads = 0;
      options.loop = loop_.get();
      servers_.push_back(std::make_unique<Server>(std::move(options), transports_));
      servers_.back()->register_handler<&Hop::relay>(&hops[i]);
      servers_.back()->start().value();
      clients_.push_back(std::make_unique<Client>(*loop_, ClientOptions{.connect = url}, transports_));
    }
  }
  ~Chain() { clients_.clear(); }

  Client& edge() { return *clients_.back(); }
  std::size_t running() const {
    std::size_t sum = 0;
    for (const auto& server : servers_) sum += server->stats().calls_running;
    return sum;
  }
  void pass(Duration time) { testing::pass(*loop_, clock_, time); }
  Hop hops[3];

 private:
  ManualClock clock_;
  std::unique_ptr<Loop> loop_ = Loop::create({.clock = &clock_}).value();
  Transports transports_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Client>> clients_;
};

TEST(Chains, ADeadlineAtTheEdgeShrinksFromHopToHopAndItsCancelArrivesAtTheLast) {
  Chain chain;
  Call<int> call = chain.edge().start<&Hop::relay>(CallOptions{.timeout = 100ms}, 0);
  chain.pass(50ms);
  EXPECT_EQ(chain.hops[0].left, 100ms);
  EXPECT_EQ(chain.hops[1].left, 90ms);
  EXPECT_EQ(chain.hops[2].left, 80ms);
  EXPECT_EQ(chain.running(), 3u);
  EXPECT_FALSE(call.done());
  chain.pass(60ms);
  EXPECT_TRUE(call.done());
  EXPECT_NE(chain.hops[2].heard, CancelReason::kNone);
  EXPECT_EQ(chain.running(), 0u);
}

TEST(Chains, ACancelAtTheEdgeArrivesAtTheLastHop) {
  Chain chain;
  Call<int> call = chain.edge().start<&Hop::relay>(0);
  chain.pass(50ms);
  EXPECT_EQ(chain.running(), 3u);
  call.cancel();
  chain.pass(0ms);
  EXPECT_EQ(chain.hops[2].heard, CancelReason::kPeerCancelled);
  EXPECT_EQ(chain.running(), 0u);
}

TEST(Chains, ACallDroppedAtTheEdgeArrivesAsACancelAtTheLastHop) {
  Chain chain;
  {
    const Call<int> call = chain.edge().start<&Hop::relay>(0);
    chain.pass(50ms);
    EXPECT_EQ(chain.running(), 3u);
  }
  chain.pass(0ms);
  EXPECT_EQ(chain.hops[2].heard, CancelReason::kPeerCancelled);
  EXPECT_EQ(chain.running(), 0u);
}

}  // namespace
}  // namespace weft::faults::lifetime_tests
