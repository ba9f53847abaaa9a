// SPDX-License-Identifier: Apache-2.0
// Two sides that send each other more requests than their outboxes take: neither waits for the other for
// ever, every call ends, and what waits to be sent stays bounded. With small marks and narrow pipes in memory
// each side is over its mark most of the time; sizes and times differ by the seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "simulation/world.hpp"

namespace weft::simulation::flood_tests {
namespace {

std::string echo(std::string_view text) {
  return std::string{text};
}

Task<std::string> late_echo(std::string text, std::uint32_t microseconds) {
  [[maybe_unused]] const auto slept = co_await sleep_for(std::chrono::microseconds{microseconds});
  co_return text;
}

Stream<std::string> pour(std::uint32_t count, std::string text) {
  for (std::uint32_t i = 0; i < count; ++i) co_yield text;
}

Task<std::uint32_t> drain(Reader<std::string>& items) {
  std::uint32_t count = 0;
  while (auto item = co_await items.next()) ++count;
  co_return count;
}

struct Ended {
  std::size_t ok = 0;
  std::size_t refused = 0;
  std::size_t other = 0;
  std::string why;

  void count(const Result<std::string>& answer, std::size_t bytes) {
    if (answer.ok()) {
      EXPECT_EQ(answer->size(), bytes);
      ++ok;
    } else if (answer.status().code() == StatusCode::kResourceExhausted) {
      EXPECT_TRUE(answer.status().unprocessed());
      ++refused;
    } else {
      ++other;
      why = answer.status().to_string();
    }
  }
  std::size_t all() const { return ok + refused + other; }
};

template <typename Caller>
Task<void> one_call(Caller* caller, Ended* ended, std::size_t bytes, std::uint32_t wait) {
  const std::string text(bytes, 'f');
  if (wait == 0) {
    Result<std::string> answer = co_await caller->template call<echo>(text);
    ended->count(answer, bytes);
  } else {
    Result<std::string> result = co_await caller->template call<late_echo>(text, wait);
    ended->count(result, bytes);
  }
}

struct EndedStreams {
  int whole = 0;
  int refused = 0;
  int other = 0;

  int all() const { return whole + refused + other; }
  void count(bool is_whole, const Status& end) {
    if (end.code() == StatusCode::kResourceExhausted && end.unprocessed()) {
      ++refused;
    } else {
      ++(is_whole && end.ok() ? whole : other);
    }
  }
};

/// Reads a stream to its end, or writes one.
template <typename Caller>
Task<void> one_stream(Caller* caller, EndedStreams* ended, std::uint32_t count, std::size_t bytes,
                      bool writes) {
  const std::string text(bytes, 's');
  if (writes) {
    auto stream = caller->template open<drain>();
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool goes_on = co_await stream.write(text);
      if (!goes_on) break;
    }
    Result<std::uint32_t> end = co_await stream.finish();
    ended->count(end.ok() && *end == count, end.status());
  } else {
    std::uint32_t passed = 0;
    auto stream = caller->template open<pour>(count, text);
    while (auto item = co_await stream.next()) ++passed;
    ended->count(passed == count, stream.status());
  }
}

/// A client and a server on one loop whose clock is the test's, with each other's handles.
class Flood {
 public:
  Flood(std::size_t pipe_bytes, const RpcLimits& limits) {
    LoopOptions options;
    options.clock = &clock_;
    loop_ = Loop::create(options).value();
    MemoryOptions memory;
    memory.pipe_bytes = pipe_bytes;
    transports_.add(std::make_unique<MemoryNetwork>(memory));
    ServerOptions server;
    server.listen = {"memory://flood"};
    server.threads = 0;
    server.loop = loop_.get();
    server.limits = limits;
    server.logger = &logger_;
    server_.emplace(std::move(server), transports_);
    server_->register_handler<echo, late_echo, pour, drain>();
    server_->register_handler("hello", [this](CallContext& context) { peer_.emplace(context.peer()); });
    server_->start().value();
    ClientOptions client;
    client.connect = "memory://flood";
    client.limits = limits;
    client.logger = &logger_;
    client_.emplace(*loop_, client, transports_);
    client_->register_handler<echo, late_echo, pour, drain>();
    auto hello = client_->start<remote<"hello", void()>>();
    run_until([&] { return hello.done(); });
  }

