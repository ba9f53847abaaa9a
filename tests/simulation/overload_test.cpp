// SPDX-License-Identifier: Apache-2.0
// Ten times as many calls as a server can do, on a clock that stands still but for the handlers' work: what
// is done is nearly all that could be done, and hardly anything is done for callers who have given up.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "simulation/world.hpp"

namespace weft::simulation {
namespace {

constexpr Duration kWork = 20us;
constexpr Duration kTimeout = 50ms;

/// A handler that takes its time, and notes whom it worked for.
struct Worker {
  std::function<void()> work;
  std::vector<int> runs;

  int serve(int number) {
    ++runs[static_cast<std::size_t>(number)];
    work();
    return number;
  }
  std::uint64_t swallow(std::string_view text) const {
    work();
    return text.size();
  }
};

struct Tally {
  int started = 0;
  int ended = 0;
  int good = 0;
  int refused = 0;
};

/// A server on one loop and its clients on another, as if each had a processor of its own: while a handler
/// works, the clock moves and the clients go on calling, at a rate that does not depend on the answers.
class Overload {
 public:
  explicit Overload(std::size_t clients) {
    MemoryOptions memory;
    memory.pipe_bytes = 8u << 20;  // what the buffers of a connection's two sockets hold
    transports_.add(std::make_unique<MemoryNetwork>(memory));
    worker_.work = [this] { pass(kWork); };
    ServerOptions server;
    server.listen = {"memory://server"};
    server.threads = 0;
    server.loop = server_loop_.get();
    server.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(server), transports_);
    server_->register_handler<&Worker::serve>(&worker_);
    server_->register_handler<&Worker::swallow>(&worker_);
    server_->start().value();
    ClientOptions client;
    client.connect = "memory://server";
    client.call_timeout = kTimeout;
    client.logger = &logger_;
    for (std::size_t i = 0; i < clients; ++i) {
      clients_.push_back(std::make_unique<Client>(*client_loop_, client, transports_));
    }
  }
  ~Overload() { clients_.clear(); }

  /// One call after the other, `every` so long, for `time`; then waits for all of them.
  Tally load(Duration every, Duration time) {
    every_ = every;
    next_ = clock_.now();
    end_ = next_ + time;
    worker_.runs.assign(static_cast<std::size_t>(time / every) + 1, 0);
    while (clock_.now() < end_ || scope_.count() != 0) {
      pass(kWork);
      server_loop_->run_until_idle();
    }
    return tally_;
  }
  /// Keeps so many calls of one client, with a long text each, in flight until the load is over.
  void send_texts_too(int in_flight) {
    client_loop_->post([this, in_flight] {
      for (int i = 0; i < in_flight; ++i) scope_.spawn(&Overload::send_texts, this);
    });
  }
  int runs() const {
    int sum = 0;
    for (const int runs : worker_.runs) sum += runs;
    return sum;
  }
  std::vector<int> runs_of_each_client() const {
    std::vector<int> runs(clients_.size(), 0);
    for (std::size_t i = 0; i < worker_.runs.size(); ++i) runs[i % runs.size()] += worker_.runs[i];
    return runs;
  }
  int most_runs_of_a_call() const { return *std::max_element(worker_.runs.begin(), worker_.runs.end()); }
  ServerStats stats() const { return server_->stats(); }

 private:
  void pass(Duration time) {
    clock_.advance(time);
    client_loop_->post([this] { call_what_is_due(); });
    client_loop_->run_until_idle();
  }
  void call_what_is_due() {
    for (; next_ <= clock_.now() && next_ < end_; next_ += every_) {
      const int number = tally_.started++;
      Client& client = *clients_[static_cast<std::size_t>(number) % clients_.size()];
      scope_.spawn(&Overload::count_end, client.start<&Worker::serve>(number), number, &tally_);
    }
  }
  static Task<void> send_texts(Overload* its) {
    const std::string text(60'000, 't');
    CallOptions options;
    options.timeout = 1h;
    while (its->clock_.now() < its->end_) {
      const Result<std::uint64_t> size = co_await its->clients_[0]->call<&Worker::swallow>(options, text);
      EXPECT_TRUE(size.ok()) << size.status().to_string();
    }
  }
  static Task<void> count_end(Call<int> call, int number, Tally* tally) {
    const Result<int> result = co_await std::move(call);
    ++tally->ended;
    if (result.ok() && *result == number) ++tally->good;
    if (result.status().code() == StatusCode::kResourceExhausted) ++tally->refused;
  }

  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> server_loop_ = Loop::create({.clock = &clock_}).value();
  std::unique_ptr<Loop> client_loop_ = Loop::create({.clock = &clock_}).value();
  Transports transports_;
  Worker worker_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Client>> clients_;
  Duration every_{};
  TimePoint next_{};
  TimePoint end_{};
  Tally tally_;
  Scope scope_;
};

TEST(Overloads, TenTimesWhatAServerCanDoLeavesItDoingNearlyAllItCan) {
  constexpr Duration kTime = 150ms;
  constexpr int kPeak = static_cast<int>(kTime / kWork);
  for (const std::size_t clients : {1u, 10u, 100u}) {
    for (const int times : {2, 10}) {
      Overload world{clients};
      const Tally tally = world.load(kWork / times, kTime);
      std::printf(
          "%3zu clients, %2d times the load: %d of %d calls answered in time, %d handlers run, %d refused\n",
          clients, times, tally.good, tally.started, world.runs(), tally.refused);
      EXPECT_EQ(tally.ended, tally.started);
      EXPECT_GE(tally.good, kPeak * 85 / 100);
      EXPECT_LE(world.runs() - tally.good, kPeak * 10 / 100) << "handlers ran for callers who had given up";
      EXPECT_EQ(world.most_runs_of_a_call(), 1);
      EXPECT_EQ(world.stats().calls, static_cast<std::uint64_t>(tally.started));
      EXPECT_EQ(world.stats().calls_refused, static_cast<std::uint64_t>(tally.started - world.runs()));
    }
  }
}

TEST(Overloads, TenTimesWhatAServerCanDoIsSharedEvenlyByTenClients) {
  Overload world{10};
  const Tally tally = world.load(kWork / 10, 300ms);
  const std::vector<int> served = world.runs_of_each_client();
  for (const int runs : served) EXPECT_NEAR(runs, world.runs() / 10, world.runs() / 10 * 3 / 10);
  EXPECT_EQ(tally.ended, tally.started);
}

TEST(Overloads, AServerThatCanDoWhatIsAskedRefusesNothing) {
  Overload world{10};
  const Tally tally = world.load(kWork * 10 / 9, 250ms);
  EXPECT_EQ(tally.good, tally.started);
  EXPECT_EQ(world.stats().calls_refused, 0u);
}

TEST(Overloads, AConnectionThatIsAlwaysFullIsNotBehindAsLongAsItMoves) {
  Overload world{1};
  world.send_texts_too(100);
  const Tally tally = world.load(1ms, 200ms);
  EXPECT_EQ(tally.good, tally.started);
}

TEST(Overloads, ABurstThatCanBeDoneInHalfTheTimeIsDone) {
  Overload world{1};
  constexpr auto kBurst = kTimeout / 2 / kWork;
  const Tally tally = world.load(1ns, kBurst * 1ns);
  EXPECT_EQ(tally.started, kBurst);
  EXPECT_EQ(tally.good, tally.started);
}

}  // namespace
}  // namespace weft::simulation
