// SPDX-License-Identifier: Apache-2.0
// Faults, part "peers bad in time": those that send too late, stop reading, die, or cancel faster than
// handlers end.
#include <fcntl.h>
#include <sys/wait.h>

#include <csignal>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/heap_count.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/with_scope.hpp"

namespace weft::faults::time_tests {

using namespace weft::detail;
namespace {

using wire::FrameType;

Task<int> until_cancelled(int value) {
  [[maybe_unused]] const auto outcome = co_await sleep_for(1h);
  co_return value;
}

using PeersBadInTime = FaultTest;

TEST_F(PeersBadInTime, OneThatSendsNothingOrBeginsAndDoesNotGetOnIsClosed) {
  ServerOptions options;
  options.limits.hello_timeout = 50ms;
  options.limits.frame_timeout = 50ms;
  Server& server = serve(std::move(options), [](Server& s) {
    s.register_handler<&add>();
    s.register_handler<&attachment_size>();
  });
  wire::FrameHeader attached = request_header<&attachment_size>(1);
  attached.flags = wire::FrameFlags::kAttachment;
  attached.attachment_bytes = 1u << 20;
  const std::string hello = hello_bytes();
  const std::string request = request_bytes<&add>(1, 2, 3);
  const std::string beginnings[] = {"",
                                    hello.substr(0, 1),
                                    hello.substr(0, hello.size() - 1),
                                    hello + request.substr(0, 1),
                                    hello + request.substr(0, request.size() - 1),
                                    hello + header_bytes(attached),
                                    hello + header_bytes(attached) + std::string(5000, 'x')};
  for (const std::string& beginning : beginnings) {
    HostilePeer peer{server.urls().front()};
    ASSERT_TRUE(peer.send(beginning));
    EXPECT_TRUE(peer.closed_by_other_side()) << beginning.size() << " bytes";
  }
  EXPECT_TRUE(at_rest(server));
}

TEST_F(PeersBadInTime, OneThatTricklesAByteNowAndThenGainsNoTimeByIt) {
  ServerOptions options;
  options.limits.hello_timeout = 100ms;
  options.limits.frame_timeout = 100ms;
  Server& server = serve(std::move(options), [](Server& s) { s.register_handler<&add>(); });
  for (const bool in_frame : {false, true}) {
    HostilePeer peer{server.urls().front()};
    wire::FrameHeader header = request_header<&add>(1);
    header.body_bytes = 100'000;
    std::string rest = hello_bytes();
    if (in_frame) {
      ASSERT_TRUE(peer.send(rest));
      ASSERT_TRUE(peer.receive_hello());
      rest = header_bytes(header) + std::string(100'000, 'x');
    } else {
      ASSERT_TRUE(peer.receive_hello());
    }
    std::size_t sent = 0;
    while (sent < rest.size() && !peer.readable_within(10ms) && peer.send({&rest[sent], 1})) ++sent;
    EXPECT_LT(sent, in_frame ? rest.size() : rest.size() - 1);
    EXPECT_TRUE(peer.closed_by_other_side());
  }
}

TEST_F(PeersBadInTime, OneThatTricklesAnAttachmentGivesBackTheMemoryThatItHolds) {
  constexpr std::size_t kAttachment = 1u << 20;
  ServerOptions options;
  options.limits.frame_timeout = 100ms;
  // What the first one holds does not fit beside the second. A connection alone gets eight ninths.
  options.limits.process_memory_max = kAttachment / 8 * 9 + 64 * 1024;
  Server& server = serve(std::move(options), [](Server& s) { s.register_handler<&attachment_size>(); });
  HostilePeer peer{server.urls().front()};
  wire::FrameHeader header = request_header<&attachment_size>(1);
  header.flags = wire::FrameFlags::kAttachment;
  header.attachment_bytes = kAttachment;
  ASSERT_TRUE(peer.send(hello_bytes() + header_bytes(header)));
  ASSERT_TRUE(peer.receive_hello());
  std::size_t sent = kAttachment / 2;
  ASSERT_TRUE(peer.send(std::string(sent, 'x')));
  while (sent < kAttachment && !peer.readable_within(10ms) && peer.send("x")) ++sent;
  EXPECT_LT(sent, kAttachment);
  EXPECT_TRUE(peer.closed_by_other_side());
  const std::string memory(kAttachment, 'm');
  const CallOptions with_attachment{.attachment = as_bytes(memory)};
  const auto size = wait_for(client(server.urls().front()).start<&attachment_size>(with_attachment));
  EXPECT_TRUE(size.ok() && *size == kAttachment) << size.status().to_string();
}

/// Answers of 1 MiB, of every kind of handler.
struct Producer {
  static constexpr std::uint64_t kAnswers = 1024;
  static constexpr std::uint32_t kBytes = 1u << 20;
  static inline std::atomic<std::uint64_t> produced = 0;

  static std::string at_once() {
    ++produced;
    return std::string(kBytes, 'p');
  }
  static Task<std::string> as_coroutine() {
    ++produced;
    co_return std::string(kBytes, 'p');
  }
  static void as_reply(Reply<std::string> reply) {
    ++produced;
    std::move(reply)(std::string(kBytes, 'p'));
  }
};

class PeersThatStopReading : public FaultTest {
 protected:
  /// 1 GiB is asked for, and nothing of it is read.
  template <auto M>
  void expect_bounded() {
    constexpr std::size_t kHighWater = 1u << 20;
    ServerOptions options;
    options.limits.outbox_high_water = kHighWater;
    options.limits.stall_timeout = 300ms;
    Server& server = serve(std::move(options), [](Server& s) {
      s.register_handler<&add>();
      s.register_handler<M>();
    });
    Client& honest = client(server.urls().front());
    ASSERT_TRUE(wait_for(honest.start<&add>(1, 1)).ok());
    Producer::produced = 0;
    const std::size_t before = heap_bytes();
    restart_heap_peak();
    HostilePeer deaf{server.urls().front(), 4096};
    std::string requests = hello_bytes();
    for (std::uint64_t id = 1; id <= Producer::kAnswers; ++id) requests += request_bytes<M>(id);
    ASSERT_TRUE(deaf.send(requests));
    ASSERT_TRUE(deaf.receive_hello());
    ASSERT_TRUE(eventually([&] { return server.stats().connections == 2; }));
    int served = 0;
    while (server.stats().connections > 1) {
      const Result<int> sum = wait_for(honest.start<&add>(served, 1));
      ASSERT_TRUE(sum.ok()) << sum.status().to_string();
      ++served;
    }
    EXPECT_GT(served, 0);
    std::printf("%llu of %llu MiB produced, a peak of %zu KiB\n",
                static_cast<unsigned long long>(Producer::produced),
                static_cast<unsigned long long>(Producer::kAnswers), (heap_peak_bytes() - before) / 1024);
    EXPECT_LT(Producer::produced, 64u) << "who produces is to wait for who does not read";
    if (kHeapIsCounted) {
      // The queue, the answer that took it over its mark, and the value, moved once, that was encoded.
      EXPECT_LE(heap_peak_bytes() - before, kHighWater + 4 * Producer::kBytes);
    }
    EXPECT_TRUE(eventually([&] { return server.stats().calls_running == 0; }));
    if (kHeapIsCounted) {
      EXPECT_TRUE(eventually([&] { return heap_bytes() <= before + (1u << 20); })) << heap_bytes() - before;
    }
  }
};

TEST_F(PeersThatStopReading, WhileOrdinaryHandlersProduceAGigabyteAreBoundedAndEnded) {
  expect_bounded<&Producer::at_once>();
}
TEST_F(PeersThatStopReading, WhileCoroutinesProduceAGigabyteAreBoundedAndEnded) {
  expect_bounded<&Producer::as_coroutine>();
}
TEST_F(PeersThatStopReading, WhileRepliesOfAGigabyteAreGivenAreBoundedAndEnded) {
  expect_bounded<&Producer::as_reply>();
}

void report_milliseconds(const char* what, std::chrono::steady_clock::duration time) {
  std::printf("%s after %lld ms\n", what,
              static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()));
}

/// Forks a server that tells where it listens through a pipe, and when `kCalls` handlers run.
struct ServerProcess {
  static constexpr int kCalls = 10'000;
  static inline int told = -1;
  static inline int begun = 0;

