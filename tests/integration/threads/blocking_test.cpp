// SPDX-License-Identifier: Apache-2.0
// CR-21: calls that block the thread which makes them, from threads that have no loop.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>

#include "integration/threads/threads_testing.hpp"
#include "support/heap_count.hpp"

namespace weft {

/// Holds a text and throws when it is moved, if it was told to.
struct ThrowsWhenMoved {
  ThrowsWhenMoved() = default;
  explicit ThrowsWhenMoved(std::string its) : text(std::move(its)) {}
  ThrowsWhenMoved(const ThrowsWhenMoved&) = default;
  ThrowsWhenMoved(ThrowsWhenMoved&& other) : text(std::move(other.text)) {
    if (text == "throw") throw std::runtime_error("moved");
  }
  ThrowsWhenMoved& operator=(const ThrowsWhenMoved&) = default;
  std::string text;
};

template <>
struct CodecTraits<ThrowsWhenMoved> {
  using Wire = std::string;
  static Wire to_wire(const ThrowsWhenMoved& value) { return value.text; }
  static bool from_wire(const Wire& text, ThrowsWhenMoved& value) {
    value.text = text;
    return true;
  }
};

}  // namespace weft

namespace weft::testing::blocking_tests {
namespace {

ThrowsWhenMoved thrower(std::string_view text) {
  ThrowsWhenMoved value;
  value.text = text;
  return value;
}

/// An argument whose encoding throws.
struct Unwilling {
  int number = 0;
};
int take_unwilling(Unwilling value) {
  return value.number;
}

}  // namespace
}  // namespace weft::testing::blocking_tests

template <>
struct weft::CodecTraits<weft::testing::blocking_tests::Unwilling> {
  using Wire = int;
  static Wire to_wire(const weft::testing::blocking_tests::Unwilling&) {
    throw std::runtime_error("unwilling");
  }
  static bool from_wire(int number, weft::testing::blocking_tests::Unwilling& value) {
    value.number = number;
    return true;
  }
};

