// SPDX-License-Identifier: Apache-2.0
// Faults, parts "bytes from a peer" and "peers bad in time": what calls keep is counted, and however late an
// answer is made, the queue of a peer that does not read stays under its high-water mark.
#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::faults::late_answer_tests {
namespace {

/// Handlers of each kind whose answers are made later than their requests come. On the test's own loop, but
/// for the blocking one.
struct Late {
  static constexpr std::size_t kAnswerBytes = 256 * 1024;
  std::vector<Reply<std::string>> replies;
  Event open;
  std::atomic<int> produced = 0;
  std::atomic<bool> let_workers = false;

  std::string make() {
    ++produced;
    return std::string(kAnswerBytes, 'a');
  }
  void reply(Reply<std::string> reply) { replies.push_back(std::move(reply)); }
  std::string blocking() {
    let_workers.wait(false);
    return make();
  }
  Task<Result<std::string>> fail() {
    [[maybe_unused]] const Result<void> passed = co_await open.wait();
    ++produced;
    throw std::runtime_error(std::string(kAnswerBytes, 'e'));
  }
  Task<std::size_t> hold(std::string_view text) {
    [[maybe_unused]] const Result<void> passed = co_await open.wait();
    co_return text.size();
  }
};

class LateAnswers : public FaultTest {
 protected:
  static constexpr std::size_t kHighWater = 1u << 20;
  // What the kernel's buffers on both sides may swallow beside our queue.
  static constexpr std::size_t kKernelBytes = 16u << 20;
  static constexpr std::uint64_t kCalls = 200;

  Server& serve_late() {
    ServerOptions options;
    options.threads = 0;
    options.loop = &loop();
    options.limits.outbox_high_water = kHighWater;
    return serve(std::move(options), [this](Server& server) {
      server.register_handler<&add>();
      server.register_handler<&Late::reply>(&late_);
      server.register_handler<&Late::blocking>(&late_, {.blocking = true});
      server.register_handler<&Late::fail>(&late_);
    });
  }
  /// Turns until nothing moves any more.
  void run_until_idle(const Server& server) {
    std::size_t before = 0;
    do {
      before = server.stats().calls_running;
      for (int i = 0; i < 20; ++i) loop().run_once(1ms);
    } while (server.stats().calls_running != before);
  }
  /// Everybody answers while the peer does not read: what does not fit waits in its call. Then it reads.
  template <auto M, typename Answer>
  void expect_bounded(Answer answer_all) {
    Server& server = serve_late();
    HostilePeer peer{server.urls().front(), 32 * 1024};
    std::string requests = hello_bytes();
    for (std::uint64_t id = 1; id <= kCalls; ++id) requests += request_bytes<M>(id);
    ASSERT_TRUE(peer.send(requests));
    ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls == kCalls; }));
    answer_all();
    run_until_idle(server);
    EXPECT_GE(server.stats().calls_running, kCalls - (kHighWater + kKernelBytes) / Late::kAnswerBytes);
    std::atomic<std::uint64_t> received = 0;
    std::thread reader{[&] {
      if (!peer.receive_hello()) return;
      while (received < kCalls && peer.receive_frame()) ++received;
    }};
    EXPECT_TRUE(turn_until(loop(), [&] { return received == kCalls; }));
    reader.join();
    EXPECT_EQ(server.stats().calls_running, 0u);
  }

  Late late_;
};

TEST_F(LateAnswers, OfDelayedRepliesWaitForRoom) {
  expect_bounded<&Late::reply>([&] {
    for (Reply<std::string>& reply : late_.replies) std::move(reply)(late_.make());
    late_.replies.clear();
  });
}

TEST_F(LateAnswers, OfDelayedRepliesThatFailWaitForRoom) {
  expect_bounded<&Late::reply>([&] {
    for (Reply<std::string>& reply : late_.replies) {
      std::move(reply).fail(user_error(1, std::string(Late::kAnswerBytes, 'f')));
    }
    late_.replies.clear();
  });
}

TEST_F(LateAnswers, OfWorkersWaitForRoom) {
  expect_bounded<&Late::blocking>([&] {
    late_.let_workers = true;
    late_.let_workers.notify_all();
    ASSERT_TRUE(eventually([&] { return late_.produced == kCalls; }));
  });
}

TEST_F(LateAnswers, OfCoroutinesThatThrowWaitForRoom) {
  expect_bounded<&Late::fail>([&] { late_.open.set(); });
}

TEST_F(LateAnswers, ThatWaitEndWithTheirConnection) {
  Server& server = serve_late();
  HostilePeer peer{server.urls().front(), 32 * 1024};
  std::string requests = hello_bytes();
  for (std::uint64_t id = 1; id <= kCalls; ++id) requests += request_bytes<&Late::reply>(id);
  ASSERT_TRUE(peer.send(requests));
  ASSERT_TRUE(turn_until(loop(), [&] { return late_.replies.size() == kCalls; }));
  for (Reply<std::string>& reply : late_.replies) std::move(reply)(late_.make());
  late_.replies.clear();
  run_until_idle(server);
  ASSERT_GT(server.stats().calls_running, 0u);
  peer.reset();
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
}

using KeptRequests = FaultTest;

TEST_F(KeptRequests, OfCallsAreChargedToTheMemoryOfTheirConnectionAndOfTheServer) {
  for (const bool per_process : {false, true}) {
    Late late;
    ServerOptions options;
    options.threads = 0;
    options.loop = &loop();
    // Room for two, each with a third more for its chunk at most, and not for three.
    (per_process ? options.limits.process_memory_max : options.limits.connection_memory_max) = 290'000;
    Server& server = serve(std::move(options), [&](Server& s) { s.register_handler<&Late::hold>(&late); });
    Client& caller = client(server.urls().front());
    const std::string large(100'000, 'l');
    std::vector<Call<std::size_t>> calls;
    for (int i = 0; i < 5; ++i) calls.push_back(caller.start<&Late::hold>(large));
    const auto done = [](const Call<std::size_t>& each) { return each.done(); };
    ASSERT_TRUE(turn_until(loop(), [&] { return std::ranges::count_if(calls, done) == 3; }));
    // A request counts while it arrives, too, so it need not be the first two that fit.
    const auto first_refused = std::ranges::find_if(calls, done);
    const Result<std::size_t> refused = wait_for(std::move(*first_refused));
    calls.erase(first_refused);
    EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
    const char* limit = per_process ? "process_memory_max" : "connection_memory_max";
    EXPECT_NE(refused.status().message().find(limit), std::string_view::npos) << refused.status().to_string();
    const RefusalReason why =
        per_process ? RefusalReason::kOverProcessMemory : RefusalReason::kOverConnectionMemory;
    EXPECT_EQ(server.stats().refused[why], 3u);
    Call<std::size_t> small = caller.start<&Late::hold>("small requests are copied, and are not counted");
    late.open.set();
    EXPECT_TRUE(wait_for(std::move(small)).ok());
    for (Call<std::size_t>& call : calls) static_cast<void>(wait_for(std::move(call)));
    EXPECT_EQ(wait_for(caller.start<&Late::hold>(large)).value(), large.size()) << "what was kept is free";
  }
}

}  // namespace
}  // namespace weft::faults::late_answer_tests