  static Task<int> hang(int value) {
    if (++begun == kCalls && ::write(told, "!", 1) != 1) std::abort();
    [[maybe_unused]] const auto outcome = co_await sleep_for(1h);
    co_return value;
  }

  ServerProcess() {
    int ends[2];
    if (::pipe(ends) != 0) return;
    from_child = ends[0];
    pid = ::fork();
    if (pid == 0) serve(ends[1]);
    ::close(ends[1]);
    char byte = 0;
    while (::read(from_child, &byte, 1) == 1 && byte != '\n') url.push_back(byte);
  }
  ~ServerProcess() {
    kill();
    ::close(from_child);
  }
  bool all_begun() const {
    char byte = 0;
    return ::read(from_child, &byte, 1) == 1;
  }
  void kill() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(std::exchange(pid, -1), nullptr, 0);
  }

  [[noreturn]] static void serve(int to_parent) {
    told = to_parent;
    std::unique_ptr<Loop> loop = Loop::create().value();
    ServerOptions options;
    options.listen = {kAnyPort};
    options.threads = 0;
    options.loop = loop.get();
    Server server{std::move(options)};
    server.register_handler<&hang>();
    if (!server.start().ok()) std::_Exit(1);
    const std::string line = server.urls().front() + "\n";
    if (::write(to_parent, line.data(), line.size()) < 0) std::_Exit(1);
    loop->run();
    std::_Exit(0);
  }

