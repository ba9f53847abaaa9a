// SPDX-License-Identifier: Apache-2.0
// Streams on a clock that stands still, over connections in memory: lost at every byte, given up in every
// state, stopped, late, held back. Each stream ends once, and nothing of it stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/world.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/mutex.hpp"

namespace weft::simulation::streams_tests {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kWindow = 200;

/// Counts those of its handlers that run, whatever ends them.
struct Running {
  explicit Running(int& its_count) : count(&its_count) { ++*count; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { --*count; }
  int* count;
};

struct Streams {
  int running = 0;
  int ended_well = 0;
  std::vector<int> read;
  Event gate;
  std::optional<StatusCode> seen;

  Stream<int> count_to(int count) {
    const Running here{running};
    for (int i = 0; i < count; ++i) co_yield i;
    ++ended_well;
  }
  /// One item each ten milliseconds.
  Stream<int> tick(int count) {
    const Running here{running};
    for (int i = 0; i < count; ++i) {
      [[maybe_unused]] const auto slept = co_await sleep_for(10ms);
      co_yield i;
    }
    ++ended_well;
  }
  Task<Result<int>> sum(Reader<int>& numbers) {
    const Running here{running};
    int sum = 0;
    while (auto number = co_await numbers.next()) sum += *number;
    seen = numbers.status().code();
    if (!numbers.status().ok()) co_return numbers.status();
    ++ended_well;
    co_return sum;
  }
  Task<Result<int>> talk(Reader<int>& numbers, Writer<std::string>& texts) {
    const Running here{running};
    int count = 0;
    while (auto number = co_await numbers.next()) {
      const std::string text = std::to_string(*number);
      if (const bool taken = co_await texts.write(text); !taken) co_return texts.status();
      ++count;
    }
    seen = numbers.status().code();
    if (!numbers.status().ok()) co_return numbers.status();
    ++ended_well;
    co_return count;
  }
  /// Reads when it is told to.
  Task<Result<int>> late(Reader<int>& numbers) {
    [[maybe_unused]] const Result<void> told = co_await gate.wait();
    Result<int> outcome = co_await sum(numbers);
    co_return outcome;
  }
  /// Reads nothing, writes nothing, waits.
  Task<Result<int>> idle(Reader<int>&, Writer<int>&) {
    const Running here{running};
    Event never;
    [[maybe_unused]] const Result<void> cancelled = co_await never.wait();
    co_return 0;
  }
  /// Ends before its caller has written all, and with items that are not read.
  Task<Result<int>> early(Reader<int>& numbers, Writer<int>& answers, int after) {
    const Running here{running};
    for (int i = 0; i < after; ++i) {
      auto number = co_await numbers.next();
      if (!number) co_return -1;
      const int twice = *number * 2;
      if (const bool taken = co_await answers.write(twice); !taken) co_return -2;
    }
    co_return after;
  }
};

RpcLimits small_windows() {
  RpcLimits limits;
  limits.stream_window = kWindow;
  return limits;
}

/// A world whose server has the handlers above.
class StreamWorld {
 public:
  explicit StreamWorld(const MemoryOptions& memory = {}, const RpcLimits& limits = small_windows()) {
    LoopOptions options;
    options.clock = &clock_;
    loop_ = Loop::create(options).value();
    auto network = std::make_unique<MemoryNetwork>(memory);
    network_ = network.get();
    transports_.add(std::move(network));
    serve(limits);
    ClientOptions client;
    client.connect = "memory://server";
    client.limits = limits;
    client.connect_timeout = 300ms;
    client.logger = &logger_;
    client_ = std::make_unique<Client>(*loop_, client, transports_);
  }
  ~StreamWorld() { client_.reset(); }

