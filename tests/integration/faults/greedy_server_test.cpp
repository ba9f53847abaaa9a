// SPDX-License-Identifier: Apache-2.0
// Faults of clients: servers that announce much, say much and read nothing, or say what no honest one does.
// A client's memory is bounded by what has arrived, each of its calls ends with a status, and it does not
// spin.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/heap_count.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft::faults::greedy_server_tests {

using namespace weft::detail;
namespace {

using wire::FrameFlags;
using wire::FrameType;

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// A server of bytes on a thread of its own. Does with `count` connections, one after the other, what
/// `script` says, once hellos were exchanged, and keeps them until it ends.
class ServerOfBytes {
 public:
  template <typename Script>
  ServerOfBytes(int count, Script script, std::string hello = hello_bytes())
      : thread_([this, count, script, hello = std::move(hello)]() mutable {
          for (int i = 0; i < count; ++i) {
            peers_.push_back(listener_.accept());
            HostilePeer& peer = peers_.back();
            if (peer.send(hello) && peer.receive_hello()) script(peer);
            ++served_;
          }
        }) {
    peers_.reserve(static_cast<std::size_t>(count));
  }
  ~ServerOfBytes() { thread_.join(); }
  std::string url() const { return listener_.url(); }
  /// Connections with which it is done.
  int served() const { return served_; }