  pid_t pid = -1;
  int from_child = -1;
  std::string url;
};

TEST_F(PeersBadInTime, KillingAServerProcessWithTenThousandCallsInFlightFailsEachOnce) {
  ServerProcess server;
  ASSERT_FALSE(server.url.empty());
  Client& caller = client(server.url);
  Tally tally;
  Scope scope;
  for (int i = 0; i < ServerProcess::kCalls; ++i) {
    scope.spawn(&count_end<int>, caller.start<&ServerProcess::hang>(i), i, &tally);
  }
  std::chrono::steady_clock::time_point killed;
  std::thread killer{[&] {
    EXPECT_TRUE(server.all_begun());
    killed = std::chrono::steady_clock::now();
    server.kill();
  }};
  loop().block_on(join(scope));
  const auto all_ended = std::chrono::steady_clock::now();
  killer.join();
  report_milliseconds("all calls had failed", all_ended - killed);
  EXPECT_EQ(tally.ended, ServerProcess::kCalls);
  EXPECT_EQ(tally.unavailable, ServerProcess::kCalls);
  EXPECT_EQ(caller.stats().calls_in_flight, 0u);
}

/// Handlers that wait for their cancel and note it.
struct Cancellable {
  std::atomic<int> begun = 0;
  std::atomic<int> cancelled = 0;

  Task<int> hang(int value) {
    ++begun;
    const auto outcome = co_await sleep_for(1h);
    if (!outcome.ok()) ++cancelled;
    co_return value;
  }
};

/// Forks a client that makes ten thousand calls once it was told of whom.
struct ClientProcess {
  static constexpr int kCalls = 10'000;