  Loop& loop() { return *loop_; }
  Client& client() { return *client_; }
  Server& server() { return *server_; }
  MemoryNetwork& network() { return *network_; }
  void drop_server() { server_.reset(); }
  void drop_client() { client_.reset(); }
  void connect() { ASSERT_TRUE(loop().block_on(client().connect()).ok()); }
  void run_until_idle() { loop_->run_until_idle(); }
  bool step() {
    if (loop_->run_once(Duration::zero())) return true;
    const auto next = loop_->next_timer();
    if (!next) return false;
    clock_.set(std::max(clock_.now(), *next));
    return true;
  }
  template <typename Done>
  bool run_until(Done done, Duration time = 60s) {
    const TimePoint end = clock_.now() + time;
    while (!done()) {
      if (clock_.now() > end || !step()) return done();
    }
    return true;
  }
  void pass(Duration time) {
    run_until([] { return false; }, time);
  }

  Streams streams;

 private:
  void serve(const RpcLimits& limits) {
    ServerOptions server;
    server.listen = {"memory://server"};
    server.threads = 0;
    server.loop = loop_.get();
    server.limits = limits;
    server.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(server), transports_);
    server_->register_handler<&Streams::count_to, &Streams::tick, &Streams::sum, &Streams::talk,
                              &Streams::idle, &Streams::early, &Streams::late>(&streams);
    server_->register_handler<&Service::plain>(&service_);
    server_->start().value();
  }