namespace weft::testing::blocking_tests {
namespace {

class Blocking : public ::testing::Test {
 protected:
  Served served;
};

TEST_F(Blocking, AClientWithoutALoopIsThreeLines) {
  BlockingClient client{{.connect = served.url()}};
  auto answer = client.call<echoed>("hello");
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(*answer, "hello");
  EXPECT_EQ(client.call<add>(1, 2).value(), 3);
  EXPECT_TRUE(client.call<nothing>().ok());
}

TEST_F(Blocking, AClientServesItsServerOnItsOwnThread) {
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler("ask_back", [](CallContext& context, int number) -> Task<Result<int>> {
    Peer peer = context.peer();
    Result<int> sum = co_await peer.call<add>(number, 1);
    if (!sum.ok()) co_return sum;
    Result<int> noted = co_await peer.call<remote<"note", int(int)>>(*sum);
    co_return noted;
  });
  server.start().value();
  std::thread::id served_by;
  {
    BlockingClient client{{.connect = server.urls().front()}};
    client.register_handler<add>();
    client.register_handler("note", [&served_by](int number) {
      served_by = std::this_thread::get_id();
      return 10 * number;
    });
    auto asked = client.call<remote<"ask_back", int(int)>>(4);
    ASSERT_TRUE(asked.ok()) << asked.status().to_string();
    EXPECT_EQ(*asked, 50);
  }
  EXPECT_NE(served_by, std::thread::id{});
  EXPECT_NE(served_by, std::this_thread::get_id());
  BlockingClient without{{.connect = server.urls().front()}, LoopThreadOptions{.cpu = 1'000'000}};
  without.register_handler<add>();
  EXPECT_FALSE((without.call<remote<"ask_back", int(int)>>(4).ok()));
}

// The thread that drops a Reply has its loop give the record back, which may just be stopping.
TEST_F(Blocking, AClientEndsBehindTheRepliesThatWereDroppedBeforeIt) {
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler("ask_back", [](CallContext& context) -> Task<int> {
    Peer peer = context.peer();
    const auto left = peer.start<remote<"later", int()>>();  // and given up
    co_return 0;
  });
  server.start().value();
  for (int round = 0; round < 50; ++round) {
    std::promise<Reply<int>> passed_on;
    BlockingClient client{{.connect = server.urls().front()}};
    client.register_handler("later",
                            [&passed_on](Reply<int> reply) { passed_on.set_value(std::move(reply)); });
    ASSERT_TRUE((client.call<remote<"ask_back", int()>>().ok()));
    auto reply = std::make_unique<Reply<int>>(passed_on.get_future().get());
    if (round % 2 == 0) std::move (*reply)(round);
    reply.reset();
  }
}

TEST_F(Blocking, AnyThreadCallsThroughTheClientOfAnyLoop) {
  RemoteLoop remote{served.url()};
  BlockingCaller caller = blocking(remote.client());
  EXPECT_EQ(caller.call<echoed>(std::string(100'000, 'x')).value().size(), 100'000u);
  constexpr int kThreads = 200;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        if (blocking(remote.client()).call<add>(t, i).value() == t + i) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads * 10);
}

TEST_F(Blocking, SeveralCallsAreUnderWayAtOnceAndADroppedOneIsCancelled) {
  BlockingClient client{{.connect = served.url()}};
  std::vector<BlockingCall<int>> calls;
  for (int i = 0; i < 100; ++i) calls.push_back(client.start<add>(i, i));
  auto silent = std::optional{client.start<&Silence::ask>()};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(calls[static_cast<std::size_t>(i)].wait().value(), 2 * i);
  silent.reset();
  auto cancelled = client.start<&Silence::ask>();
  cancelled.cancel();
  EXPECT_EQ(cancelled.wait().status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(client.call<nothing>().ok());
}

TEST_F(Blocking, ACallEndsAtItsDeadline) {
  BlockingClient client{{.connect = served.url(), .call_timeout = 20ms}};
  EXPECT_EQ(client.call<&Silence::ask>().status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(client.call<&Silence::ask>({.timeout = 10ms}).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(client.call<add>({.timeout = -1ms}, 1, 2).status().code(), StatusCode::kDeadlineExceeded);
  const CallOptions passed{.deadline = Deadline{std::chrono::steady_clock::now()}};
  EXPECT_EQ(client.call<add>(passed, 1, 2).status().code(), StatusCode::kDeadlineExceeded);
  const CallOptions timed{.timeout = 1min};
  const std::int64_t left = client.call<time_left>(timed).value();
  EXPECT_GT(left, 0);
  EXPECT_LE(left, 60'000);
}

TEST_F(Blocking, AServerThatIsNotThereIsAStatus) {
  BlockingClient client{{.connect = "tcp://127.0.0.1:1"}};
  const Status status = client.call<add>(1, 2).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(status.unprocessed());
}

TEST_F(Blocking, AThreadThatCannotBeMadeIsTheFailureOfEachCall) {
  BlockingClient client{{.connect = served.url()}, LoopThreadOptions{.cpu = 1'000'000}};
  EXPECT_EQ(client.call<add>(1, 2).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(Blocking, AttachmentsGoBothWays) {
  BlockingClient client{{.connect = served.url()}};
  const std::vector<std::byte> sent = pattern(300'000);
  const CallOptions options{.attachment = Bytes{sent}};
  auto answer = client.call_with_attachment<with_attachment>(options);
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->value, sent.size());
  ASSERT_EQ(answer->attachment.size(), sent.size());
  EXPECT_EQ(std::memcmp(answer->attachment.data(), sent.data(), sent.size()), 0);
  std::vector<std::byte> landed(sent.size());
  CallOptions landing = options;
  landing.landing = MutableBytes{landed};
  EXPECT_EQ(client.call<with_attachment>(landing).value(), sent.size());
  EXPECT_EQ(landed, sent);
}

TEST_F(Blocking, AStopTokenEndsTheCall) {
  BlockingClient client{{.connect = served.url()}};
  std::stop_source stop;
  std::thread stopper{[&] {
    served.silence.await(1);
    stop.request_stop();
  }};
  EXPECT_EQ(blocking(client, stop.get_token()).call<&Silence::ask>().status().code(), StatusCode::kCancelled);
  stopper.join();
  EXPECT_EQ(blocking(client, stop.get_token()).call<&Silence::ask>().status().code(), StatusCode::kCancelled);
  // Nor does it depend on how quick the answer is.
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(blocking(client, stop.get_token()).call<add>(1, i).status().code(), StatusCode::kCancelled);
  }
  // A call that has memory of the caller's waits until the loop has ended it.
  std::stop_source second;
  std::thread second_stopper{[&] {
    served.silence.await(2);
    second.request_stop();
  }};
  std::vector<std::byte> landed(100);
  CallOptions options;
  options.landing = MutableBytes{landed};
  options.timeout = kNoTimeout;
  EXPECT_EQ(blocking(client, second.get_token()).call<&Silence::ask>(options).status().code(),
            StatusCode::kCancelled);
  second_stopper.join();
}

TEST_F(Blocking, ThreadsThatWaitAreToldWhenTheLoopIsStopped) {
  RemoteLoop remote{served.url(), {.call_timeout = kNoTimeout}};
  constexpr int kThreads = 20;
  std::atomic<int> told{0};
  std::vector<std::thread> threads;
  std::vector<std::byte> sent(1 << 20);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      CallOptions options;
      if (t % 2 == 0) options.attachment = Bytes{sent};
      auto answer = blocking(remote.client()).call<&Silence::ask>(options);
      if (answer.status().code() == StatusCode::kCancelled) ++told;
    });
  }
  served.silence.await(kThreads);
  remote.stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, kThreads);
  const Status late = blocking(remote.client()).call<add>(1, 2).status();
  EXPECT_EQ(late.code(), StatusCode::kCancelled);
  EXPECT_THAT(late.to_string(), ::testing::HasSubstr("loop was stopped"));
  EXPECT_TRUE(late.unprocessed());
}

TEST_F(Blocking, ThreadsThatCallWhileTheLoopStopsAreAllTold) {
  for (int round = 0; round < 20; ++round) {
    RemoteLoop remote{served.url(), {.call_timeout = kNoTimeout}};
    std::latch called{4};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        BlockingCaller caller = blocking(remote.client());
        bool first = true;
        for (;;) {
          const Status status = caller.call<add>(1, 2).status();
          if (std::exchange(first, false)) called.count_down();
          if (status.code() == StatusCode::kCancelled) return;
          EXPECT_TRUE(status.ok()) << status.to_string();
        }
      });
    }
    called.wait();
    remote.stop();
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(Blocking, ACallerMayOutliveItsClient) {
  RemoteLoop remote{served.url(), {.call_timeout = kNoTimeout}};
  BlockingCaller caller = blocking(remote.client());
  auto waiting = caller.start<&Silence::ask>();
  served.silence.await(1);
  remote.end_client();
  EXPECT_EQ(waiting.wait().status().code(), StatusCode::kCancelled);
  const Status late = caller.call<add>(1, 2).status();
  EXPECT_EQ(late.code(), StatusCode::kCancelled);
  EXPECT_THAT(late.to_string(), ::testing::HasSubstr("client has ended"));
}

TEST_F(Blocking, ACallerMayOutliveItsLoop) {
  std::optional<BlockingCaller> caller;
  std::optional<BlockingCall<int>> waiting;
  {
    BlockingClient client{{.connect = served.url(), .call_timeout = kNoTimeout}};
    caller = blocking(client);
    waiting.emplace(caller->start<&Silence::ask>());
    served.silence.await(1);
  }
  EXPECT_EQ(waiting->wait().status().code(), StatusCode::kCancelled);
  EXPECT_EQ(caller->call<add>(1, 2).status().code(), StatusCode::kCancelled);
}

TEST_F(Blocking, AClientThatEndsBetweenTheTurnsOfItsLoopEndsItsCalls) {
  auto loop = Loop::create().value();
  auto client =
      std::make_unique<Client>(*loop, ClientOptions{.connect = served.url(), .call_timeout = kNoTimeout});
  auto waiting = blocking(*client).start<&Silence::ask>();
  while (served.silence.asked == 0) loop->run_once(10ms);
  client.reset();
  EXPECT_EQ(waiting.wait().status().code(), StatusCode::kCancelled);
}

TEST_F(Blocking, ALoopThatRunsAgainTakesCallsAgain) {
  auto loop = Loop::create().value();
  Client client{*loop, {.connect = served.url()}};
  for (int round = 0; round < 3; ++round) {
    std::thread caller;
    // A call that came before the loop runs again would be told that it was stopped.
    loop->post([&] {
      caller = std::thread{[&] {
        EXPECT_EQ(blocking(client).call<add>(round, 1).value(), round + 1);
        loop->stop();
      }};
    });
    loop->run();
    caller.join();
  }
}

TEST_F(Blocking, ALoopThatNobodyTurnsDoesNotHoldACallForLong) {
  auto loop = Loop::create().value();
  Client client{*loop, {.connect = served.url(), .call_timeout = 1ms}};
  const Status status = blocking(client).call<add>(1, 2).status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.to_string(), ::testing::HasSubstr("does not turn"));
}

Task<Status> call_blocking(Client& client) {
  co_return blocking(client).call<add>(1, 2).status();
}

TEST_F(Blocking, AThreadThatWouldWaitForItselfIsTold) {
  auto loop = Loop::create().value();
  Client client{*loop, {.connect = served.url()}};
  const Status inside = loop->block_on(call_blocking(client));
  EXPECT_EQ(inside.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(inside.to_string(), ::testing::HasSubstr("on_loop_of"));
  // A loop inside a foreign one belongs to that thread between its turns too.
  loop->descriptor();
  loop->run_once(Duration::zero());
  const Status between = blocking(client).call<add>(1, 2).status();
  EXPECT_EQ(between.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(between.to_string(), ::testing::HasSubstr("block_on"));
}

TEST_F(Blocking, AResultThatThrowsWhenItIsMovedThrowsAtItsCaller) {
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<thrower>();
  server.start().value();
  BlockingClient client{{.connect = server.urls().front()}};
  EXPECT_THROW(static_cast<void>(client.call<thrower>("throw")), std::runtime_error);
  EXPECT_EQ(client.call<thrower>("fine").value().text, "fine");
}

TEST_F(Blocking, AnArgumentThatThrowsIsAStatus) {
  BlockingClient client{{.connect = served.url()}};
  const Status status = client.call<take_unwilling>(Unwilling{}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(status.unprocessed());
  EXPECT_TRUE(client.call<nothing>().ok());
}

TEST_F(Blocking, AnAllocationThatFailsEndsTheCallAndNothingElse) {
  if (!kHeapIsCounted) GTEST_SKIP() << "a sanitizer allocates";
  const MallocsFailToo each_kind;
  BlockingClient client{{.connect = served.url()}};
  const std::string text(1000, 'x');
  ASSERT_TRUE(client.call<echoed>(text).ok());
  for (std::size_t nth = 1;; ++nth) {
    fail_allocation(nth);
    Status status;
    bool threw = false;
    try {
      status = client.call<echoed>(text).status();
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    const bool unused = allocation_still_to_fail();
    fail_allocation(0);
    EXPECT_FALSE(threw) << nth;
    if (unused) {
      EXPECT_TRUE(status.ok()) << status.to_string();
      break;
    }
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << nth;
  }
  EXPECT_EQ(client.call<echoed>(text).value(), text);
}

// Wherever it fails, on this thread, on the loop's or on the server's: the call ends.
TEST_F(Blocking, AnAllocationThatFailsAnywhereEndsTheCallAtMost) {
  if (!kHeapIsCounted) GTEST_SKIP() << "a sanitizer allocates";
  const MallocsFailToo each_kind;
  BlockingClient client{{.connect = served.url()}};
  const std::string text(1000, 'x');
  for (std::size_t nth = 1; nth <= 60; ++nth) {
    fail_allocations_anywhere(nth);
    const Status status = client.call<echoed>({.timeout = 10s}, text).status();
    fail_allocations_anywhere(0);
    EXPECT_NE(status.code(), StatusCode::kDeadlineExceeded) << nth;
  }
  EXPECT_EQ(client.call<echoed>(text).value(), text);
}

TEST_F(Blocking, ACallAllocatesOneRecord) {
  if (!kHeapIsCounted) GTEST_SKIP() << "a sanitizer allocates";
  BlockingClient client{{.connect = served.url()}};
  for (int i = 0; i < 100; ++i) client.call<add>(1, 2).value();
  constexpr std::size_t kCalls = 200;
  const std::size_t before = heap_allocations();
  for (std::size_t i = 0; i < kCalls; ++i) client.call<add>(1, 2).value();
  EXPECT_EQ(heap_allocations() - before, kCalls);
}

TEST_F(Blocking, InAChildOfForkItDoesNothing) {
  BlockingClient client{{.connect = served.url()}};
  ASSERT_TRUE(client.call<nothing>().ok());
  const ::pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const StatusCode code = client.call<add>(1, 2).status().code();
    client.~BlockingClient();
    ::_exit(code == StatusCode::kFailedPrecondition ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(client.call<add>(1, 2).value(), 3);
}

TEST_F(Blocking, ThreadsComeAndGoAndCancelAtAnyMoment) {
  RemoteLoop remote{served.url(), {.call_timeout = kNoTimeout}};
  std::atomic<int> wrong{0};
  for (int round = 0; round < 25; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t, round] {
        std::stop_source stop;
        std::thread stopper{[&] {
          for (int i = 0; i < t * 20; ++i) std::this_thread::yield();
          stop.request_stop();
        }};
        BlockingCaller caller = blocking(remote.client(), stop.get_token());
        auto later = caller.start<add>(t, round);
        if (t % 3 == 0) {
          later.cancel();
        } else if (t % 3 == 1) {
          [[maybe_unused]] const auto dropped = std::move(later);
        }
        auto answer = caller.call<echoed>("text");
        if (answer.ok() ? *answer != "text" : answer.status().code() != StatusCode::kCancelled) ++wrong;
        stopper.join();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::testing::blocking_tests
