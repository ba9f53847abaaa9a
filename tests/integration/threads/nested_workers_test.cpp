// SPDX-License-Identifier: Apache-2.0
// CR-21: blocking handlers that call blocking handlers of the same server do not starve each other.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "integration/threads/threads_testing.hpp"
#include "weft/blocking_client.hpp"

namespace weft::testing::nested_workers_tests {
namespace {

constexpr auto& descend_far = remote<"descend", int(int)>;
constexpr auto& sum_far = remote<"sum", int(int)>;
constexpr auto& count_far = remote<"count", void(BlockingWriter<int>&, int)>;

/// A server whose blocking handlers call the same server by a client that blocks.
class NestingServer {
 public:
  explicit NestingServer(ServerOptions options) {
    options.listen = {"tcp://127.0.0.1:0"};
    server_ = std::make_unique<Server>(std::move(options));
    server_->register_handler("descend", [this](int depth) { return descend(depth); }, {.blocking = true});
    server_->register_handler("sum", [this](int count) { return sum(count); }, {.blocking = true});
    server_->register_handler("count",
                              [](BlockingWriter<int>& numbers, int count) {
                                for (int number = 1; number <= count && numbers.write(number);) ++number;
                              },
                              {.blocking = true});
    server_->start().value();
    self_ = std::make_unique<BlockingClient>(ClientOptions{.connect = url()});
  }
  ~NestingServer() {
    server_->stop();
    server_->wait();
    self_.reset();
  }
  std::string url() const { return server_->urls().front(); }

 private:
  Result<int> descend(int depth) {
    if (depth == 0) return 1;
    Result<int> below = self_->call<descend_far>(depth - 1);
    if (!below.ok()) return below.status();
    return *below + 1;
  }
  /// Adds the items of a stream that another worker writes.
  Result<int> sum(int count) {
    auto numbers = self_->open<count_far>(count);
    int sum = 0;
    while (auto number = numbers.next()) sum += *number;
    const Result<void> ended = numbers.finish();
    if (!ended.ok()) return ended.status();
    return sum;
  }

  std::unique_ptr<Server> server_;
  std::unique_ptr<BlockingClient> self_;
};

/// Two clients make `count` calls each at the same time; returns all outcomes.
template <auto& M>
std::vector<Result<int>> call_from_two(const NestingServer& server, int argument, int count) {
  std::vector<std::unique_ptr<BlockingClient>> clients;
  std::vector<BlockingCall<int>> calls;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<BlockingClient>(
        ClientOptions{.connect = server.url(), .call_timeout = std::chrono::seconds{60}}));
    for (int n = 0; n < count; ++n) calls.push_back(clients.back()->start<M>(argument));
  }
  std::vector<Result<int>> outcomes;
  for (BlockingCall<int>& call : calls) outcomes.push_back(call.wait());
  return outcomes;
}

TEST(NestedWorkers, CallsOfEachDepthSucceed) {
  for (const int depth : {1, 2, 3}) {
    const NestingServer server{{.worker_threads = 4}};
    for (const Result<int>& outcome : call_from_two<descend_far>(server, depth, 16)) {
      ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
      EXPECT_EQ(*outcome, depth + 1);
    }
  }
}

TEST(NestedWorkers, OneWorkerIsEnoughForAll) {
  const NestingServer server{{.worker_threads = 1}};
  for (const Result<int>& outcome : call_from_two<descend_far>(server, 3, 2)) {
    ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
  }
}

TEST(NestedWorkers, StreamsOfOtherWorkersAreRead) {
  const NestingServer server{{.worker_threads = 2}};
  for (const Result<int>& outcome : call_from_two<sum_far>(server, 1000, 8)) {
    ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
    EXPECT_EQ(*outcome, 500'500);
  }
}

TEST(NestedWorkers, OverTheMaximumACallFailsAtOnceWithWords) {
  const NestingServer server{{.worker_threads = 2, .worker_threads_max = 4}};
  int failed = 0;
  for (const Result<int>& outcome : call_from_two<descend_far>(server, 3, 16)) {
    if (outcome.ok()) continue;
    ++failed;
    EXPECT_EQ(outcome.status().code(), StatusCode::kResourceExhausted) << outcome.status().to_string();
    EXPECT_THAT(outcome.status().to_string(), ::testing::HasSubstr("ServerOptions::worker_threads_max"));
  }
  std::printf("over the maximum: %d of 32 calls failed\n", failed);
  // No more may be left behind: the workers are free again.
  for (const Result<int>& outcome : call_from_two<descend_far>(server, 1, 1)) EXPECT_TRUE(outcome.ok());
}

/// A coroutine whose work on a pool makes a blocking call to the same coroutine.
struct PoolUser {
  WorkerPool& pool;
  BlockingClient* self = nullptr;

  Task<Result<int>> descend(int depth) {
    if (depth == 0) {
      Result<int> one = co_await on_worker(pool, [] { return 1; });
      co_return one;
    }
    BlockingClient* const client = self;
    Result<int> below =
        co_await on_worker(pool, [client, depth] { return client->call<descend_far>(depth - 1); });
    co_return below;
  }
};

TEST(NestedWorkers, APoolOfOneThreadRunsWhatItsOwnFunctionWaitsFor) {
  auto pool = WorkerPool::start({.name = "nested", .threads = 1}).value();
  PoolUser user{*pool};
  Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler("descend", [&user](int depth) { return user.descend(depth); });
  server.start().value();
  BlockingClient self{{.connect = server.urls().front()}};
  user.self = &self;
  EXPECT_EQ(self.call<descend_far>(3).value_or(-1), 1);
  EXPECT_EQ(pool->stats().running, 0u);
}

}  // namespace
}  // namespace weft::testing::nested_workers_tests
