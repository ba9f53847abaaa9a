// SPDX-License-Identifier: Apache-2.0
// CR-12: a pool of connections over real sockets.
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "support/sockets.hpp"
#include "transport/tcp/socket_address.hpp"
#include "transport/tcp/tcp_transport.hpp"
#include "weft/connection_pool.hpp"

namespace weft::testing::pool_tests {

using namespace weft::detail;
namespace {

using ::testing::HasSubstr;

std::uint32_t twice(std::uint32_t number) {
  return number * 2;
}
Task<std::uint32_t> nap(std::uint32_t number) {
  [[maybe_unused]] const auto slept = co_await sleep_for(1ms);
  co_return number * 2;
}
std::size_t measure(CallContext& context) {
  return context.attachment().size();
}
inline constexpr auto nap_again = idempotent<nap>;

/// A resolver that knows one name, on a thread of the transport's.
class Names final : public tcp::HostNames {
 public:
  void set(std::vector<std::string> hosts) {
    const std::lock_guard lock{mutex_};
    hosts_ = std::move(hosts);
  }
  tcp::Addresses blocking_look_up(const std::string& host, std::uint16_t port) override {
    const std::lock_guard lock{mutex_};
    if (hosts_.empty()) return Status{StatusCode::kUnavailable, Layer::kTransport, "nobody knows " + host};
    std::vector<tcp::SocketAddress> all;
    for (const std::string& each : hosts_) {
      all.push_back(tcp::addresses_of(Url{"tcp", each, port}).value().front());
    }
    return all;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> hosts_;
};

class PoolsOverSockets : public RpcTest {
 protected:
  ~PoolsOverSockets() override { pool_.reset(); }

  ConnectionPool& make(std::string url, PoolOptions options = {}) {
    options.client.connect = std::move(url);
    pool_ = std::make_unique<ConnectionPool>(loop(), std::move(options));
    return *pool_;
  }
  ConnectionPool& make_by_name(std::string url, PoolOptions options = {}) {
    options.client.connect = std::move(url);
    Transports transports;
    transports.add(tcp::make_transport({}, names_));
    pool_ = std::make_unique<ConnectionPool>(loop(), std::move(options), std::move(transports));
    return *pool_;
  }
  static std::string port_of(const Server& server) {
    return std::to_string(Url::parse(server.urls().front()).value().port);
  }
  std::unique_ptr<Server> server_at(const std::string& url) {
    auto server = std::make_unique<Server>(ServerOptions{.listen = {url}, .threads = 1});
    server->register_handler<twice>();
    server->register_handler<nap>();
    server->register_handler<measure>();
    server->start().value();
    return server;
  }

  const std::shared_ptr<Names> names_ = std::make_shared<Names>();
  std::unique_ptr<ConnectionPool> pool_;
};

/// Calls until it is told to stop, and counts what failed.
struct Load {
  bool stopping = false;
  std::uint32_t answered = 0;
  std::vector<Status> failures;
  Scope callers;

