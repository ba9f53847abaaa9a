// SPDX-License-Identifier: Apache-2.0
// Clients and pools whose server says hello and then leaves, or sends the client away, each time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "simulation/bad_visit.hpp"
#include "simulation/world.hpp"
#include "support/manual_time.hpp"
#include "weft/connection_pool.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft::simulation {

using namespace weft::detail;
namespace {

/// Callers of a server. A pool has several calls at once, each of which wants a connection.
enum class MetBy { kClient, kPool };

/// A server of such manners, and a caller that makes a call every 10 ms, whatever becomes of the others.
class BadServer {
 public:
  explicit BadServer(Manners manners, MetBy caller = MetBy::kClient) {
    auto network = std::make_unique<MemoryNetwork>();
    listener_ = network->listen(*loop_, Url::parse("memory://server").value()).value();
    transports_.add(std::move(network));
    const std::uint32_t calls_max = caller == MetBy::kPool ? 1 : 100;
    listener_->start([this, manners, calls_max](std::unique_ptr<Incoming> incoming) {
      visits_.push_back(
          std::make_unique<Visit>(incoming->adopt_connection(*loop_).value(), manners, calls_max));
    });
    ClientOptions options;
    options.connect = "memory://server";
    options.call_timeout = kNoTimeout;
    options.logger = &logger_;
    if (caller == MetBy::kClient) {
      client_ = std::make_unique<Client>(*loop_, options, transports_);
    } else {
      pool_ = std::make_unique<ConnectionPool>(
          *loop_, PoolOptions{.client = options, .connections_max = 20, .calls_per_connection = 1},
          transports_);
    }
    loop_->post([this] { scope_.spawn(&BadServer::call_again_and_again, this); });
  }
  ~BadServer() {
    stopping_ = true;
    if (client_ != nullptr) client_->close();
    if (pool_ != nullptr) pool_->close();
    pass(10ms);
  }

  /// A server that serves takes the place of the bad one.
  void mend() {
    listener_.reset();
    ServerOptions options;
    options.listen = {"memory://server"};
    options.threads = 0;
    options.loop = loop_.get();
    options.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(options), transports_);
    server_->register_handler<&Service::nap>(&service_);
    server_->register_handler<&Service::plain>(&service_);
    server_->start().value();
  }
  PoolStats pool_stats() const { return pool_->stats(); }

  void pass(Duration time) { testing::pass(*loop_, clock_, time); }
  std::size_t connections() const { return visits_.size(); }
  std::size_t open_connections() const {
    return static_cast<std::size_t>(
        std::count_if(visits_.begin(), visits_.end(), [](const auto& visit) { return !visit->over(); }));
  }
  std::size_t failed() const { return failed_; }
  std::size_t succeeded() const { return succeeded_; }
  const Status& last_failure() const { return last_failure_; }

 private:
  static Task<void> call_again_and_again(BadServer* its) {
    while (!its->stopping_) {
      its->scope_.spawn(&BadServer::call_once, its);
      [[maybe_unused]] const Result<void> slept = co_await sleep_for(10ms);
    }
  }
  static Task<void> call_once(BadServer* its) {
    Result<std::uint32_t> result{0};
    if (its->client_ != nullptr) {
      result = co_await its->client_->call<&Service::plain>(1u);
    } else {
      result = co_await its->pool_->call<&Service::nap>(1u, 50u);
    }
    its->succeeded_ += result.ok() ? 1 : 0;
    if (result.ok() || its->stopping_) co_return;
    ++its->failed_;
    its->last_failure_ = result.status();
  }

  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_ = Loop::create({.clock = &clock_}).value();
  Transports transports_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Visit>> visits_;
  Service service_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<ConnectionPool> pool_;
  std::size_t failed_ = 0;
  std::size_t succeeded_ = 0;
  Status last_failure_;
  bool stopping_ = false;
  Scope scope_;
};

// Four seconds have room for waits that double from 10 or 20 ms to a second, and for a few of a second.
constexpr std::size_t kAttemptsIn4s = 14;

TEST(ABadServer, ThatLeavesAfterItsHelloIsMetLessAndLessOften) {
  BadServer server{Manners::kLeavesAfterItsHello};
  server.pass(4s);
  std::printf("%zu connections in 4 s\n", server.connections());
  EXPECT_GE(server.connections(), 5u);
  EXPECT_LE(server.connections(), kAttemptsIn4s);
}

TEST(ABadServer, ThatLeavesAtTheFirstCallIsMetLessAndLessOften) {
  BadServer server{Manners::kLeavesAtTheFirstCall};
  server.pass(4s);
  EXPECT_GE(server.connections(), 5u);
  EXPECT_LE(server.connections(), kAttemptsIn4s);
  EXPECT_EQ(server.last_failure().code(), StatusCode::kUnavailable);
}

TEST(ABadServer, ThatSendsEachConnectionAwayAndAnswersNothingIsKeptFewConnections) {
  BadServer server{Manners::kSendsAwayAtTheFirstCall};
  server.pass(4s);
  EXPECT_LE(server.connections(), kAttemptsIn4s);
  server.pass(60s);
  std::printf("%zu connections, %zu of them open\n", server.connections(), server.open_connections());
  EXPECT_GE(server.connections(), 60u);
  EXPECT_LE(server.open_connections(), 9u);
  EXPECT_GT(server.failed(), 0u) << "the oldest calls end";
  EXPECT_EQ(server.last_failure().code(), StatusCode::kUnavailable);
}

TEST(ABadServer, IsMetByAPoolNoMoreOftenThanByAClient) {
  for (const Manners manners :
       {Manners::kLeavesAfterItsHello, Manners::kLeavesAtTheFirstCall, Manners::kSendsAwayAtTheFirstCall}) {
    BadServer server{manners, MetBy::kPool};
    server.pass(4s);
    std::printf("%zu connections in 4 s\n", server.connections());
    EXPECT_GE(server.connections(), 5u);
    EXPECT_LE(server.connections(), kAttemptsIn4s);
  }
}

TEST(ABadServer, ThatServesAgainGetsAllConnectionsOfAPoolAtOnce) {
  BadServer server{Manners::kLeavesAfterItsHello, MetBy::kPool};
  server.pass(4s);
  server.mend();
  server.pass(1100ms);  // the longest wait, and one call
  EXPECT_GE(server.pool_stats().connections, 10u) << "the calls that wait need them";
  server.pass(2s);
  EXPECT_EQ(server.pool_stats().calls_waiting, 0u);
  EXPECT_GE(server.succeeded(), 500u);
  // What happened before counts no more: a pool that has recovered makes more than one connection at a time.
  const std::size_t before = server.pool_stats().connects;
  server.pass(10s);
  EXPECT_GE(server.succeeded(), 1500u);
  EXPECT_EQ(server.pool_stats().connect_failures, 0u);
  EXPECT_LE(server.pool_stats().connects - before, 20u);
}

}  // namespace
}  // namespace weft::simulation
