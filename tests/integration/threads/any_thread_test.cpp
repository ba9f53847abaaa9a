// SPDX-License-Identifier: Apache-2.0
// Several threads at once use the public objects that any thread may use. tests/checks/thread_rules.txt names
// these tests.
#include <array>
#include <span>

#include "integration/threads/threads_testing.hpp"
#include "weft/access.hpp"
#include "weft/networks.hpp"

namespace weft::testing::any_thread_tests {
namespace {

/// Runs `work` with a number from 0 to 3 on four threads, which begin together.
template <typename Work>
void on_threads(Work work) {
  std::latch begin{4};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&work, &begin, i] {
      begin.arrive_and_wait();
      work(i);
    });
  }
}

constexpr int kRounds = 200;

TEST(AnyThread, SeesWhetherAnotherRunsALoop) {
  const auto loop = Loop::create().value();
  EXPECT_TRUE(loop->is_used_here());
  std::latch begun{1};
  std::jthread runs{[&] {
    loop->post([&] {
      EXPECT_TRUE(loop->is_used_here());
      begun.count_down();
    });
    loop->run();
  }};
  begun.wait();
  on_threads([&](int) { EXPECT_FALSE(loop->is_used_here()); });
  loop->stop();
  runs.join();
  EXPECT_TRUE(loop->is_used_here());
}

TEST(AnyThread, CopiesAndReadsAStatus) {
  const Status failure{StatusCode::kInternal, Layer::kRpc, "a text that its copies share"};
  on_threads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      const Status copy = failure;
      EXPECT_EQ(copy.message(), failure.message());
    }
  });
}

TEST(AnyThread, CopiesAndReadsAnIdentityAndAPolicy) {
  const Identity caller = Identity::of_token("alice", {"group:operators"});
  const Policy policy = Policy::parse("allow token:alice add").value();
  on_threads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      const Identity copy = caller;
      EXPECT_EQ(copy.subject(), "alice");
      EXPECT_TRUE(policy.allows(copy, "add"));
      EXPECT_FALSE(policy.allows(copy, "remove"));
    }
  });
}

TEST(AnyThread, DestroysABuffer) {
  std::array<std::vector<Buffer>, 4> buffers;
  for (std::vector<Buffer>& part : buffers) {
    for (int round = 0; round < kRounds; ++round)
      part.push_back(Buffer::copy_of(std::as_bytes(std::span{"text"})));
  }
  on_threads([&](int i) { buffers[static_cast<std::size_t>(i)].clear(); });
  for (const std::vector<Buffer>& part : buffers) EXPECT_TRUE(part.empty());
}

TEST(AnyThread, UsesSharedTransports) {
  MemoryNetwork network;
  const Transports transports = make_transports();
  const std::vector<std::string> urls{"tcp://127.0.0.1:1"};
  std::vector<std::byte> memory(4096);
  on_threads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      const Transports copy = transports;
      EXPECT_TRUE(copy.register_memory(urls, memory).ok());
      network.set_options({});
    }
  });
}

inline bool wait_for_the_cancel(CallContext& context) {
  while (!context.cancelled()) std::this_thread::yield();
  return true;
}

// The handler asks on a worker thread, while the loop's thread cancels.
TEST(AnyThread, AsksACallContextWhetherTheCallWasCancelled) {
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1, .worker_threads = 4}};
  server.register_handler<wait_for_the_cancel>({.blocking = true});
  server.start().value();
  BlockingClient client{{.connect = server.urls().front()}};
  on_threads([&](int) {
    auto call = client.start<wait_for_the_cancel>();
    call.cancel();
    EXPECT_EQ(std::move(call).wait().status().code(), StatusCode::kCancelled);
  });
  server.stop(10s);
  server.wait();
  EXPECT_TRUE(server.stopped());
}

// The test's threads hold the replies, and the loop's thread cancels.
TEST(AnyThread, AsksAReplyWhetherTheCallWasCancelled) {
  Served served;
  BlockingClient client{{.connect = served.url()}};
  std::array<std::optional<BlockingCall<int>>, 4> calls;
  for (auto& call : calls) call.emplace(client.start<&Silence::ask>());
  served.silence.await(4);
  std::array<const Reply<int>*, 4> replies{};
  for (std::size_t i = 0; i < replies.size(); ++i) replies[i] = &served.silence.owed(i);
  const auto reply = [&](int i) { return replies[static_cast<std::size_t>(i)]; };
  on_threads([&](int i) { EXPECT_FALSE(reply(i)->cancelled()); });
  std::jthread cancels{[&] {
    for (auto& call : calls) call->cancel();
  }};
  on_threads([&](int i) {
    while (!reply(i)->cancelled()) std::this_thread::yield();
  });
}

TEST(AnyThread, UsesAServer) {
  Served served;
  Server& server = served.server();
  BlockingClient client{{.connect = served.url()}};
  std::vector<std::byte> memory(4096);
  on_threads([&](int) {
    for (int round = 0; round < 20; ++round) {
      EXPECT_EQ(client.call<add>(1, 2).value(), 3);
      EXPECT_FALSE(server.stopped());
      const Peers peers = server.peers();
      EXPECT_EQ(Peers{peers}.count(), 1u);
      EXPECT_TRUE(peers.find("no such tag").empty());
      Result<MemoryLease> lease = server.register_memory(memory);
      ASSERT_TRUE(lease.ok());
      lease->end();
    }
  });
  on_threads([&](int) { server.stop(0s); });
  server.wait();
  on_threads([&](int) { EXPECT_TRUE(server.stopped()); });
}

// The leases share a registration, as the leases of one memory for several transports do.
TEST(AnyThread, EndsAMemoryLease) {
  const auto registration = std::make_shared<const int>(1);
  std::array<MemoryLease, 4> leases;
  for (MemoryLease& lease : leases) {
    for (int round = 0; round < kRounds; ++round) lease.add(registration);
  }
  on_threads([&](int i) {
    MemoryLease lease = std::move(leases[static_cast<std::size_t>(i)]);
    EXPECT_FALSE(lease.empty());
    lease.end();
    EXPECT_TRUE(lease.empty());
  });
  EXPECT_EQ(registration.use_count(), 1);
}

}  // namespace
}  // namespace weft::testing::any_thread_tests