  template <typename Done>
  bool run_until(Done done) {
    const TimePoint end = clock_.now() + 20s;  // before any timeout of a call, or of a peer that stalls
    while (!done()) {
      if (loop_->run_once(Duration::zero())) continue;
      const auto next = loop_->next_timer();
      if (!next || *next > end) return done();
      clock_.set(std::max(clock_.now(), *next));
    }
    return true;
  }

  Loop& loop() { return *loop_; }
  Client& client() { return *client_; }
  Peer& peer() { return *peer_; }
  Server& server() { return *server_; }

 private:
  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_;
  Transports transports_;
  std::optional<Server> server_;
  std::optional<Peer> peer_;
  std::optional<Client> client_;
};

void flood(unsigned seed, std::size_t pipe_bytes, std::size_t high_water, std::size_t body_bytes_max,
           bool waits) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", pipe " + std::to_string(pipe_bytes) + ", mark " +
               std::to_string(high_water) + ", bodies " + std::to_string(body_bytes_max));
  RpcLimits limits;
  limits.outbox_high_water = high_water;
  Flood both{pipe_bytes, limits};
  std::mt19937 random{seed};
  std::uniform_int_distribution<std::size_t> size{0, body_bytes_max};
  std::uniform_int_distribution<std::uint32_t> wait{0, 3};
  Ended of_client;
  Ended of_server;
  Scope scope;
  constexpr std::size_t kCalls = 400;
  both.loop().post([&] {
    for (std::size_t i = 0; i < kCalls; ++i) {
      const std::uint32_t to_server = waits ? wait(random) * 200 : 0;
      const std::uint32_t to_client = waits ? wait(random) * 200 : 0;
      scope.spawn(&one_call<Client>, &both.client(), &of_client, size(random), to_server);
      scope.spawn(&one_call<Peer>, &both.peer(), &of_server, size(random), to_client);
    }
  });
  EXPECT_TRUE(both.run_until([&] { return of_client.all() == kCalls && of_server.all() == kCalls; }))
      << of_client.all() << " and " << of_server.all() << " calls ended";
  EXPECT_EQ(of_client.other, 0u) << of_client.why;
  EXPECT_EQ(of_server.other, 0u) << of_server.why;
  EXPECT_GT(of_client.ok + of_server.ok, 0u);
  EXPECT_EQ(both.client().stats().connections, 1u) << "the connection was lost";
  scope.cancel_scope().cancel(CancelReason::kScopeClosed);
  EXPECT_TRUE(both.run_until([&] { return of_client.all() == kCalls && of_server.all() == kCalls; }));
  both.loop().run_until_idle();
  both.loop().block_on([](Scope& its) -> Task<void> { co_await its.join(); }(scope));
}

TEST(Flood, OfRequestsInBothDirectionsNeverStandsStill) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    for (const std::size_t pipe : {256u, 4096u, 65536u}) {
      for (const std::size_t mark : {1u, 2000u, 30'000u}) {
        flood(seed, pipe, mark, 3000, seed % 2 == 0);
      }
    }
  }
}

TEST(Flood, OfLargeBodiesInBothDirectionsNeverStandsStill) {
  for (unsigned seed = 1; seed <= 4; ++seed) flood(seed, 4096, 20'000, 60'000, seed % 2 == 0);
}

/// Streams and calls of a flood, each in both directions, and what both sides allow.
struct Mixture {
  unsigned seed = 1;
  std::size_t pipe_bytes = 4096;
  RpcLimits limits{};
  int streams = 10;
  std::size_t calls = 50;
  std::size_t body_bytes_max = 600;
  std::uint32_t items_max = 400;
};

