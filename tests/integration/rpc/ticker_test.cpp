// SPDX-License-Identifier: Apache-2.0
// Coroutines that await only operations which end at once, beside a timer and a descriptor of the same loop.
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "integration/rpc/rpc_testing.hpp"
#include "weft/coroutines.hpp"
#include "weft/fleet.hpp"

namespace weft::testing::ticker_tests {
namespace {

int echo(int number) {
  return number;
}
void ping() {}
Stream<int> count_up(int count) {
  for (int i = 0; i < count; ++i) co_yield i;
}
Task<int> sum_of(Reader<int>& numbers) {
  int sum = 0;
  while (auto number = co_await numbers.next()) sum += *number;
  co_return sum;
}

/// A timer that makes a descriptor readable, and the watch of this descriptor.
class Ticker final : detail::Timer, detail::FdWatch {
 public:
  explicit Ticker(Loop& loop) : loop_(loop), signal_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    EXPECT_TRUE(loop.watch(*this, signal_).ok());
    loop.arm(*this, loop.now() + 1ms);
  }
  ~Ticker() {
    loop_.unwatch(*this);
    ::close(signal_);
  }

  /// The timer has fired, and the descriptor was served after that.
  bool ticked() const { return ticked_; }

 private:
  void on_timer() override {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(signal_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    fired_ = true;
  }
  void on_ready(detail::Readiness) override { ticked_ = fired_; }

  Loop& loop_;
  const int signal_;
  bool fired_ = false;
  bool ticked_ = false;
};

/// Takes longer than a tick, by far.
constexpr int kMany = 2'000'000;

/// Awaits what `operation` makes until the ticker has ticked. Returns false if it never does.
template <typename Operation>
Task<bool> ticks_beside(Loop* loop, Operation* operation) {
  Ticker ticker{*loop};
  for (int i = 0; i < kMany && !ticker.ticked(); ++i) (void)co_await (*operation)();
  co_return ticker.ticked();
}

Result<std::unique_ptr<WorkerPool>> small_pool() {
  return WorkerPool::start({.name = "test", .threads = 1});
}

class TickerBeside : public RpcTest {
 protected:
  template <typename Operation>
  bool ticks(Operation operation) {
    return loop().block_on(ticks_beside(&loop(), &operation));
  }
  /// The same in a scope that is cancelled.
  template <typename Operation>
  bool ticks_when_cancelled(Operation operation) {
    CancelScope scope;
    scope.cancel(CancelReason::kRequested);
    return loop().block_on(with_scope(scope, ticks_beside(&loop(), &operation)));
  }
  Server& serve_all() {
    return serve_here([](Server& server) { server.register_handler<echo, ping, count_up, sum_of>(); });
  }
  Client& closed_client() {
    Client& closed = client("tcp://127.0.0.1:9");
    closed.close();
    return closed;
  }
};

TEST_F(TickerBeside, PrimitivesThatAreReady) {
  Event event;
  event.set();
  EXPECT_TRUE(ticks([&] { return event.wait(); }));
  Mutex mutex;
  EXPECT_TRUE(ticks([&] { return mutex.lock(); }));
  Semaphore semaphore{kMany + 1};
  EXPECT_TRUE(ticks([&] { return semaphore.acquire(); }));
  Channel<int> channel{kMany + 1};
  EXPECT_TRUE(ticks([&] { return channel.push(1); }));
  while (channel.try_push(1)) {
  }
  EXPECT_TRUE(ticks([&] { return channel.pop(); }));
  Scope scope;
  EXPECT_TRUE(ticks([&] { return scope.join(); }));
  EXPECT_TRUE(ticks([] { return sleep_for(0ms); }));
  EXPECT_TRUE(ticks([] { return sleep_until(TimePoint::min()); }));
  EXPECT_TRUE(ticks([] { return when_all(sleep_for(0ms), sleep_for(0ms)); }));
  EXPECT_TRUE(ticks([] { return race(sleep_for(0ms), sleep_for(1h)); }));
}

TEST_F(TickerBeside, CancelledWaits) {
  Event event;
  EXPECT_TRUE(ticks_when_cancelled([&] { return event.wait(); }));
  Semaphore semaphore{0};
  EXPECT_TRUE(ticks_when_cancelled([&] { return semaphore.acquire(); }));
  Channel<int> channel{1};
  EXPECT_TRUE(ticks_when_cancelled([&] { return channel.pop(); }));
  EXPECT_TRUE(ticks_when_cancelled([] { return sleep_for(1h); }));
  const auto pool = small_pool().value();
  EXPECT_TRUE(ticks_when_cancelled([&] { return on_worker(*pool, [] { return 1; }); }));
  Client& caller = client(serve_all());
  EXPECT_TRUE(ticks_when_cancelled([&] { return caller.call<echo>(1); }));
  EXPECT_TRUE(ticks_when_cancelled([&] { return caller.connect(); }));
}

TEST_F(TickerBeside, CallsOfAClosedClient) {
  Client& closed = closed_client();
  EXPECT_TRUE(ticks([&] { return closed.call<echo>(1); }));
  EXPECT_TRUE(ticks([&] { return closed.call<echo>(CallOptions{}, 1).with_attachment(); }));
  EXPECT_TRUE(ticks([&] { return closed.connect(); }));
  EXPECT_TRUE(ticks([&] { return with_retry(RetryPolicy{}, [&closed] { return closed.call<echo>(1); }); }));
  EXPECT_TRUE(ticks([&]() -> Task<Result<int>> { co_return co_await closed.start<echo>(1); }));
}

TEST_F(TickerBeside, ACallThatHasEnded) {
  Client& caller = client(serve_all());
  EXPECT_TRUE(connect(caller).ok());
  EXPECT_TRUE(ticks([&] { return caller.connect(); }));
  CallOptions expired;
  expired.deadline = Deadline{loop().now()};
  EXPECT_TRUE(ticks([&] { return caller.call<echo>(expired, 1); }));
}

TEST_F(TickerBeside, StreamsThatHaveEnded) {
  Client& caller = client(serve_all());
  auto numbers = caller.open<count_up>(3);
  EXPECT_TRUE(ticks([&] { return numbers.next(); }));
  EXPECT_TRUE(numbers.status().ok());
  auto sums = caller.open<sum_of>();
  sums.cancel();
  const int one = 1;  // an item stays until its write is over
  EXPECT_TRUE(ticks([&] { return sums.write(one); }));
  EXPECT_TRUE(ticks([&] { return sums.finish(); }));
}

TEST_F(TickerBeside, ABroadcastToNobody) {
  Server& server = serve_all();
  EXPECT_TRUE(ticks([&] { return server.peers().broadcast<ping>(); }));
}

TEST_F(TickerBeside, AFleetWhoseNameMeansNothing) {
  FleetOptions options;
  options.name = "nonsense:x";
  FleetClient fleet{loop(), std::move(options)};
  EXPECT_TRUE(ticks([&] { return fleet.call<echo>(1); }));
  FleetCallOptions idempotent;
  idempotent.call.idempotent = true;
  EXPECT_TRUE(ticks([&] { return fleet.call<echo>(idempotent, 1); }));
  EXPECT_TRUE(ticks([&] { return fleet.call_all<echo>(1); }));
  EXPECT_TRUE(ticks([&] { return with_retry(RetryPolicy{}, [&fleet] { return fleet.call<echo>(1); }); }));
  EXPECT_TRUE(ticks_when_cancelled([&] { return fleet.call<echo>(1); }));
}

TEST_F(TickerBeside, CallsForAnotherLoop) {
  const auto elsewhere = LoopThread::start().value();
  FleetOptions options;
  options.name = "nonsense:x";
  FleetClient fleet{loop(), std::move(options)};
  Client& caller = client("tcp://127.0.0.1:9");
  EXPECT_TRUE(ticks_when_cancelled([&] { return on_loop_of(caller).call<echo>(1); }));
  EXPECT_TRUE(ticks_when_cancelled([&] { return on_loop_of(fleet).call<echo>(1); }));
}

// The items of a handler go on their way at once while the caller's window has room.
TEST_F(TickerBeside, AStreamThatHasRoom) {
  ServerOptions of_server;
  Server& server =
      serve_here(std::move(of_server), [](Server& its) { its.register_handler<count_up, sum_of>(); });
  Client& caller = client(server);
  EXPECT_TRUE(connect(caller).ok());
  auto sums = caller.open<sum_of>();
  const int one = 1;  // an item stays until its write is over
  EXPECT_TRUE(ticks([&] { return sums.write(one); }));
  auto numbers = caller.open<count_up>(kMany);
  EXPECT_TRUE(ticks([&] { return numbers.next(); }));
}

}  // namespace
}  // namespace weft::testing::ticker_tests