  static Task<void> call_on(ConnectionPool* pool, Load* load, std::uint32_t number) {
    while (!load->stopping) {
      Result<std::uint32_t> answer = co_await pool->call<nap_again>(number);
      if (answer.ok() && *answer == number * 2) {
        ++load->answered;
      } else {
        load->failures.push_back(answer.status());
      }
    }
  }
  void begin(ConnectionPool& pool, std::uint32_t callers_count) {
    for (std::uint32_t i = 0; i < callers_count; ++i) callers.spawn(&Load::call_on, &pool, this, i);
  }
};

TEST_F(PoolsOverSockets, AServerThatRestartsUnderLoadCostsNoIdempotentCall) {
  std::unique_ptr<Server> server = server_at(kAnyPort);
  const std::string url = server->urls().front();
  PoolOptions options;
  options.calls_per_connection = 16;
  ConnectionPool& pool = make(url, options);
  Load load;
  loop().post([&] { load.begin(pool, 64); });
  std::uint32_t seen = 0;
  const auto progress = [&] { return load.answered >= seen + 500; };
  ASSERT_TRUE(turn_until(loop(), progress));
  for (int restart = 0; restart < 4; ++restart) {
    if (restart % 2 == 0) {
      server->stop(0ms);  // at once
    } else {
      server->stop();  // in peace
      ASSERT_TRUE(turn_until(loop(), [&] { return server->stopped(); }));
    }
    server.reset();
    for (int turn = 0; turn < 20; ++turn) loop().run_once(1ms);
    server = server_at(url);
    seen = load.answered;
    ASSERT_TRUE(turn_until(loop(), progress)) << "restart " << restart;
  }
  EXPECT_GE(pool.stats().connections, 4u);
  load.stopping = true;
  ASSERT_TRUE(turn_until(loop(), [&] { return load.callers.count() == 0; }));
  for (const Status& failure : load.failures) ADD_FAILURE() << failure.to_string();
  EXPECT_GT(pool.stats().retries, 0u);
}

TEST_F(PoolsOverSockets, AConnectionThatWentStaleWhileIdleCostsNoCall) {
  std::unique_ptr<Server> server = server_at(kAnyPort);
  const std::string url = server->urls().front();
  ConnectionPool& pool = make(url);
  EXPECT_EQ(wait_for(pool.start<twice>(1u)).value(), 2u);
  server.reset();  // its end is there, and nobody has looked yet
  server = server_at(url);
  Result<std::uint32_t> answer = wait_for(pool.start<idempotent<twice>>(2u));
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(*answer, 4u);
}

TEST_F(PoolsOverSockets, AServerThatTellsItsConnectionsToGoAwayCostsNoCall) {
  std::unique_ptr<Server> server = server_at(kAnyPort);
  const std::string url = server->urls().front();
  ConnectionPool& pool = make(url);
  std::vector<Call<std::uint32_t>> calls;
  Task<Result<void>> connecting = pool.connect();
  loop().block_on(std::move(connecting)).value();
  for (std::uint32_t i = 0; i < 100; ++i) calls.push_back(pool.start<nap>(i));
  loop().run_once(0ms);
  server->stop();
  ASSERT_TRUE(turn_until(loop(), [&] { return server->stopped(); }));
  server = server_at(url);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(wait_for(std::move(calls[i])).value(), i * 2);
  EXPECT_EQ(wait_for(pool.start<twice>(5u)).value(), 10u);
}

TEST_F(PoolsOverSockets, AServerThatAcceptsAndNeverAnswersIsGivenUp) {
  SilentListener silent;
  PoolOptions options;
  options.client.connect_timeout = 50ms;
  options.client.call_timeout = 300ms;
  ConnectionPool& pool = make(silent.url(), options);
  const Status failure = wait_for(pool.start<twice>(1u)).status();
  EXPECT_EQ(failure.code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(failure.unprocessed());
  EXPECT_THAT(failure.to_string(), HasSubstr("connect to " + silent.url()));
  EXPECT_GE(pool.stats().connect_failures, 2u);
}

TEST_F(PoolsOverSockets, ANameThatStandsForNothingSaysSo) {
  PoolOptions options;
  options.waits_for_ready = false;
  ConnectionPool& pool = make_by_name("tcp://shop:9000", options);
  const Status failure = wait_for(pool.start<twice>(1u)).status();
  EXPECT_EQ(failure.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(failure.unprocessed());
  EXPECT_THAT(failure.to_string(), HasSubstr("nobody knows shop"));
}

TEST_F(PoolsOverSockets, ANameThatStandsForManyAddressesReachesTheOneThatAnswers) {
  std::unique_ptr<Server> server = server_at(kAnyPort);
  std::vector<std::string> hosts;
  for (int i = 2; i < 12; ++i) hosts.push_back("127.0.0." + std::to_string(i));  // where nobody listens
  hosts.emplace_back("127.0.0.1");
  names_->set(hosts);
  ConnectionPool& pool = make_by_name("tcp://shop:" + port_of(*server));
  EXPECT_EQ(wait_for(pool.start<twice>(3u)).value(), 6u);
}

TEST_F(PoolsOverSockets, ANameThatGetsOtherAddressesIsFollowedAsConnectionsAreRenewed) {
  std::unique_ptr<Server> before = server_at(kAnyPort);
  const std::string port = port_of(*before);
  std::unique_ptr<Server> after = server_at("tcp://127.0.0.2:" + port);
  names_->set({"127.0.0.1"});
  PoolOptions options;
  options.connection_life_max = 20ms;
  options.spare_idle_timeout = 5ms;
  ConnectionPool& pool = make_by_name("tcp://shop:" + port, options);
  EXPECT_EQ(wait_for(pool.start<twice>(1u)).value(), 2u);
  EXPECT_EQ(before->stats().calls, 1u);
  names_->set({"127.0.0.2"});
  std::uint32_t failed = 0;
  ASSERT_TRUE(turn_until(loop(), [&] {
    failed += wait_for(pool.start<twice>(1u)).ok() ? 0 : 1;
    return after->stats().calls != 0;
  }));
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(pool.stats().connections_lost, 0u);
}

TEST_F(PoolsOverSockets, AttachmentsAndOptionsReachTheServerAsAClientsDo) {
  std::unique_ptr<Server> server = server_at(kAnyPort);
  PoolOptions pool_options;
  pool_options.bulk_bytes_min = 1 << 20;
  ConnectionPool& pool = make(server->urls().front(), pool_options);
  const std::string bytes(3 << 20, 'x');
  CallOptions options;
  options.attachment = AttachmentView{as_bytes(bytes)};
  EXPECT_EQ(wait_for(pool.start<measure>(options)).value(), bytes.size());
  EXPECT_EQ(wait_for(pool.start<twice>(3u)).value(), 6u);
  EXPECT_EQ(pool.stats().connections, 2u);
}

TEST_F(PoolsOverSockets, ConnectTellsWhyThereIsNoConnection) {
  ConnectionPool& pool = make("tcp://127.0.0.1:1");
  Task<Result<void>> connecting = pool.connect();
  const Result<void> outcome = loop().block_on(std::move(connecting));
  EXPECT_EQ(outcome.status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(pool.connected());
}

}  // namespace
}  // namespace weft::testing::pool_tests