void flood(const Mixture& mixture) {
  SCOPED_TRACE("seed " + std::to_string(mixture.seed) + ", pipe " + std::to_string(mixture.pipe_bytes) +
               ", mark " + std::to_string(mixture.limits.outbox_high_water) + ", window " +
               std::to_string(mixture.limits.stream_window));
  Flood both{mixture.pipe_bytes, mixture.limits};
  std::mt19937 random{mixture.seed};
  std::uniform_int_distribution<std::size_t> size{0, mixture.body_bytes_max};
  std::uniform_int_distribution<std::uint32_t> count{0, mixture.items_max};
  Ended of_calls;
  EndedStreams of_streams;
  Scope scope;
  for (int i = 0; i < mixture.streams; ++i) {
    both.loop().post([&, writes = i % 2 == 0] {
      scope.spawn(&one_stream<Client>, &both.client(), &of_streams, count(random), size(random), writes);
      scope.spawn(&one_stream<Peer>, &both.peer(), &of_streams, count(random), size(random), writes);
    });
    both.loop().run_once(Duration::zero());
  }
  both.loop().post([&] {
    for (std::size_t i = 0; i < mixture.calls; ++i) {
      scope.spawn(&one_call<Client>, &both.client(), &of_calls, size(random), 0u);
      scope.spawn(&one_call<Peer>, &both.peer(), &of_calls, size(random), 0u);
    }
  });
  EXPECT_TRUE(both.run_until([&] {
    return of_streams.all() == 2 * mixture.streams && of_calls.all() == 2 * mixture.calls;
  })) << of_streams.all()
      << " streams and " << of_calls.all() << " calls ended";
  EXPECT_EQ(of_calls.other, 0u) << of_calls.why;
  EXPECT_EQ(of_streams.other, 0);
  EXPECT_GT(of_streams.whole, 0);
  EXPECT_EQ(both.client().stats().connections, 1u) << "the connection was lost";
  scope.cancel_scope().cancel(CancelReason::kScopeClosed);
  both.loop().run_until_idle();
  both.loop().block_on([](Scope& its) -> Task<void> { co_await its.join(); }(scope));
}

// Whoever has too much to send takes no items either: the credits for them would be more. With small windows
// there are many.
TEST(Flood, OfItemsAndRequestsInBothDirectionsNeverStandsStill) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    for (const std::size_t pipe : {256u, 4096u}) {
      for (const std::size_t mark : {1u, 2000u, 30'000u}) {
        for (const std::uint32_t window : {1u, 500u, 100'000u}) {
          Mixture mixture{.seed = seed, .pipe_bytes = pipe};
          mixture.limits.outbox_high_water = mark;
          mixture.limits.stream_window = window;
          flood(mixture);
        }
      }
    }
  }
}

// What an honest peer causes beyond the mark is a refusal of each of its calls, and credits of each stream
// that this side has opened: both together, where few calls are allowed.
TEST(Flood, OfAsManyStreamsAndRequestsAsMayBeNeverStandsStill) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    for (const std::uint32_t calls_max : {2u, 5u, 20u, 100u}) {
      for (const std::uint32_t window : {1u, 100u, 500u}) {
        Mixture mixture{.seed = seed,
                        .pipe_bytes = 256,
                        .streams = static_cast<int>(calls_max),
                        .calls = 2 * std::size_t{calls_max}};
        mixture.limits.outbox_high_water = 1;
        mixture.limits.stream_window = window;
        mixture.limits.calls_in_flight_max = calls_max;
        flood(mixture);
        // One of its own frames is more than all that the peer may cause.
        mixture.pipe_bytes = 4096;
        mixture.body_bytes_max = 100'000;
        mixture.items_max = 10;
        flood(mixture);
      }
    }
  }
}

}  // namespace
}  // namespace weft::simulation::flood_tests
