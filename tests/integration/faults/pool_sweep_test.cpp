// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources and load": each allocation of a pool and its server fails once, and thirty of them
// in a row, while connections are made, lost and renewed. Each call ends, and the pool works again
// afterwards.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "support/heap_count.hpp"

namespace weft::faults {

namespace {

using namespace std::chrono_literals;
using testing::allocation_still_to_fail;
using testing::fail_allocations;
using testing::kHeapIsCounted;

std::string twin(std::string_view text) {
  return std::string{text};
}
inline constexpr auto twin_again = idempotent<twin>;

class SilentLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override {}
};

/// A server and a pool on one loop, over sockets.
class PoolWorld {
 public:
  PoolWorld() {
    serve("tcp://127.0.0.1:0");
    PoolOptions options;
    options.client.connect = server_->urls().front();
    options.client.logger = &logger_;
    options.client.call_timeout = 5s;
    options.client.reconnect_wait_max = 5ms;
    options.calls_per_connection = 2;
    options.spare_idle_timeout = 1ms;
    pool_ = std::make_unique<ConnectionPool>(*loop_, options);
  }

  void serve(const std::string& url) {
    ServerOptions options;
    options.listen = {url};
    options.threads = 0;
    options.loop = loop_.get();
    options.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(options));
    server_->register_handler<twin>();
    server_->start().value();
  }
  /// Calls that need more than one connection, which all go in the middle. Memory may be out.
  void work() {
    std::vector<Call<std::string>> calls;
    try {
      calls.reserve(12);
      for (int i = 0; i < 6; ++i)
        calls.push_back(pool_->start<twin_again>("one that fits into no small string"));
      loop_->run_once(0ms);
      server_->stop(0ms);
      for (int i = 0; i < 6; ++i)
        calls.push_back(pool_->start<twin_again>("one that fits into no small string"));
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): start() says that it may throw this
    }
    for (int turn = 0; turn < 20; ++turn) turn_once();
    started_ = std::move(calls);
  }
  /// Memory is back. Everything that was begun ends, and the pool works.
  bool works() {
    const std::string url = pool_->options().client.connect;
    server_.reset();
    serve(url);
    const auto patience = std::chrono::steady_clock::now() + 30s;
    bool all = false;
    while (!all && std::chrono::steady_clock::now() < patience) {
      turn_once();
      all = true;
      for (const Call<std::string>& call : started_) all = all && call.done();
    }
    started_.clear();
    Call<std::string> last = pool_->start<twin_again>("the last");
    while (!last.done() && std::chrono::steady_clock::now() < patience) turn_once();
    return all && last.done();
  }

 private:
  // A loop that has no memory of its own for a turn throws, and is turned again.
  void turn_once() {
    try {
      loop_->run_once(1ms);
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    }
  }

  SilentLogger logger_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<Server> server_;
  std::unique_ptr<ConnectionPool> pool_;
  std::vector<Call<std::string>> started_;
};

void sweep(std::size_t count) {
  if (!kHeapIsCounted) GTEST_SKIP() << "a sanitizer brings its own operator new";
  std::size_t first = 1;
  for (bool unused = false; !unused; ++first) {
    PoolWorld world;
    const testing::MallocsFailToo mallocs_fail_too;
    fail_allocations(first, count);
    world.work();
    unused = allocation_still_to_fail();
    fail_allocations(0);
    ASSERT_TRUE(world.works()) << "allocation " << first;
  }
  EXPECT_GT(first, 20u);
}

TEST(PoolSweep, EachAllocationThatFailsCostsACallOrAConnectionOnly) {
  sweep(1);
}
TEST(PoolSweep, ThirtyFailuresInARowAreSurvived) {
  sweep(30);
}

}  // namespace

}  // namespace weft::faults