  ManualClock clock_;
  SilentLogger logger_;
  Service service_;
  std::unique_ptr<Loop> loop_;
  Transports transports_;
  MemoryNetwork* network_ = nullptr;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

/// Outcome of one stream.
struct Outcome {
  int items = 0;
  int written = 0;
  int result = 0;
  bool over = false;
  Status status;
};

/// Writes three numbers, reads three texts one after each, and ends.
Task<void> converse(Client* client, Outcome* outcome) {
  CallOptions options;
  options.timeout = 2s;
  auto stream = client->open<&Streams::talk>(options);
  for (int i = 0; i < 3; ++i) {
    if (const bool taken = co_await stream.write(i); !taken) break;
    ++outcome->written;
    auto text = co_await stream.next();
    if (!text) break;
    if (*text == std::to_string(i)) ++outcome->items;
  }
  Result<int> end = co_await stream.finish();
  if (end.ok()) outcome->result = *end;
  outcome->status = end.status();
  outcome->over = true;
}
Task<void> read_all(Client* client, int count, Outcome* outcome) {
  auto stream = client->open<&Streams::count_to>(count);
  while (auto item = co_await stream.next()) {
    if (*item == outcome->items) ++outcome->items;
  }
  outcome->status = stream.status();
  outcome->over = true;
}
Task<void> write_all(Client* client, int count, Outcome* outcome) {
  auto stream = client->open<&Streams::sum>();
  for (int i = 0; i < count; ++i) {
    if (const bool taken = co_await stream.write(1); !taken) break;
    ++outcome->written;
  }
  Result<int> end = co_await stream.finish();
  if (end.ok()) outcome->result = *end;
  outcome->status = end.status();
  outcome->over = true;
}

TEST(Streams, EndWhenTheConnectionIsLostAtAnyByte) {
  for (const bool to_server : {true, false}) {
    int whole = 0;
    int lost = 0;
    for (std::uint64_t bytes = 0; bytes < 1200 && whole < 3; ++bytes) {
      MemoryOptions memory;
      (to_server ? memory.to_server : memory.to_client).cut_after = bytes;
      StreamWorld world{memory};
      Outcome outcome;
      Scope scope;
      world.loop().post([&] { scope.spawn(&converse, &world.client(), &outcome); });
      ASSERT_TRUE(world.run_until([&] { return outcome.over; })) << bytes;
      world.pass(100ms);
      ASSERT_EQ(world.streams.running, 0) << bytes;
      if (outcome.status.ok()) {
        ASSERT_EQ(outcome.items, 3) << bytes;
        ASSERT_EQ(outcome.result, 3) << bytes;
        ++whole;
      } else {
        const StatusCode code = outcome.status.code();  // a hello that never comes whole is waited for
        ASSERT_TRUE(code == StatusCode::kUnavailable || code == StatusCode::kDeadlineExceeded)
            << bytes << ": " << outcome.status.to_string();
        ++lost;
      }
      ASSERT_LE(world.streams.ended_well, 1) << "a stream does not begin again";
    }
    EXPECT_GT(lost, 100);
    EXPECT_GT(whole, 0);
  }
}

TEST(Streams, ArriveWholeInPiecesOfAnySize) {
  for (std::size_t piece = 1; piece < 100; piece += piece < 50 ? 1 : 7) {
    MemoryOptions memory;
    memory.to_server.receive_bytes_max = memory.to_client.receive_bytes_max = piece;
    StreamWorld world{memory};
    Outcome talk;
    Outcome read;
    Outcome write;
    Scope scope;
    world.loop().post([&] {
      scope.spawn(&converse, &world.client(), &talk);
      scope.spawn(&read_all, &world.client(), 50, &read);
      scope.spawn(&write_all, &world.client(), 50, &write);
    });
    ASSERT_TRUE(world.run_until([&] { return talk.over && read.over && write.over; })) << piece;
    EXPECT_EQ(talk.result, 3);
    EXPECT_EQ(read.items, 50);
    EXPECT_EQ(write.result, 50);
    EXPECT_TRUE(read.status.ok()) << read.status.to_string();
  }
}

/// Cancels, or drops, whatever stream it is, after so many turns.
enum class Way { kCancel, kDrop, kScope, kClose, kStop, kServerGone };

Task<void> hold_stream(StreamOf<&Streams::talk>* stream, Outcome* outcome) {
  for (int i = 0; i < 20; ++i) {
    if (const bool taken = co_await stream->write(i); !taken) break;
    ++outcome->written;
    auto text = co_await stream->next();
    if (!text) break;
    ++outcome->items;
  }
  outcome->status = stream->status();
  outcome->over = true;
}

TEST(Streams, EndWhateverGivesThemUpInWhateverState) {
  for (const Way way : {Way::kCancel, Way::kDrop, Way::kScope, Way::kClose, Way::kStop, Way::kServerGone}) {
    for (int turns = 0; turns < 60; ++turns) {
      MemoryOptions memory;
      memory.to_server.delay = memory.to_client.delay = 1ms;
      StreamWorld world{memory};
      Outcome outcome;
      std::optional<StreamOf<&Streams::talk>> stream;
      {
        Scope scope;
        world.loop().post([&] {
          stream.emplace(world.client().open<&Streams::talk>());
          // Nobody waits on a stream that is dropped.
          if (way != Way::kDrop) scope.spawn(&hold_stream, &*stream, &outcome);
        });
        while (!stream) world.step();
        for (int i = 0; i < turns; ++i) world.step();
        switch (way) {
          case Way::kCancel:
            world.loop().post([&] { stream->cancel(); });
            break;
          case Way::kScope:
            world.loop().post([&] { scope.cancel(CancelReason::kRequested); });
            break;
          case Way::kClose:
            world.loop().post([&] { world.client().close(); });
            break;
          case Way::kStop:
            world.loop().post([&] { world.server().stop(0s); });
            break;
          case Way::kServerGone:
            world.drop_server();
            break;
          default:
            break;
        }
        if (way != Way::kDrop) {
          ASSERT_TRUE(world.run_until([&] { return outcome.over; })) << static_cast<int>(way) << " " << turns;
          // What was all over before was not given up.
          if (outcome.items < 20) {
            EXPECT_FALSE(outcome.status.ok()) << static_cast<int>(way) << " " << turns;
          }
        }
      }  // the coroutine that uses the stream goes first
      stream.reset();
      world.pass(2s);
      ASSERT_EQ(world.streams.running, 0) << static_cast<int>(way) << " " << turns;
    }
  }
}

TEST(Streams, AreEndedByTheirDeadlineOnBothSides) {
  StreamWorld world;
  world.connect();
  CallOptions options;
  options.timeout = 95ms;
  auto ticks = world.client().open<&Streams::tick>(options, 1000);
  int count = 0;
  bool over = false;
  const auto read = [](StreamOf<&Streams::tick>* stream, int* items, bool* ended) -> Task<void> {
    while (auto tick = co_await stream->next()) ++*items;
    *ended = true;
  };
  Scope scope;
  world.loop().post([&] { scope.spawn(read, &ticks, &count, &over); });
  ASSERT_TRUE(world.run_until([&] { return over; }, 1s));
  EXPECT_EQ(count, 9);
  EXPECT_EQ(ticks.status().code(), StatusCode::kDeadlineExceeded) << ticks.status().to_string();
  world.pass(20ms);
  EXPECT_EQ(world.streams.running, 0);
}

TEST(Streams, HaveNoTimeoutOfTheirClients) {
  StreamWorld world;
  world.connect();
  int count = 0;
  bool over = false;
  auto ticks = world.client().open<&Streams::tick>(10'000);
  const auto read = [](StreamOf<&Streams::tick>* stream, int* items, bool* ended) -> Task<void> {
    while (auto tick = co_await stream->next()) ++*items;
    *ended = true;
  };
  Scope scope;
  world.loop().post([&] { scope.spawn(read, &ticks, &count, &over); });
  ASSERT_TRUE(world.run_until([&] { return over; }, 1000s));
  EXPECT_EQ(count, 10'000);
  EXPECT_TRUE(ticks.status().ok());
}

TEST(Streams, ThatNobodyReadsHoldTheirOwnWritersOnly) {
  StreamWorld world;
  world.connect();
  std::vector<StreamOf<&Streams::count_to>> unread;
  for (int i = 0; i < 50; ++i) unread.push_back(world.client().open<&Streams::count_to>(1000));
  world.run_until_idle();
  EXPECT_EQ(world.streams.running, 50) << "they wait for their reader";
  for (int round = 0; round < 20; ++round) {
    Outcome outcome;
    Scope scope;
    world.loop().post([&] { scope.spawn(&read_all, &world.client(), 200, &outcome); });
    ASSERT_TRUE(world.run_until([&] { return outcome.over; }));
    EXPECT_EQ(outcome.items, 200);
  }
  EXPECT_EQ(world.streams.running, 50);
  // Reading is taken up, and all of them come to their end.
  const auto read = [](StreamOf<&Streams::count_to>* stream, int* items) -> Task<void> {
    while (auto item = co_await stream->next()) ++*items;
  };
  int items = 0;
  {
    Scope scope;
    world.loop().post([&] {
      for (auto& stream : unread) scope.spawn(read, &stream, &items);
    });
    ASSERT_TRUE(world.run_until([&] { return items == 50 * 1000; }));
  }
  world.run_until_idle();
  EXPECT_EQ(world.streams.running, 0);
}

// The output has room for some of them at a time only.
TEST(Streams, ManyThatWaitForRoomAllGetIt) {
  RpcLimits limits;
  limits.outbox_high_water = 8 * 1024;
  MemoryOptions memory;
  memory.pipe_bytes = 4 * 1024;
  StreamWorld world{memory, limits};
  world.connect();
  std::vector<Outcome> outcomes(200);
  Scope scope;
  world.loop().post([&] {
    for (Outcome& outcome : outcomes) scope.spawn(&read_all, &world.client(), 300, &outcome);
  });
  const auto is_over = [](const Outcome& outcome) { return outcome.over; };
  ASSERT_TRUE(world.run_until([&] { return std::ranges::all_of(outcomes, is_over); }));
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.items, 300);
}

// What one connection's streams hold unread is bounded, however many it opens: those that find no share fail,
// and the others have all that was sent.
TEST(Streams, OfOneConnectionHoldNoMoreThanItsShareOfMemory) {
  RpcLimits limits;
  limits.stream_window = 64 * 1024;
  limits.connection_memory_max = 2u << 20;
  StreamWorld world{{}, limits};
  world.connect();
  constexpr int kItems = 64 * 1024 / 48;
  std::vector<Outcome> outcomes(64);
  // One after the other: streams that grow together would all find no share in the end.
  Mutex turn;
  const auto write = [](Client* client, Mutex* turn, Outcome* outcome) -> Task<void> {
    auto stream = client->open<&Streams::late>();
    {
      const auto held = co_await turn->lock();
      for (int i = 0; i < kItems; ++i) {
        if (const bool taken = co_await stream.write(1); !taken) break;
      }
    }
    Result<int> end = co_await stream.finish();
    outcome->result = end.ok() ? *end : 0;
    outcome->status = end.status();
    outcome->over = true;
  };
  Scope scope;
  world.loop().post([&] {
    for (Outcome& outcome : outcomes) scope.spawn(write, &world.client(), &turn, &outcome);
  });
  world.run_until_idle();
  world.loop().post([&] { world.streams.gate.set(); });
  const auto is_over = [](const Outcome& outcome) { return outcome.over; };
  ASSERT_TRUE(world.run_until([&] { return std::ranges::all_of(outcomes, is_over); }));
  int well = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.status.ok()) {
      EXPECT_EQ(outcome.result, kItems);
      ++well;
    } else {
      EXPECT_EQ(outcome.status.code(), StatusCode::kResourceExhausted) << outcome.status.message();
    }
  }
  EXPECT_GE(well, 16) << "a MiB is always there";
  EXPECT_LE(well, 32) << "2 MiB are all that there is";
}

TEST(Streams, AreFinishedWithWhatIsNotRead) {
  StreamWorld world;
  world.connect();
  Outcome outcome;
  const auto finish = [](Client* client, Outcome* its) -> Task<void> {
    auto stream = client->open<&Streams::count_to>(500);
    auto first = co_await stream.next();
    its->items = first.value_or(-1);
    Result<void> end = co_await stream.finish();
    its->status = end.status();
    its->over = true;
  };
  Scope scope;
  world.loop().post([&] { scope.spawn(finish, &world.client(), &outcome); });
  ASSERT_TRUE(world.run_until([&] { return outcome.over; }));
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.to_string();
  EXPECT_EQ(world.streams.ended_well, 1) << "the handler went on to its end";
}

TEST(Streams, OfAHandlerThatEndsEarlyGiveItsItemsAndItsResult) {
  for (int after = 0; after < 6; ++after) {
    StreamWorld world;
    world.connect();
    Outcome outcome;
    const auto write = [](Client* client, int end_after, Outcome* its) -> Task<void> {
      auto stream = client->open<&Streams::early>(end_after);
      for (;;) {
        const bool taken = co_await stream.write(its->written);
        if (!taken) break;
        ++its->written;
      }
      while (auto item = co_await stream.next()) ++its->items;
      Result<int> end = co_await stream.finish();
      its->status = end.status();
      if (end.ok()) its->result = *end;
      its->over = true;
    };
    Scope scope;
    world.loop().post([&] { scope.spawn(write, &world.client(), after, &outcome); });
    ASSERT_TRUE(world.run_until([&] { return outcome.over; })) << after;
    EXPECT_EQ(outcome.items, after);
    EXPECT_EQ(outcome.result, after) << outcome.status.to_string();
    EXPECT_EQ(world.streams.running, 0);
  }
}

TEST(Streams, ThatAreOpenWhenTheServerStopsHaveItsGrace) {
  StreamWorld world;
  world.connect();
  Outcome outcome;
  auto ticks = world.client().open<&Streams::tick>(5);
  auto idle = world.client().open<&Streams::idle>();
  const auto read = [](StreamOf<&Streams::tick>* stream, Outcome* its) -> Task<void> {
    while (auto item = co_await stream->next()) ++its->items;
    its->status = stream->status();
    its->over = true;
  };
  Scope scope;
  world.loop().post([&] { scope.spawn(read, &ticks, &outcome); });
  world.run_until_idle();
  ASSERT_EQ(world.streams.running, 2);
  world.loop().post([&] { world.server().stop(1s); });
  ASSERT_TRUE(world.run_until([&] { return outcome.over; }, 500ms));
  EXPECT_EQ(outcome.items, 5);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.to_string();
  EXPECT_FALSE(idle.done());
  ASSERT_TRUE(world.run_until([&] { return idle.done(); }, 3s));
  EXPECT_EQ(idle.status().code(), StatusCode::kUnavailable) << idle.status().to_string();
  EXPECT_EQ(world.streams.running, 0);
}

TEST(Streams, AreOpenedBeforeTheConnectionIsThere) {
  StreamWorld world;
  Outcome outcome;
  Scope scope;
  world.loop().post([&] { scope.spawn(&write_all, &world.client(), 100, &outcome); });
  ASSERT_TRUE(world.run_until([&] { return outcome.over; }));
  EXPECT_EQ(outcome.result, 100) << outcome.status.to_string();
}

TEST(Streams, WithoutAServerFail) {
  StreamWorld world;
  world.drop_server();
  Outcome outcome;
  const auto open = [](Client* client, Outcome* its) -> Task<void> {
    CallOptions options;
    options.timeout = 500ms;
    auto stream = client->open<&Streams::talk>(options);
    const bool written = co_await stream.write(1);
    its->written = written ? 1 : 0;
    auto item = co_await stream.next();
    its->items = item ? 1 : 0;
    Result<int> end = co_await stream.finish();
    its->status = end.status();
    its->over = true;
  };
  Scope scope;
  world.loop().post([&] { scope.spawn(open, &world.client(), &outcome); });
  ASSERT_TRUE(world.run_until([&] { return outcome.over; }, 5s));
  EXPECT_FALSE(outcome.status.ok());
  EXPECT_EQ(outcome.written, 0);
  EXPECT_EQ(outcome.items, 0);
}

// The handler hears that its caller is gone, and its writer too.
TEST(Streams, ReadersOfTheServerHearWhyNoMoreItemsCome) {
  StreamWorld world;
  world.connect();
  {
    auto stream = world.client().open<&Streams::sum>();
    world.run_until_idle();
    ASSERT_EQ(world.streams.running, 1);
    stream.cancel();
    world.run_until_idle();
    EXPECT_EQ(stream.status().code(), StatusCode::kCancelled);
  }
  EXPECT_EQ(world.streams.running, 0);
  EXPECT_EQ(world.streams.seen, StatusCode::kCancelled);
}

// The client has no memory left for what it did not read: the stream fails, also for one who does not read
// but waits for its end, and its server is told.
TEST(Streams, ThatFindNoMemoryAtTheirReaderFail) {
  for (const bool finishes : {false, true}) {
    RpcLimits limits;
    limits.stream_window = 1u << 20;
    limits.process_memory_max = 64 * 1024;
    StreamWorld world{{}, limits};
    world.connect();
    auto stream = world.client().open<&Streams::count_to>(1'000'000);
    world.pass(10ms);
    Outcome outcome;
    const auto end = [](StreamOf<&Streams::count_to>* its, bool at_once, Outcome* out) -> Task<void> {
      if (!at_once) {
        while (auto item = co_await its->next()) ++out->items;
        out->status = its->status();
      } else {
        Result<void> result = co_await its->finish();
        out->status = result.status();
      }
      out->over = true;
    };
    Scope scope;
    world.loop().post([&] { scope.spawn(end, &stream, finishes, &outcome); });
    ASSERT_TRUE(world.run_until([&] { return outcome.over; }, 10s)) << finishes;
    EXPECT_EQ(outcome.status.code(), StatusCode::kResourceExhausted) << outcome.status.to_string();
    world.pass(10ms);
    EXPECT_EQ(world.streams.running, 0) << "the reader that lost an item cancels the call";
    stream = {};
    world.pass(10ms);
    EXPECT_EQ(world.streams.running, 0);
    const auto sum = world.loop().block_on([](Client* client) -> Task<Result<std::uint32_t>> {
      Result<std::uint32_t> result = co_await client->call<&Service::plain>(1u);
      co_return result;
    }(&world.client()));
    EXPECT_TRUE(sum.ok()) << "others go on";
  }
}

}  // namespace
}  // namespace weft::simulation::streams_tests
