// SPDX-License-Identifier: Apache-2.0
// Peers that send all they can at once, on a clock that stands still but for the handlers' work: a turn of
// the server's loop ends soon all the same, so that its timers are on time and another caller is answered.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "simulation/world.hpp"

namespace weft::simulation {

using namespace weft::detail;
namespace {

/// A handler that takes its time, and notes for which client it worked.
struct SlowHandler {
  std::function<void()> work;
  std::vector<int> runs;
  int poured = 0;

  int serve(int client) {
    ++runs[static_cast<std::size_t>(client)];
    work();
    return client;
  }
  Stream<int> pour() {
    for (;; ++poured) {
      work();
      co_yield poured;
    }
  }
};

/// Fires every millisecond, and notes how late.
class Metronome final : private Timer {
 public:
  explicit Metronome(Loop& loop) : loop_(loop) { next(loop.now()); }
  Duration latest() const { return latest_; }
  int beats() const { return beats_; }

 private:
  void next(TimePoint now) {
    due_ = now + 1ms;
    loop_.arm(*this, due_);
  }
  void on_timer() override {
    const TimePoint now = loop_.clock().now();
    latest_ = std::max(latest_, now - due_);
    ++beats_;
    next(now);
  }

  Loop& loop_;
  TimePoint due_{};
  Duration latest_{};
  int beats_ = 0;
};

/// A server on one loop, and its clients on another.
class Flood {
 public:
  Flood(std::size_t clients, Duration work) {
    MemoryOptions memory;
    memory.pipe_bytes = 4u << 20;
    transports_.add(std::make_unique<MemoryNetwork>(memory));
    worker_.runs.assign(clients, 0);
    worker_.work = [this, work] { clock_.advance(work); };
    ServerOptions server;
    server.listen = {"memory://server"};
    server.threads = 0;
    server.loop = server_loop_.get();
    server.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(server), transports_);
    server_->register_handler<&SlowHandler::serve, &SlowHandler::pour>(&worker_);
    server_->start().value();
    ClientOptions client;
    client.connect = "memory://server";
    client.call_timeout = kNoTimeout;
    client.limits.stream_window = 256u << 20;
    client.logger = &logger_;
    for (std::size_t i = 0; i < clients; ++i) {
      clients_.push_back(std::make_unique<Client>(*client_loop_, client, transports_));
      call(i, 1);  // so that it is connected
    }
    run_until_idle();
    std::fill(worker_.runs.begin(), worker_.runs.end(), 0);
  }
  ~Flood() {
    stream_ = {};
    clients_.clear();
  }

  /// Lets the client make so many calls at once.
  void call(std::size_t client, int count) {
    client_loop_->post([this, client, count] {
      for (int i = 0; i < count; ++i) {
        scope_.spawn(&Flood::count_end,
                     clients_[client]->start<&SlowHandler::serve>(static_cast<int>(client)), &unanswered_);
        ++unanswered_;
      }
    });
    client_loop_->run_until_idle();
  }
  /// Opens a stream without end, of which the client takes more than it will read.
  void open_stream() {
    client_loop_->post([this] { stream_ = clients_.front()->open<&SlowHandler::pour>(); });
    client_loop_->run_until_idle();
  }
  int poured() const { return worker_.poured; }
  void server_turn() {
    server_loop_->run_once(Duration::zero());
    client_loop_->run_until_idle();
  }
  void run_until_idle() {
    while (unanswered_ != 0) server_turn();
  }
  TimePoint now() { return clock_.now(); }
  Loop& server_loop() { return *server_loop_; }
  const std::vector<int>& runs() const { return worker_.runs; }
  int unanswered() const { return unanswered_; }

 private:
  static Task<void> count_end(Call<int> call, int* unanswered) {
    const Result<int> result = co_await std::move(call);
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    --*unanswered;
  }

  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> server_loop_ = Loop::create({.clock = &clock_}).value();
  std::unique_ptr<Loop> client_loop_ = Loop::create({.clock = &clock_}).value();
  Transports transports_;
  SlowHandler worker_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Client>> clients_;
  StreamOf<&SlowHandler::pour> stream_;
  int unanswered_ = 0;
  Scope scope_;
};

TEST(Turns, EndSoThatTimersAreOnTimeHoweverMuchAPeerSendsAtOnce) {
  for (const Duration work : {1us, 10us, 300us}) {
    Flood world{1, work};
    Metronome metronome{world.server_loop()};
    world.call(0, 10'000);
    world.run_until_idle();
    EXPECT_LE(metronome.latest(), 3ms);
    EXPECT_GE(metronome.beats(), 10'000 * work / 4ms);
  }
}

TEST(Turns, EndSoThatTimersAreOnTimeHoweverMuchAPeerTakesAtOnce) {
  for (const Duration work : {1us, 10us, 300us}) {
    Flood world{1, work};
    Metronome metronome{world.server_loop()};
    world.open_stream();
    for (int turn = 0; turn < 100; ++turn) world.server_turn();
    EXPECT_LE(metronome.latest(), 3ms);
    EXPECT_GE(world.poured(), 100) << "it goes on in each turn";
  }
}

TEST(Turns, EndSoThatTimersAreOnTimeHoweverManyPeersSendAtOnce) {
  Flood world{128, 10us};
  Metronome metronome{world.server_loop()};
  for (std::size_t client = 0; client < 128; ++client) world.call(client, 500);
  world.run_until_idle();
  EXPECT_LE(metronome.latest(), 5ms);
  EXPECT_GE(metronome.beats(), 100);
}

TEST(Turns, OfAClockThatStandsStillEndAfterSomeThousandsOfCalls) {
  Flood world{1, Duration::zero()};
  world.call(0, 20'000);
  int before = 0;
  int most = 0;
  while (world.unanswered() != 0) {
    world.server_turn();
    most = std::max(most, world.runs()[0] - before);
    before = world.runs()[0];
  }
  EXPECT_LE(most, 5'000);
}

TEST(Turns, AnswerACallerWhoAsksLittleBeforeThoseWhoAskMuch) {
  constexpr std::size_t kFlooding = 128;
  Flood world{kFlooding + 1, 10us};
  for (std::size_t client = 0; client < kFlooding; ++client) world.call(client, 1000);
  for (int i = 0; i < 20; ++i) world.server_turn();
  std::vector<Duration> took;
  for (int i = 0; i < 51; ++i) {
    const TimePoint asked = world.now();
    const int before = world.runs()[kFlooding];
    world.call(kFlooding, 1);
    while (world.runs()[kFlooding] == before) world.server_turn();
    took.push_back(world.now() - asked);
    for (int j = 0; j < 3; ++j) world.server_turn();
  }
  ASSERT_GT(world.unanswered(), 0) << "the flood was over before the last call";
  std::sort(took.begin(), took.end());
  EXPECT_LE(took[took.size() / 2], 2ms);
  EXPECT_LE(took.back(), 5ms);
  world.run_until_idle();
}

TEST(Turns, AreSharedEvenlyByThoseWhoAskMuch) {
  Flood world{4, 10us};
  for (std::size_t client = 0; client < 4; ++client) world.call(client, 2000);
  while (*std::max_element(world.runs().begin(), world.runs().end()) < 2000) {
    const auto [least, most] = std::minmax_element(world.runs().begin(), world.runs().end());
    ASSERT_LE(*most - *least, 70);
    world.server_turn();
  }
  world.run_until_idle();
}

}  // namespace
}  // namespace weft::simulation