  ClientProcess() {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid = ::fork();
    if (pid == 0) {
      ::close(ends[1]);
      call(ends[0]);
    }
    ::close(ends[0]);
    to_child = ends[1];
  }
  ~ClientProcess() { kill(); }
  void begin(const std::string& url) {
    const std::string line = url + "\n";
    EXPECT_EQ(::write(to_child, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    ::close(to_child);
  }
  void kill() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(std::exchange(pid, -1), nullptr, 0);
  }
  [[noreturn]] static void call(int from_parent) {
    std::string url;
    char byte = 0;
    while (::read(from_parent, &byte, 1) == 1 && byte != '\n') url.push_back(byte);
    if (byte != '\n') std::_Exit(1);
    std::unique_ptr<Loop> loop = Loop::create().value();
    Client caller{*loop, ClientOptions{.connect = url}};
    std::vector<Call<int>> calls;
    for (int i = 0; i < kCalls; ++i) calls.push_back(caller.start<&Cancellable::hang>(i));
    loop->run();
    std::_Exit(0);
  }

  pid_t pid = -1;
  int to_child = -1;
};

TEST_F(PeersBadInTime, KillingAClientProcessWithTenThousandCallsInFlightCancelsEachHandlerOnce) {
  ClientProcess process;
  Cancellable handlers;
  Server& server = serve(ServerOptions{}, [&](Server& s) {
    s.register_handler<&add>();
    s.register_handler<&Cancellable::hang>(&handlers);
  });
  Client& honest = client(server.urls().front());
  ASSERT_TRUE(wait_for(honest.start<&add>(1, 1)).ok());
  const std::size_t before = heap_bytes();
  process.begin(server.urls().front());
  ASSERT_TRUE(eventually([&] { return handlers.begun == ClientProcess::kCalls; }));
  EXPECT_TRUE(wait_for(honest.start<&add>(1, 1)).ok());
  const auto killed = std::chrono::steady_clock::now();
  process.kill();
  ASSERT_TRUE(eventually([&] { return server.stats().calls_running == 0; }));
  report_milliseconds("all handlers had ended", std::chrono::steady_clock::now() - killed);
  EXPECT_EQ(handlers.cancelled, ClientProcess::kCalls);
  EXPECT_EQ(handlers.begun, ClientProcess::kCalls);
  EXPECT_TRUE(eventually([&] { return server.stats().connections == 1; }));
  if (kHeapIsCounted) {  // but for what the server's thread keeps for later: frames, and chunks
    EXPECT_TRUE(eventually([&] { return heap_bytes() <= before + (13u << 20); })) << heap_bytes() - before;
  }
  EXPECT_TRUE(wait_for(honest.start<&add>(1, 1)).ok());
}

TEST_F(PeersBadInTime, AServerRestartedWhileAClientIdlesCostsNoCall) {
  const auto fill = [](Server& s) { s.register_handler<&add>(); };
  Server& first = serve(ServerOptions{}, fill);
  const std::string url = first.urls().front();
  Client& caller = client(url);
  ASSERT_TRUE(wait_for(caller.start<&add>(1, 2)).ok());
  first.stop(0ms);
  first.wait();
  ServerOptions again;
  again.listen = {url};
  serve(std::move(again), fill);
  const Result<int> result = loop().block_on([](Client& c) -> Task<Result<int>> {
    Result<int> sum = co_await c.call<&add>(2, 3);
    co_return sum;
  }(caller));
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(*result, 5);
  EXPECT_EQ(caller.stats().connections, 2u);
}

/// Handlers that do not care whether anybody still waits for them, until they are let go.
struct Stubborn {
  static constexpr std::uint32_t kAtOnce = 1000;
  Event let_go;
  std::atomic<std::uint32_t> running = 0;
  std::atomic<std::uint32_t> most = 0;

  Task<void> ignore_everything() {
    most = std::max(most.load(), ++running);
    co_await with_scope(deaf, wait_for(&let_go));  // no cancel of the call gets there
    --running;
  }
  void release() { let_go.set(); }

  static Task<void> wait_for(Event* event) { [[maybe_unused]] const auto outcome = co_await event->wait(); }

