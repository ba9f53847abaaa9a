// SPDX-License-Identifier: Apache-2.0
// Faults, part "bytes from a peer", of clients that serve: a server that calls in ways that no honest one
// does.
#include <atomic>
#include <string>
#include <thread>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/flooding_peer.hpp"
#include "integration/faults/heap_count.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "integration/faults/stream_bytes.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::faults::hostile_serving_tests {

using namespace weft::detail;
namespace {

using wire::FrameType;

/// The client has not registered it.
int unknown(int a, int b) {
  return a - b;
}
/// Ends when it is cancelled.
Task<int> wait_long() {
  Event never;
  [[maybe_unused]] const Result<void> cancelled = co_await never.wait();
  co_return 0;
}

/// Streams that the client serves.
Task<int> never_read(Reader<std::string>&) {
  Event never;
  [[maybe_unused]] const Result<void> cancelled = co_await never.wait();
  co_return 0;
}
Stream<std::string> watch(int count) {
  for (int i = 0; i < count; ++i) co_yield std::string(60, 'i');
}

/// A client that serves, and a server of bytes that it has connected to; the client's loop turns while the
/// server's part runs on a thread of its own.
class HostileServing : public FaultTest {
 protected:
  /// Runs `script` as the part of a server to which a client that serves has connected.
  template <typename Script>
  void expect(Script script) {
    HostileListener listener;
    ClientOptions options;
    options.limits.body_bytes_max = 10'000;
    Client& serving = client(listener.url(), options);
    serving.register_handler<add, wait_long>();
    std::atomic<bool> connected = false;
    std::atomic<bool> over = false;
    std::thread server{[&] {
      HostilePeer peer = listener.accept();
      EXPECT_TRUE(peer.send(hello_bytes()));
      EXPECT_TRUE(peer.receive_hello());
      connected.wait(false);
      script(peer);
      over = true;
    }};
    EXPECT_TRUE(loop().block_on(serving.connect()).ok());
    connected = true;
    connected.notify_one();
    EXPECT_TRUE(turn_until(loop(), [&] { return over.load(); }));
    server.join();
    serving.close();
  }
  /// The client ends a connection on which it was told `bytes`.
  void expect_ended(const std::string& bytes, const std::string& what) {
    expect([&](HostilePeer& peer) {
      peer.send(bytes);
      EXPECT_TRUE(peer.closed_by_other_side()) << what;
    });
  }
  /// The client keeps a connection on which it was told `bytes`, and answers a request behind them.
  void expect_taken(const std::string& bytes, const std::string& what) {
    expect([&](HostilePeer& peer) {
      peer.send(bytes + request_bytes<&add>(777, 1, 2));
      for (;;) {
        const auto frame = peer.receive_frame();
        ASSERT_TRUE(frame.has_value()) << what;
        if (frame->header.type != FrameType::kAnswer || frame->header.id != 777) continue;
        EXPECT_EQ(frame->body, body_of(3)) << what;
        break;
      }
    });
  }
};

TEST_F(HostileServing, WhatBreaksTheProtocolCostsTheServerTheConnection) {
  expect_ended(request_bytes<wait_long>(1) + request_bytes<wait_long>(1), "an id in use");
  wire::FrameHeader large = request_header<&add>(1);
  large.body_bytes = 1u << 31;
  expect_ended(header_bytes(large), "a request beyond every limit");
}

// Each of them says what the first said. The handler that runs is ended by the end of the connection.
TEST_F(HostileServing, AFloodOfGoawaysLeavesTheClientAlive) {
  std::string flood = request_bytes<wait_long>(1);
  for (int i = 0; i < 10'000; ++i) flood += control_bytes(FrameType::kGoaway);
  expect([&](HostilePeer& peer) {
    EXPECT_TRUE(peer.send(flood));
    peer.close();
  });
  expect_taken("", "a connection behind it");
}

TEST_F(HostileServing, WhatNamesNothingIsRefusedOrDropped) {
  expect_taken(request_bytes<&unknown>(1, 1, 2), "an unknown method");
  expect_taken(control_bytes(FrameType::kCancel, 5), "a cancel for nothing");
  expect_taken(frame_bytes(wire::ItemHead{.id = 99}.header(), "item"), "an item for nothing");
  expect_taken(frame_bytes(wire::CreditHead{.id = 99, .granted = 5}.header()), "a credit for nothing");
}

/// The same on one loop, which the test turns, and whose clock stands still: nothing happens but what the
/// server of bytes did.
class FloodedServing : public StillFaultTest {
 protected:
  static constexpr std::uint32_t kWindow = 1000;
  /// Requests of a flood.
  static constexpr std::uint64_t kMany = kHeapIsCounted ? 1'000'000 : 20'000;
  static constexpr std::uint64_t kAtOnce = 1000;

  /// Connects a client of `limits`, whose handlers `fill` registers, to a server of bytes, which has said
  /// hello.
  template <typename Fill>
  FloodingPeer connected(RpcLimits limits, Fill fill) {
    ClientOptions options;
    options.connect = listener_.url();
    options.limits = limits;
    options.limits.stream_window = kWindow;
    options.logger = &logger();
    client_ = std::make_unique<Client>(loop(), std::move(options));
    fill(*client_);
    bool up = false;
    scope_.spawn(&FloodedServing::connect, client_.get(), &up);
    loop().run_once(Duration::zero());
    FloodingPeer server{listener_.accept_fd()};
    server.say(hello_with_window(kWindow));
    EXPECT_TRUE(turn_until(loop(), [&] { return up; }));
    return server;
  }
  FloodingPeer connected_to_serving(RpcLimits limits = {}) {
    return connected(limits, [](Client& its) { its.register_handler<add, wait_long, never_read, watch>(); });
  }
  /// The client answers a request of `id` behind all that was said.
  void expect_answered(FloodingPeer& server, std::uint64_t id) {
    server.say(request_bytes<&add>(id, 1, 2));
    const auto answer = server.await(loop(), FrameType::kAnswer,
                                     [&](const RawFrame& frame) { return frame.header.id == id; });
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->body, body_of(3));
  }
  /// Lets the server say `words(first id)` until kMany ids were used, reading what comes and giving each
  /// frame to `see`, and goes on with reading until `done()`.
  template <typename Words, typename See, typename Done>
  void flood_and_read(FloodingPeer& server, Words words, See see, Done done) {
    for (std::uint64_t id = 1; id < kMany; id += kAtOnce) {
      server.say(words(id));
      ASSERT_TRUE(turn_until(loop(), [&] {
        server.pour();
        EXPECT_TRUE(server.listen());
        server.look(see);
        return server.has_said_all();
      }));
    }
    EXPECT_TRUE(turn_until(loop(), [&] {
      server.listen();
      server.look(see);
      return done();
    }));
  }
  /// Says `requests` again and again while nothing is read: the client stops reading them, before it
  /// holds much.
  void expect_flood_stops(FloodingPeer& server, const std::string& requests) {
    server.say(requests);
    loop().run_until_idle();
    restart_heap_peak();
    const std::size_t before = heap_bytes();
    EXPECT_FALSE(flood(loop(), server, 1'000'000, [&](std::uint64_t) { return requests; }));
    if (kHeapIsCounted) {
      EXPECT_LT(heap_peak_bytes() - before, 1u << 20);
    }
  }
  void TearDown() override {
    client_.reset();
    loop().block_on(join(scope_));
  }
  Client& serving() { return *client_; }

 private:
  static Task<void> connect(Client* its, bool* up) {
    Result<void> connected = co_await its->connect();
    EXPECT_TRUE(connected.ok()) << connected.status().to_string();
    *up = true;
  }

  testing::SilentListener listener_;
  std::unique_ptr<Client> client_;
  Scope scope_;
};

template <auto M, typename... Arguments>
std::string requests_from(std::uint64_t first, std::uint64_t count, const Arguments&... arguments) {
  std::string words;
  for (std::uint64_t id = first; id < first + count; ++id) words += request_bytes<M>(id, arguments...);
  return words;
}

TEST_F(FloodedServing, AMillionRequestsToAClientWithoutHandlersAreRefusedOneByOne) {
  FloodingPeer server = connected({}, [](Client&) {});
  server.say(request_bytes<&add>(1u << 30, 1, 2));
  ASSERT_TRUE(server.await(loop(), FrameType::kAnswer));
  restart_heap_peak();
  const std::size_t before = heap_bytes();
  std::uint64_t refused = 0;
  const auto count = [&](const RawFrame& frame) {
    if (frame.header.type != FrameType::kAnswer) return;
    EXPECT_EQ(wire::AnswerView{frame.header}.code(), static_cast<unsigned>(StatusCode::kUnimplemented));
    ++refused;
  };
  flood_and_read(
      server, [](std::uint64_t id) { return requests_from<&add>(id, kAtOnce, 1, 2); }, count,
      [&] { return refused >= kMany; });
  EXPECT_EQ(refused, kMany);
  if (kHeapIsCounted) {
    EXPECT_LT(heap_peak_bytes() - before, 4u << 20) << "with what the test itself holds";
  }
}

TEST_F(FloodedServing, AFloodToAClientWithoutHandlersThatIsNotReadIsTakenUntilTheOutputIsFull) {
  RpcLimits limits;
  limits.outbox_high_water = 64 * 1024;
  FloodingPeer server = connected(limits, [](Client&) {});
  expect_flood_stops(server, requests_from<&add>(1, kAtOnce, 1, 2));
  pass(31s);
  EXPECT_TRUE(server.is_left(loop())) << "it has taken nothing for the time of a stall";
}

// The client waits for an answer of the server's, so it may not stop reading at once.
TEST_F(FloodedServing, AFloodToAClientThatWaitsForAnAnswerIsRefusedAndThenNotRead) {
  RpcLimits limits;
  limits.outbox_high_water = 64 * 1024;
  limits.calls_in_flight_max = 1000;
  FloodingPeer server = connected_to_serving(limits);
  CallOptions options;
  options.timeout = 60s;
  auto asked = serving().start<&add>(options, 1, 2);
  ASSERT_TRUE(server.await(loop(), FrameType::kRequest));
  expect_flood_stops(server, requests_from<&add>(1, kAtOnce, 1, 2));
  pass(31s);
  const Result<int> end = wait_for(std::move(asked));
  EXPECT_EQ(end.status().code(), StatusCode::kUnavailable) << end.status().to_string();
}

TEST_F(FloodedServing, AMillionStreamsOpenedAndResetLeaveNothing) {
  FloodingPeer server = connected_to_serving();
  const auto opened_and_reset = [](std::uint64_t first) {
    std::string words;
    for (std::uint64_t id = first; id < first + kAtOnce; ++id) {
      words += request_bytes<never_read>(id) + item_bytes(id, "item") + control_bytes(FrameType::kCancel, id);
    }
    return words;
  };
  server.say(opened_and_reset(1u << 30));
  expect_answered(server, 1u << 31);
  restart_heap_peak();
  const std::size_t before = heap_bytes();
  std::uint64_t told = 0;
  flood_and_read(
      server, opened_and_reset,
      [&](const RawFrame& frame) {
        if (frame.header.type != FrameType::kAnswer) return;
        EXPECT_EQ(wire::AnswerView{frame.header}.code(), static_cast<unsigned>(StatusCode::kCancelled));
        ++told;
      },
      [&] { return told >= kMany; });
  EXPECT_EQ(told, kMany) << "each is told that it was cancelled";
  expect_answered(server, (1u << 31) + 1);
  loop().run_until_idle();
  if (kHeapIsCounted) {
    EXPECT_LT(heap_peak_bytes() - before, 8u << 20);
    EXPECT_LT(heap_bytes() - before, 1u << 20);
  }
}

TEST_F(FloodedServing, StreamsThatNobodyReadsAndNobodyResetsAreAsManyAsMayBe) {
  constexpr std::uint32_t kStreams = 100;
  RpcLimits limits;
  limits.streams_max = kStreams;
  FloodingPeer server = connected_to_serving(limits);
  std::uint64_t refused = 0;
  std::uint64_t items = 0;
  flood_and_read(
      server,
      [](std::uint64_t id) {
        // Every second would send a million items, and gets no credit for them.
        std::string words;
        for (std::uint64_t i = 0; i < kAtOnce; i += 2) {
          words += request_bytes<watch>(id + i, 1'000'000) + request_bytes<never_read>(id + i + 1);
        }
        return words;
      },
      [&](const RawFrame& frame) {
        if (frame.header.type == FrameType::kItem) ++items;
        if (frame.header.type != FrameType::kAnswer) return;
        EXPECT_EQ(wire::AnswerView{frame.header}.code(),
                  static_cast<unsigned>(StatusCode::kResourceExhausted));
        ++refused;
      },
      [&] { return refused >= kMany - kStreams; });
  expect_answered(server, 1u << 31);
  EXPECT_EQ(refused, kMany - kStreams);
  EXPECT_GT(items, 0u);
  EXPECT_LE(items, (kStreams / 2) * (kWindow / wire::item_cost(64) + 1));
}

TEST_F(FloodedServing, WhatNoStreamAllowsCostsTheServerTheConnection) {
  const auto breach = [&](const std::string& words, const char* what) {
    SCOPED_TRACE(what);
    FloodingPeer server = connected_to_serving();
    server.say(request_bytes<never_read>(1) + request_bytes<watch>(2, 1'000'000) +
               request_bytes<wait_long>(3) + words);
    EXPECT_TRUE(server.is_left(loop()));
    TearDown();
  };
  breach(repeated(item_bytes(1, std::string(60, 'i')), 20), "items without credit");
  breach(last_bytes(1) + item_bytes(1, "item"), "an item behind the last");
  breach(credit_bytes(2, kWindow), "the same credit again");
  breach(item_bytes(3, "item"), "an item for a call of one answer");
  breach(credit_bytes(3, 5000), "a credit for a call of one answer");
}

TEST_F(FloodedServing, RequestsBeforeTheHelloAreNoHelloAndThoseBehindItAreServed) {
  const std::string requests = requests_from<&add>(1, kAtOnce, 1, 2);
  for (const bool greets : {false, true}) {
    testing::SilentListener listener;
    ClientOptions options;
    options.connect = listener.url();
    options.logger = &logger();
    Client its{loop(), std::move(options)};
    its.register_handler<add>();
    auto asked = its.start<&add>(1, 2);
    loop().run_once(Duration::zero());
    FloodingPeer server{listener.accept_fd()};
    if (!greets) {
      server.say(requests + hello_with_window(kWindow));
      EXPECT_TRUE(server.is_left(loop()));
      const Result<int> end = wait_for(std::move(asked));
      EXPECT_EQ(end.status().code(), StatusCode::kInvalidArgument) << end.status().to_string();
      EXPECT_TRUE(end.status().unprocessed());
      continue;
    }
    // The client's own hello and request were not read.
    server.say(hello_with_window(kWindow) + requests);
    const auto answer = server.await(loop(), FrameType::kAnswer,
                                     [](const RawFrame& frame) { return frame.header.id == kAtOnce; });
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->body, body_of(3));
    EXPECT_FALSE(asked.done());
  }
}

// However much is there to be read, a turn takes a part of it: the clock stands still, so a turn is never
// old, and it ends all the same.
TEST_F(FloodedServing, ATurnTakesAPartOfAFlood) {
  FloodingPeer server = connected_to_serving();
  const std::string many =
      repeated(request_bytes<&add>(1, 1, 2) + item_bytes(7, "") + credit_bytes(7, 1) +
                   control_bytes(FrameType::kCancel, 7) + control_bytes(FrameType::kPing, 7) +
                   control_bytes(FrameType::kContinue, 7),
               100);
  std::uint64_t before = serving().stats().traffic.frames_received;
  std::uint64_t most = 0;
  for (int turn = 0; turn < 500; ++turn) {
    for (int i = 0; i < 500 && server.has_said_all(); ++i) server.say(many);
    server.pour();
    loop().run_once(Duration::zero());
    server.listen();
    server.look([](const RawFrame&) {});
    const std::uint64_t now = serving().stats().traffic.frames_received;
    most = std::max(most, now - before);
    before = now;
  }
  EXPECT_GT(before, 100'000u) << "it is a flood";
  EXPECT_LE(most, 10'000u);
}

}  // namespace
}  // namespace weft::faults::hostile_serving_tests