 private:
  HostileListener listener_;
  std::vector<HostilePeer> peers_;
  std::atomic<int> served_ = 0;
  std::thread thread_;
};

std::string answer_head(std::uint64_t id, std::uint32_t body_bytes, std::uint64_t attachment_bytes = 0,
                        std::uint8_t flags = 0) {
  wire::FrameHeader header =
      wire::AnswerHead{.body_bytes = body_bytes, .id = id, .attachment_bytes = attachment_bytes}.header();
  header.flags = flags;
  return header_bytes(header);
}

/// The most that the heap grew beyond `before`; nothing where it is not counted.
std::size_t grown_since(std::size_t before) {
  return kHeapIsCounted ? heap_peak_bytes() - before : 0;
}

class GreedyServers : public FaultTest {
 protected:
  /// Turns the loop until `server` has done with `count` connections.
  bool done(const ServerOfBytes& server, int count = 1) {
    return turn_until(loop(), [&] { return server.served() == count; });
  }
  /// The outcome of a call whose answer begins with `bytes(id)`; no more comes.
  template <typename Bytes>
  Status answered(Bytes bytes, CallOptions options = {.timeout = 300ms}) {
    ServerOfBytes server{1, [&](HostilePeer& peer) {
                           const auto request = peer.receive_frame();
                           if (request) peer.send(bytes(request->header.id));
                         }};
    Client& caller = client(server.url());
    const Status outcome = wait_for(caller.start<&add>(options, 1, 2)).status();
    EXPECT_TRUE(done(server));
    caller.close();
    return outcome;
  }
};

TEST_F(GreedyServers, ThatAnnounceLargeAnswersAndSendLittleGetNoMemoryForIt) {
  constexpr int kClients = 30;
  constexpr std::uint32_t kAnnounced = 16 << 20;  // the most that a client takes by default
  ServerOfBytes server{kClients, [](HostilePeer& peer) {
                         const auto request = peer.receive_frame();
                         if (request) peer.send(answer_head(request->header.id, kAnnounced) + "12345678");
                       }};
  std::vector<Client*> callers;
  std::vector<Tally> tallies(kClients);
  Scope scope;
  const std::size_t before = heap_bytes();
  restart_heap_peak();
  for (Tally& tally : tallies) {
    callers.push_back(&client(server.url()));
    scope.spawn(&count_end<int>, callers.back()->start<&add>(CallOptions{.timeout = 1s}, 1, 2), 3, &tally);
    ASSERT_TRUE(done(server, static_cast<int>(callers.size())));
  }
  loop().block_on(join(scope));
  for (const Tally& tally : tallies) {
    EXPECT_EQ(tally.ended, 1);
    EXPECT_EQ(tally.right, 0);
  }
  EXPECT_LT(grown_since(before), kClients * std::size_t{100'000});
  for (Client* each : callers) each->close();
}

TEST_F(GreedyServers, ThatAnnounceMoreThanAnyLimitAreLeftAtTheHead) {
  const std::size_t before = heap_bytes();
  restart_heap_peak();
  for (const std::uint32_t body : {(16u << 20) + 1, 1u << 31, ~0u}) {
    const Status outcome = answered([body](std::uint64_t id) { return answer_head(id, body); });
    EXPECT_EQ(outcome.code(), StatusCode::kUnavailable) << body << ": " << outcome.to_string();
  }
  for (const std::uint64_t bytes :
       {(std::uint64_t{4} << 30) + 1, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    for (const unsigned in_pieces : {0u, unsigned{FrameFlags::kInPieces}}) {
      const auto flags = static_cast<std::uint8_t>(FrameFlags::kAttachment | in_pieces);
      const Status outcome = answered([=](std::uint64_t id) { return answer_head(id, 0, bytes, flags); });
      EXPECT_EQ(outcome.code(), StatusCode::kUnavailable) << bytes << ": " << outcome.to_string();
    }
  }
  EXPECT_LT(grown_since(before), 2 * kMiB);
}

// It is as large as it may be, and no call has room for it.
TEST_F(GreedyServers, ThatAnnounceAnAttachmentForWhichNobodyHasRoomGetNoneForIt) {
  const std::size_t before = heap_bytes();
  restart_heap_peak();
  for (const unsigned in_pieces : {0u, unsigned{FrameFlags::kInPieces}}) {
    const auto flags = static_cast<std::uint8_t>(FrameFlags::kAttachment | in_pieces);
    std::vector<std::byte> landing(1000);
    const Status outcome =
        answered([=](std::uint64_t id) { return answer_head(id, 0, std::uint64_t{4} << 30, flags); },
                 {.timeout = 300ms, .landing = landing});
    EXPECT_TRUE(outcome.code() == StatusCode::kResourceExhausted ||
                outcome.code() == StatusCode::kDeadlineExceeded)
        << outcome.to_string();
  }
  EXPECT_LT(grown_since(before), 2 * kMiB);
}

TEST_F(GreedyServers, WhoseHelloAllowsNothingHaveCallsRefusedOrEndInTime) {
  wire::Hello hello;
  hello.features_supported = wire::Features::kAll;
  for (const bool with_calls : {false, true}) {
    hello.calls_in_flight_max = with_calls ? 1 : 0;
    ServerOfBytes server{1, [](HostilePeer&) {}, wire::encode_hello(hello)};
    Client& caller = client(server.url());
    const std::uint64_t turns = loop().stats().turns;
    const std::string attachment(100, 'a');
    const Status small = wait_for(caller.start<&add>(CallOptions{.timeout = 200ms}, 1, 2)).status();
    const Status attached =
        wait_for(caller.start<&add>(CallOptions{.timeout = 200ms, .attachment = as_bytes(attachment)}, 1, 2))
            .status();
    EXPECT_FALSE(small.ok());
    EXPECT_FALSE(attached.ok());
    if (with_calls) {
      EXPECT_EQ(small.code(), StatusCode::kResourceExhausted) << small.to_string();
      EXPECT_EQ(attached.code(), StatusCode::kResourceExhausted) << attached.to_string();
    }
    // A loop asks again for 50 us before it sleeps, some hundred times; one that spins for 400 ms does so far
    // more often.
    EXPECT_LT(loop().stats().turns - turns, 5'000u) << "it spins";
    caller.close();
  }
}

// For ids of nobody, of calls that have no attachment, again for one that was asked for, and for one that has
// ended.
TEST_F(GreedyServers, ThatAskForAttachmentsOfNobodyAreNotHeard) {
  std::string storm;
  for (std::uint64_t id = 0; id < 50'000; ++id) storm += control_bytes(FrameType::kContinue, id * 0x10001);
  ServerOfBytes server{1, [&](HostilePeer& peer) {
                         for (int i = 0; i < 3; ++i) {
                           const auto request = peer.receive_frame();
                           if (!request) return;
                           const std::uint64_t id = request->header.id;
                           const std::string asks = control_bytes(FrameType::kContinue, id);
                           peer.send(asks + asks + storm + asks);
                           const std::string answer =
                               frame_bytes({.type = FrameType::kAnswer, .id = id}, body_of(3));
                           peer.send(answer + asks + answer);
                         }
                       }};
  Client& caller = client(server.url());
  const std::string attachment(100'000, 'a');
  for (int i = 0; i < 3; ++i) {
    CallOptions options{.timeout = 20s};
    if (i == 1) options.attachment = as_bytes(attachment);
    const Result<int> sum = wait_for(caller.start<&add>(options, 1, 2));
    ASSERT_TRUE(sum.ok()) << sum.status().to_string();
    EXPECT_EQ(*sum, 3);
  }
  ASSERT_TRUE(done(server));
  // The last bytes that the server has sent may not have arrived yet.
  EXPECT_TRUE(turn_until(loop(), [&] { return caller.stats().late_answers >= 3; }));
  EXPECT_EQ(caller.stats().connections, 1u);
  EXPECT_EQ(caller.stats().late_answers, 3u);
  caller.close();
}

/// Turns of a storm: what is said over and over, by a server that reads nothing.
struct Storm {
  const char* name;
  std::string block;
};
std::vector<Storm> storms() {
  std::string pings;
  std::string requests;
  std::string cancels;
  std::string strange;
  std::string credits;
  std::uint64_t id = 0;
  while (pings.size() < 64 * 1024) pings += control_bytes(FrameType::kPing, ++id);
  while (requests.size() < 64 * 1024) requests += request_bytes<&add>(++id, 1, 2);
  while (cancels.size() < 64 * 1024) cancels += control_bytes(FrameType::kCancel, ++id);
  while (strange.size() < 64 * 1024) {
    strange += frame_bytes({.type = FrameType::kAnswer, .id = ++id}, std::string(500, 'x'));
  }
  while (credits.size() < 64 * 1024) {
    credits += frame_bytes(wire::CreditHead{.id = ++id, .granted = ~0u}.header());
  }
  return {{"pings", pings},
          {"requests to a client that serves nothing", requests},
          {"cancels of nothing", cancels},
          {"answers to nothing", strange},
          {"credits of nothing", credits}};
}

TEST_F(GreedyServers, ThatTalkWithoutEndAndReadNothingTakeLittleMemory) {
  for (const Storm& storm : storms()) {
    SCOPED_TRACE(storm.name);
    std::atomic<std::uint64_t> said = 0;
    ServerOfBytes server{1, [&](HostilePeer& peer) {
                           for (int i = 0; i < 600 && peer.send(storm.block); ++i) said += storm.block.size();
                         }};
    ClientOptions options;
    options.limits.outbox_high_water = 256 * 1024;
    options.limits.stall_timeout = 300ms;
    Client& caller = client(server.url(), options);
    ASSERT_TRUE(loop().block_on(caller.connect()).ok());
    const std::size_t before = heap_bytes();
    restart_heap_peak();
    ASSERT_TRUE(done(server));
    EXPECT_GT(said, 2 * kMiB);
    EXPECT_LT(grown_since(before), 2 * kMiB);
    caller.close();
  }
}

/// A server that refuses each call with `head`, before it ran.
template <typename Script>
auto refusing(wire::AnswerHead head, std::atomic<int>& requests, Script until) {
  return [head, &requests, until](HostilePeer& peer) mutable {
    while (const auto request = peer.receive_frame()) {
      if (request->header.type != FrameType::kRequest) continue;
      ++requests;
      head.id = request->header.id;
      head.flags = FrameFlags::kUnprocessed;
      if (!peer.send(frame_bytes(head.header()))) return;
      if (until()) return;
    }
  };
}

TEST_F(GreedyServers, ThatTellToWaitForWeeksAreNotWaitedForLongerThanTheCallerWill) {
  std::atomic<int> requests = 0;
  ServerOfBytes server{1, refusing({.code = StatusCode::kResourceExhausted,
                                    .layer = Layer::kRpc,
                                    .retry = Retry::kBackoff,
                                    .retry_after_ms = ~0u},
                                   requests, [] { return false; })};
  ClientOptions options;
  options.interceptors.push_back(std::make_shared<ObeyRetryAfter>(loop()));
  Client& caller = client(server.url(), options);
  const auto attempt = [&]() -> Task<Result<int>> {
    const RetryPolicy policy{.attempts_max = 100, .deadline = Deadline::after(loop().now(), 10s)};
    co_return co_await with_retry(policy, [&] { return caller.call<&add>(1, 2); });
  };
  for (int i = 0; i < 3; ++i) {
    const Status outcome = loop().block_on(attempt()).status();
    EXPECT_EQ(outcome.code(), StatusCode::kResourceExhausted) << outcome.to_string();
    EXPECT_GT(outcome.retry_after(), 10s);
    EXPECT_LE(outcome.retry_after(), kRetryAfterMax);
  }
  EXPECT_EQ(requests, 1) << "the others were not sent";
  caller.close();
}

TEST_F(GreedyServers, ThatAskForARetryAtOnceAndForEverGetAFew) {
  for (const unsigned retry : {unsigned(Retry::kBackoff), unsigned(Retry::kReconnect), 15u}) {
    std::atomic<int> requests = 0;
    ServerOfBytes server{
        1,
        refusing({.code = StatusCode::kUnavailable, .layer = Layer::kRpc, .retry = static_cast<Retry>(retry)},
                 requests, [] { return false; })};
    Client& caller = client(server.url());
    const auto attempt = [&]() -> Task<Result<int>> {
      const RetryPolicy policy{.attempts_max = 5, .wait_min = 1ms, .wait_max = 1ms};
      co_return co_await with_retry(policy, [&] { return caller.call<&add>(1, 2); });
    };
    EXPECT_EQ(loop().block_on(attempt()).status().code(), StatusCode::kUnavailable);
    EXPECT_GE(requests, 1);
    EXPECT_LE(requests, 5) << retry;
    caller.close();
  }
}

// Waits double from 20 ms, a half of which is by chance, so that the sixth connection comes after
// 20 / 2 * (1 + 2 + 4 + 8 + 16) ms at the earliest, however often it is called.
TEST_F(GreedyServers, ThatSayHelloAndLeaveAreMetLessAndLessOftenByAPoolToo) {
  constexpr int kConnections = 6;
  ServerOfBytes server{kConnections, [](HostilePeer& peer) { peer.reset(); }};
  ConnectionPool pool{loop(), PoolOptions{.client = {.connect = server.url(), .logger = &logger()}}};
  const auto begun = std::chrono::steady_clock::now();
  while (server.served() < kConnections) {
    EXPECT_FALSE(wait_for(pool.start<&add>(CallOptions{.timeout = 500ms}, 1, 2)).ok());
  }
  EXPECT_GT(std::chrono::steady_clock::now() - begun, 200ms);
  pool.close();
}

}  // namespace
}  // namespace weft::faults::greedy_server_tests
