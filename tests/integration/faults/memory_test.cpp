// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources and load": the system has no memory for one allocation, whichever it is.
#include <mutex>
#include <new>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/heap_count.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::faults::memory_tests {
namespace {

/// Runs on the server's only loop, so that the allocations of its thread are what fails.
struct Memory {
  Event open;

  void fail(std::uint32_t countdown) { fail_allocation(countdown); }
  /// Tells whether all went well although the countdown was on.
  bool end() {
    const bool unused = allocation_still_to_fail();
    fail_allocation(0);
    open.set();
    open.reset();
    return unused;
  }
  std::string produce(std::uint32_t bytes) { return std::string(bytes, 'p'); }
  std::uint32_t fail_on_worker(std::uint32_t countdown) {
    fail_allocation(countdown);
    return countdown;
  }
  void reply_later(Reply<int> reply) {
    const std::lock_guard lock(mutex);
    replies.push_back(std::move(reply));
  }
  std::mutex mutex;
  std::vector<Reply<int>> replies;
  Task<std::size_t> hold(std::string_view text) {
    [[maybe_unused]] const Result<void> passed = co_await open.wait();
    co_return text.size();
  }
};

class OutOfMemory : public FaultTest {
 protected:
  const testing::MallocsFailToo each_kind_;
  Server& serve_all(ServerOptions options = {}) {
    return serve(std::move(options), [this](Server& server) {
      server.register_handler<&Memory::fail>(&memory_);
      server.register_handler<&Memory::end>(&memory_);
      server.register_handler<&Memory::hold>(&memory_);
      server.register_handler<&Memory::produce>(&memory_);
      server.register_handler<&Memory::fail_on_worker>(&memory_, {.blocking = true});
      server.register_handler<&Memory::reply_later>(&memory_);
    });
  }
  /// One allocation fails while `requests`, of which there are `count`, are taken: each is answered, or their
  /// connection ends. True when there was an allocation to fail. `held` ones are answered at the end only.
  bool fails_well(Server& server, std::uint32_t countdown, const std::string& requests, std::size_t count,
                  bool held) {
    HostilePeer peer{server.urls().front(), 4096};
    peer.send(hello_bytes());
    EXPECT_TRUE(peer.receive_hello());
    HostilePeer other{server.urls().front()};
    other.send(hello_bytes());
    EXPECT_TRUE(other.receive_hello());
    const std::uint64_t before = server.stats().calls;
    peer.send(request_bytes<&Memory::fail>(1, countdown) + requests);
    std::size_t answers = 0;
    const auto read = [&] {
      while (answers < count + 1 && peer.receive_frame()) ++answers;
    };
    if (!held) read();
    EXPECT_TRUE(eventually([&] {
      const ServerStats stats = server.stats();
      return stats.calls == before + count + 1 || stats.connections == 1;
    })) << "allocation "
        << countdown;
    other.send(request_bytes<&Memory::end>(1));
    const auto ended = other.receive_frame();
    EXPECT_TRUE(ended) << "another connection is served, allocation " << countdown;
    read();
    if (answers < count + 1) {
      EXPECT_TRUE(peer.closed_by_other_side()) << "allocation " << countdown;
    }
    return ended && ended->body == body_of(false);
  }
  Memory memory_;
};

TEST_F(OutOfMemory, StatisticsOfAServerThrowOrAreWholeAndThoseOfAClientNeedNone) {
  if (!kHeapIsCounted) GTEST_SKIP() << "this build cannot make an allocation fail";
  Server& server = serve_all();
  std::uint32_t failed = 0;
  for (bool all_there = false; !all_there; failed += all_there ? 0 : 1) {
    fail_allocation(failed + 1);
    bool thrown = false;
    try {
      EXPECT_EQ(server.stats().methods.size(), 7u);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    all_there = allocation_still_to_fail();
    fail_allocation(0);
    EXPECT_NE(thrown, all_there);
  }
  EXPECT_GT(failed, 0u);
  EXPECT_EQ(server.stats().methods.size(), 7u);
  Client& caller = client(server.urls().front());
  static_assert(noexcept(caller.stats()));
  fail_allocation(1);
  EXPECT_EQ(caller.stats().calls, 0u);
  EXPECT_TRUE(allocation_still_to_fail());
  fail_allocation(0);
}

TEST_F(OutOfMemory, ForOneAllocationOfACallCostsThatCallOrItsConnectionOnly) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  Server& server = serve_all();
  const std::string text(5000, 't');  // larger than what the frame pool keeps
  std::string requests;
  constexpr std::size_t kCalls = 40;
  for (std::uint64_t id = 2; id < 2 + kCalls; ++id) requests += request_bytes<&Memory::hold>(id, text);
  std::uint32_t countdown = 1;
  while (fails_well(server, countdown, requests, kCalls, true)) ++countdown;
  std::printf("%u allocations failed, one after the other\n", countdown - 1);
  EXPECT_GT(countdown, kCalls);
  EXPECT_TRUE(at_rest(server));
}

TEST_F(OutOfMemory, ForRequestsThatWaitUntilTheirPeerReadsCostsItsConnectionOnly) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  ServerOptions options;
  options.limits.outbox_high_water = 64 * 1024;
  Server& server = serve_all(std::move(options));
  std::string requests;
  constexpr std::size_t kCalls = 20;
  for (std::uint64_t id = 2; id < 2 + kCalls; ++id) {
    requests += request_bytes<&Memory::produce>(id, std::uint32_t{400'000});
  }
  std::uint32_t countdown = 1;
  while (fails_well(server, countdown, requests, kCalls, false)) ++countdown;
  std::printf("%u allocations failed, one after the other\n", countdown - 1);
  EXPECT_GT(countdown, kCalls);
  EXPECT_TRUE(at_rest(server));
}

TEST_F(OutOfMemory, OnAWorkersThreadLosesNoCall) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  Client& caller = client(serve_all().urls().front());
  for (std::uint32_t countdown = 1; countdown < 5; ++countdown) {
    const auto result = wait_for(caller.start<&Memory::fail_on_worker>(countdown));
    EXPECT_TRUE(result.ok() || result.status().code() == StatusCode::kResourceExhausted) << countdown;
  }
}

TEST_F(OutOfMemory, AReplyThatIsDroppedThenStillAnswers) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  ServerOptions options{.threads = 0, .loop = &loop()};
  Server& server = serve(std::move(options),
                         [this](Server& here) { here.register_handler<&Memory::reply_later>(&memory_); });
  Client& caller = client(server.urls().front());
  Call<int> call = caller.start<&Memory::reply_later>();
  ASSERT_TRUE(turn_until(loop(), [&] { return !memory_.replies.empty(); }));
  loop().post([&] {
    fail_allocation(1);
    memory_.replies.clear();
    fail_allocation(0);
  });
  const Result<int> result = wait_for(std::move(call));
  EXPECT_EQ(result.status().code(), StatusCode::kInternal) << result.status().to_string();
  EXPECT_EQ(result.status().message(), "the server says: the handler dropped its Reply without an answer");
}

TEST_F(OutOfMemory, LeavesAReplyUnusedThatCouldNotBeHandedOver) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  Server& server = serve_all();
  Client& caller = client(server.urls().front());
  for (const std::uint32_t countdown : {1u, 2u}) {
    Call<int> call = caller.start<&Memory::reply_later>();
    ASSERT_TRUE(turn_until(loop(), [&] {
      const std::lock_guard lock(memory_.mutex);
      return !memory_.replies.empty();
    }));
    Reply<int> reply = std::move(memory_.replies.back());
    memory_.replies.clear();
    fail_allocation(countdown);
    EXPECT_THROW(std::move(reply)(7), std::bad_alloc);
    ASSERT_FALSE(reply.used());
    std::move(reply)(8);
    EXPECT_EQ(wait_for(std::move(call)).value(), 8);
  }
}

}  // namespace
}  // namespace weft::faults::memory_tests
