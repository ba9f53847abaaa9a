// SPDX-License-Identifier: Apache-2.0
// Peers that send all they can at once, on a clock that stands still but for the handlers' work, or for the
// bytes of attachments that are moved: a turn of the loop ends soon all the same, so that its timers are on
// time and another caller is answered.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
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
  /// Lets each client make one call after the other until stop_asking().
  void ask_on() {
    client_loop_->post([this] {
      for (std::size_t client = 0; client < clients_.size(); ++client) {
        ++unanswered_;
        scope_.spawn(&Flood::call_on, this, client);
      }
    });
    client_loop_->run_until_idle();
  }
  void stop_asking() {
    asks_on_ = false;
    run_until_idle();
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
  static Task<void> call_on(Flood* world, std::size_t client) {
    while (world->asks_on_) {
      const Result<int> result =
          co_await world->clients_[client]->call<&SlowHandler::serve>(static_cast<int>(client));
      EXPECT_TRUE(result.ok()) << result.status().to_string();
    }
    --world->unanswered_;
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
  bool asks_on_ = true;
  Scope scope_;
};

constexpr std::size_t kWhole = std::size_t{64} << 20;
/// Bytes, and frames or receives, that a turn takes of a connection at most, and that it sends.
constexpr std::uint64_t kBytesOfATurn = std::uint64_t{1} << 20;
constexpr std::uint64_t kPiecesOfATurn = 16;

/// A clock on which nothing takes time but the bytes that one side moves, and these while it is told to
/// count.
class BytesClock final : public Clock {
 public:
  static constexpr std::uint64_t kBytesInANanosecond = 4;

  /// `moved` says how many bytes that side has moved so far.
  void count(std::function<std::uint64_t()> moved) {
    moved_ = std::move(moved);
    counted_ = moved_();
  }
  void count_now(bool counts) { counts_ = counts; }
  TimePoint now() override {
    // The counters that are asked for read this clock too.
    if (std::exchange(counts_, false)) {
      const std::uint64_t passed = (moved_() - counted_) / kBytesInANanosecond;
      counted_ += passed * kBytesInANanosecond;
      now_ += std::chrono::nanoseconds{passed};
      counts_ = true;
    }
    return now_;
  }
  bool advances_by_itself() const override { return false; }

 private:
  std::function<std::uint64_t()> moved_;
  std::uint64_t counted_ = 0;
  bool counts_ = false;
  TimePoint now_{std::chrono::hours{24}};
};

/// Handlers of large attachments, and one that does little.
struct Depot {
  std::vector<std::byte> memory = std::vector<std::byte>(kWhole);

  std::size_t push(CallContext& context) { return context.attachment().size(); }
  std::size_t pull(CallContext& context) {
    context.set_attachment(Buffer::adopt(MutableBytes{memory}, nullptr, [](void*) noexcept {}));
    return memory.size();
  }
  int little(int number) { return number; }
};

/// A client that pushes an attachment and pulls another at the same time, beside small calls. One side is
/// looked at, turn by turn; the other one does all it can between these turns, in no time.
class Transfers {
 public:
  enum class Side : std::uint8_t { kServer, kClient };

  /// `pipe_bytes` may be on their way in each direction of the connection of the transfers.
  Transfers(Side side, std::size_t pipe_bytes) : side_(side) {
    MemoryOptions memory;
    memory.pipe_bytes = pipe_bytes;
    auto network = std::make_unique<MemoryNetwork>(memory);
    MemoryNetwork& pipes = *network;
    transports_.add(std::move(network));
    ServerOptions server;
    server.listen = {"memory://server"};
    server.threads = 0;
    server.loop = server_loop_.get();
    server.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(server), transports_);
    server_->register_handler<&Depot::push, &Depot::pull, &Depot::little>(&depot_);
    server_->start().value();
    mover_ = connected();
    pipes.set_options({});
    other_ = connected();
    clock_.count([this] { return traffic().bytes_received + traffic().bytes_sent; });
  }
  ~Transfers() {
    push_.reset();
    pull_.reset();
    mover_.reset();
    other_.reset();
  }

  /// Moves both attachments, while one small call of `asking` after the other waits.
  void move_all(Client& asking) {
    push_.emplace(mover_->start<&Depot::push>(CallOptions{.attachment = Bytes{depot_.memory}}));
    pull_.emplace(mover_->start<&Depot::pull>(CallOptions{.landing = landing_}));
    for (int turns = 0; !push_->done() || !pull_->done() || waits_; ++turns) {
      ASSERT_LT(turns, 10'000) << "they do not get on";
      if (!waits_) ask(asking);
      turn();
    }
    EXPECT_EQ(client_loop_->block_on(*std::move(push_)).value(), kWhole);
    EXPECT_EQ(client_loop_->block_on(*std::move(pull_)).value(), kWhole);
  }
  Client& mover() { return *mover_; }
  Client& other() { return *other_; }
  Loop& loop() { return side_ == Side::kServer ? *server_loop_ : *client_loop_; }
  /// The most that a turn did, each number by itself.
  const ConnectionStats& most() const { return most_; }
  /// Small calls that were answered before the transfers were over, and the longest time that one took.
  int answered() const { return answered_; }
  Duration longest() const { return longest_; }

 private:
  std::unique_ptr<Client> connected() {
    ClientOptions options;
    options.connect = "memory://server";
    options.call_timeout = kNoTimeout;
    options.logger = &logger_;
    auto client = std::make_unique<Client>(*client_loop_, std::move(options), transports_);
    Call<int> first = client->start<&Depot::little>(1);
    while (!first.done()) {
      server_loop_->run_until_idle();
      client_loop_->run_until_idle();
    }
    EXPECT_EQ(client_loop_->block_on(std::move(first)).value(), 1);
    return client;
  }
  ConnectionStats traffic() const {
    return side_ == Side::kServer ? server_->stats().traffic : mover_->stats().traffic;
  }
  void ask(Client& asking) {
    waits_ = true;
    asked_ = clock_.now();
    client_loop_->post(
        [this, &asking] { scope_.spawn(&Transfers::note_answer, this, asking.start<&Depot::little>(1)); });
  }
  static Task<void> note_answer(Transfers* world, Call<int> call) {
    const Result<int> result = co_await std::move(call);
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    world->waits_ = false;
    world->longest_ = std::max(world->longest_, world->clock_.now() - world->asked_);
    if (!world->push_->done() && !world->pull_->done()) ++world->answered_;
  }
  void turn() {
    const ConnectionStats before = traffic();
    clock_.count_now(true);
    loop().run_once(Duration::zero());
    clock_.count_now(false);
    const ConnectionStats after = traffic();
    const auto look = [&](std::uint64_t ConnectionStats::* number) {
      most_.*number = std::max(most_.*number, after.*number - before.*number);
    };
    look(&ConnectionStats::bytes_received);
    look(&ConnectionStats::frames_received);
    look(&ConnectionStats::receives);
    look(&ConnectionStats::bytes_sent);
    look(&ConnectionStats::frames_sent);
    (side_ == Side::kServer ? *client_loop_ : *server_loop_).run_until_idle();
  }

  const Side side_;
  BytesClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> server_loop_ = Loop::create({.clock = &clock_}).value();
  std::unique_ptr<Loop> client_loop_ = Loop::create({.clock = &clock_}).value();
  Transports transports_;
  Depot depot_;
  std::vector<std::byte> landing_ = std::vector<std::byte>(kWhole);
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> mover_;
  std::unique_ptr<Client> other_;
  std::optional<Call<std::size_t>> push_;
  std::optional<Call<std::size_t>> pull_;
  ConnectionStats most_;
  bool waits_ = false;
  TimePoint asked_{};
  Duration longest_{};
  int answered_ = 0;
  Scope scope_;
};

/// Nothing but the sides themselves keeps a turn short: all of both attachments fits into the pipes.
constexpr std::size_t kWidePipe = kWhole + (std::size_t{1} << 20);
/// A piece of a transfer, and little more.
constexpr std::size_t kNarrowPipe = std::size_t{256} << 10;

void expect_short_turns(const Transfers& world, const Metronome& metronome) {
  EXPECT_LE(metronome.latest(), 5ms);
  EXPECT_GE(metronome.beats(), 15) << "the bytes of two attachments take 33 ms";
  for (const std::uint64_t bytes : {world.most().bytes_received, world.most().bytes_sent}) {
    EXPECT_LE(bytes, kBytesOfATurn);
    EXPECT_GE(bytes, kBytesOfATurn / 16) << "a piece at least";
  }
  EXPECT_LE(world.most().receives, kPiecesOfATurn);
  EXPECT_LE(world.most().frames_received, kPiecesOfATurn);
  EXPECT_LE(world.most().frames_sent, kPiecesOfATurn);
  EXPECT_LE(world.longest(), 5ms) << "a small call waits for few turns";
  EXPECT_GE(world.answered(), 20) << "and is no rarity";
}

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

// More connections than a turn can serve: in each turn calls of the connections that were served come anew.
TEST(Turns, ServeConnectionsWithOneCallEachInTheOrderOfTheCalls) {
  for (const std::size_t clients : {16u, 150u, 400u}) {
    Flood world{clients, 10us};
    world.ask_on();
    for (int turn = 0; turn < 100 && !::testing::Test::HasFailure(); ++turn) {
      world.server_turn();
      const auto [least, most] = std::minmax_element(world.runs().begin(), world.runs().end());
      EXPECT_LE(*most - *least, 1) << clients << " clients, turn " << turn;
    }
    EXPECT_GE(*std::min_element(world.runs().begin(), world.runs().end()), 10) << clients;
    world.stop_asking();
  }
}

/// Moves all of a transfer each way, and looks at the turns of the server, then at those of the client.
void expect_short_turns_of_each(std::size_t pipe, Client& (Transfers::*asking)()) {
  for (const auto side : {Transfers::Side::kServer, Transfers::Side::kClient}) {
    SCOPED_TRACE(side == Transfers::Side::kServer ? "server" : "client");
    Transfers world{side, pipe};
    Metronome metronome{world.loop()};
    ASSERT_NO_FATAL_FAILURE(world.move_all((world.*asking)()));
    expect_short_turns(world, metronome);
  }
}

TEST(Turns, EndSoThatTimersAreOnTimeHoweverMuchOfAttachmentsIsThere) {
  expect_short_turns_of_each(kWidePipe, &Transfers::other);
}

TEST(Turns, AnswerASmallCallBetweenThePiecesOfItsOwnConnection) {
  expect_short_turns_of_each(kNarrowPipe, &Transfers::mover);
}

}  // namespace
}  // namespace weft::simulation