  CancelScope deaf;
};

TEST_F(PeersBadInTime, AMillionRapidResetsKeepHandlersUnderTheLimitAndMemoryBounded) {
  constexpr std::uint64_t kPairs = kHeapIsCounted ? 1'000'000 : 100'000;  // a sanitizer is slow
  constexpr std::uint64_t kAtATime = 1000;
  Stubborn stubborn;
  ServerOptions options;
  options.limits.calls_in_flight_max = Stubborn::kAtOnce;
  options.limits.outbox_high_water = 1u << 20;
  Server& server = serve(std::move(options), [&](Server& s) {
    s.register_handler<&add>();
    s.register_handler<&Stubborn::ignore_everything>(&stubborn);
    s.register_handler<&Stubborn::release>(&stubborn);
  });
  Client& honest = client(server.urls().front());
  ASSERT_TRUE(wait_for(honest.start<&add>(1, 2)).ok());
  const std::size_t before = heap_bytes();
  restart_heap_peak();
  HostilePeer peer{server.urls().front()};
  ASSERT_TRUE(peer.send(hello_bytes()));
  ASSERT_TRUE(peer.receive_hello());
  std::thread writer{[&] {
    std::string pairs;
    for (std::uint64_t id = 1; id <= kPairs; ++id) {
      pairs += frame_bytes(request_header<&Stubborn::ignore_everything>(id));
      pairs += control_bytes(FrameType::kCancel, id);
      if (id % kAtATime != 0) continue;
      EXPECT_TRUE(peer.send(pairs));
      pairs.clear();
    }
  }};
  std::uint64_t refused = 0;
  std::uint64_t otherwise = 0;
  while (refused + otherwise < kPairs - Stubborn::kAtOnce) {
    const auto answer = peer.receive_frame();
    if (!answer) break;
    if (answer->header.type == FrameType::kPing)
      continue;  // on a slow machine this takes longer than an interval
    const auto code = static_cast<StatusCode>(wire::AnswerView{answer->header}.code());
    ++(code == StatusCode::kResourceExhausted ? refused : otherwise);
    if (refused % 100'000 == 0) {
      EXPECT_TRUE(wait_for(honest.start<&add>(1, 2)).ok());
    }
  }
  writer.join();
  EXPECT_EQ(refused, kPairs - Stubborn::kAtOnce);
  EXPECT_EQ(otherwise, 0u);
  EXPECT_EQ(server.stats().calls_refused, refused);
  EXPECT_EQ(stubborn.most, Stubborn::kAtOnce);
  EXPECT_EQ(server.stats().calls_running, Stubborn::kAtOnce);
  std::printf("a peak of %zu KiB\n", (heap_peak_bytes() - before) / 1024);
  if (kHeapIsCounted) {
    // 2 KiB for each handler that runs, the queue of answers, and what is received and sent at a time.
    EXPECT_LE(heap_peak_bytes() - before, Stubborn::kAtOnce * 2048u + (1u << 20) + (2u << 20));
  }
  ASSERT_TRUE(wait_for(honest.start<&Stubborn::release>()).ok());
  EXPECT_TRUE(eventually([&] { return stubborn.running == 0 && server.stats().calls_running == 0; }));
}

TEST_F(PeersBadInTime, AServerThatFallsSilentIsNoticedByItsClientsPing) {
  HostileListener listener;
  bool pinged = false;
  std::thread server{[&] {
    HostilePeer peer = listener.accept();
    peer.send(hello_bytes());
    peer.receive_hello();
    while (const auto frame = peer.receive_frame()) pinged = pinged || frame->header.type == FrameType::kPing;
  }};
  ClientOptions options;
  options.limits.ping_interval = 30ms;
  Client& caller = client(listener.url(), options);
  const Result<int> result = wait_for(caller.start<&add>(1, 2));
  EXPECT_EQ(result.status().code(), StatusCode::kUnavailable) << result.status().to_string();
  EXPECT_EQ(result.status().retry(), Retry::kReconnect);
  caller.close();
  server.join();
  EXPECT_TRUE(pinged);
}

TEST_F(PeersBadInTime, AClientThatFallsSilentIsNoticedByItsServersPing) {
  ServerOptions options;
  options.limits.ping_interval = 30ms;
  Server& server = serve(std::move(options), [](Server& s) { s.register_handler<&until_cancelled>(); });
  HostilePeer peer{server.urls().front()};
  peer.send(hello_bytes() + request_bytes<&until_cancelled>(1, 1));
  ASSERT_TRUE(peer.receive_hello());
  const auto ping = peer.receive_frame();
  ASSERT_TRUE(ping);
  EXPECT_EQ(ping->header.type, FrameType::kPing);
  EXPECT_TRUE(peer.closed_by_other_side());
  EXPECT_TRUE(at_rest(server));
}

class SilentPeers : public StillFaultTest {
 protected:
  SilentPeers() { servers_ping_interval_ = 10s; }
};

TEST_F(SilentPeers, AreGivenUpTwoPingIntervalsAfterTheirLastByteWheneverThatCame) {
  Server& server = serve({}, [](Server& s) { s.register_handler<&add>(); });
  for (const Duration spoke_after : {Duration{0s}, Duration{1ms}, Duration{5s}, Duration{9'999ms}}) {
    HostilePeer peer{server.urls().front()};
    ASSERT_TRUE(peer.send(hello_bytes()));
    ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 1; }));
    pass(spoke_after);
    const std::uint64_t calls = server.stats().calls;
    ASSERT_TRUE(peer.send(request_bytes<&add>(1, 2, 3)));
    ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls > calls; }));
    pass(20s - 1ms);
    EXPECT_EQ(server.stats().connections, 1u);
    pass(2ms);
    EXPECT_EQ(server.stats().connections, 0u);
  }
}

}  // namespace
}  // namespace weft::faults::time_tests
