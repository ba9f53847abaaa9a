// SPDX-License-Identifier: Apache-2.0
// Clients of URLs that can never work, of times without end, and of loops that are late, on a clock that
// stands still.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/world.hpp"
#include "support/manual_time.hpp"
#include "weft/connection_pool.hpp"
#include "weft/detail/transport/simulated_network.hpp"

namespace weft::simulation {

using namespace weft::detail;
namespace {

class Quiet final : public Logger {
 public:
  void write(LogLevel, std::string_view) override {}
};

struct Counted {
  int ran = 0;
  std::uint32_t count(std::uint32_t number) {
    ++ran;
    return number;
  }
  std::uint32_t weigh(CallContext& context) {
    ++ran;
    return static_cast<std::uint32_t>(context.attachment().size());
  }
};

class Extremes : public ::testing::Test {
 protected:
  Extremes() : loop_(Loop::create({.clock = &clock_}).value()), network_(*loop_) {}
  ~Extremes() override {
    clients_.clear();
    server_.reset();
    loop_->run_until_idle();
  }

  void serve() {
    ServerOptions options;
    options.listen = {"memory://server"};
    options.threads = 0;
    options.loop = loop_.get();
    options.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(options), of("server"));
    server_->register_handler<&Counted::count>(&counted_);
    server_->register_handler<&Counted::weigh>(&counted_);
    server_->start().value();
  }
  Transports of(std::string_view host) {
    Transports transports;
    transports.add(network_.host(host).transport());
    return transports;
  }
  Client& client(ClientOptions options = {}) {
    if (options.connect.empty()) options.connect = "memory://server";
    options.logger = &logger_;
    clients_.push_back(std::make_unique<Client>(*loop_, std::move(options), of("client")));
    return *clients_.back();
  }
  void pass(Duration time) { testing::pass(*loop_, clock_, time); }
  Result<std::uint32_t> outcome_of(Call<std::uint32_t> call) {
    EXPECT_TRUE(call.done()) << "the call has not ended";
    return loop_->block_on(std::move(call));
  }
  std::vector<Call<std::uint32_t>> begin(Client& client, int calls, Duration timeout) {
    std::vector<Call<std::uint32_t>> begun;
    CallOptions options;
    options.timeout = timeout;
    for (int i = 0; i < calls; ++i) begun.push_back(client.start<&Counted::count>(options, 1u));
    loop_->run_until_idle();
    return begun;
  }

  ManualClock clock_;
  Quiet logger_;
  std::unique_ptr<Loop> loop_;
  SimulatedNetwork network_;
  Counted counted_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Client>> clients_;
};

const std::vector<std::string> kUseless = {
    "nonsense",       "TCP://127.0.0.1:1", "tcp://127.0.0.1", "tcp://127.0.0.1:0",    "tcp://127.0.0.1:70000",
    "tcp://a b:1",    "tcp://a..b:1",      "tcp://[::zz]:1",  "carrier-pigeon://x:1", "ucx://127.0.0.1:1",
    "unix://relative"};

// The clock never moves: a wait of any length would leave the calls undone.
TEST_F(Extremes, UselessUrlsFailEachCallAtOnce) {
  for (const std::string& url : kUseless) {
    ClientOptions options;
    options.connect = url;
    Client& client = this->client(options);
    PoolOptions of_pool;
    of_pool.client = options;
    of_pool.client.logger = &logger_;
    ConnectionPool pool{*loop_, of_pool, of("client")};
    for (int i = 0; i < 5; ++i) {
      auto call = client.start<&Counted::count>(1u);
      auto of_pool_call = pool.start<&Counted::count>(1u);
      loop_->run_until_idle();
      ASSERT_TRUE(call.done()) << url << ", attempt " << i;
      ASSERT_TRUE(of_pool_call.done()) << url << ", attempt " << i << " of a pool";
      EXPECT_EQ(outcome_of(std::move(call)).status().code(), StatusCode::kInvalidArgument) << url;
      EXPECT_EQ(outcome_of(std::move(of_pool_call)).status().code(), StatusCode::kInvalidArgument) << url;
    }
  }
}

TEST_F(Extremes, TheLongestTimesNeitherSpinNorOverflow) {
  serve();
  PoolOptions options;
  options.client.connect = "memory://server";
  options.client.logger = &logger_;
  options.spare_idle_timeout = kNoTimeout;
  options.idle_timeout = kNoTimeout;
  options.connection_life_max = kNoTimeout;
  options.client.reconnect_wait_min = kNoTimeout;
  options.client.reconnect_wait_max = kNoTimeout;
  options.client.reconnect_spread = kNoTimeout;
  options.client.connect_timeout = kNoTimeout;
  options.client.call_timeout = kNoTimeout;
  options.client.limits.ping_interval = kNoTimeout;
  options.client.limits.frame_timeout = kNoTimeout;
  options.client.limits.stall_timeout = kNoTimeout;
  options.client.limits.hello_timeout = kNoTimeout;
  ConnectionPool pool{*loop_, options, of("client")};
  auto call = pool.start<&Counted::count>(1u);
  for (int turn = 0; turn < 1000 && !call.done(); ++turn) loop_->run_once(Duration::zero());
  EXPECT_TRUE(outcome_of(std::move(call)).ok());
  int turns = 0;
  while (turns < 1000 && loop_->run_once(Duration::zero())) ++turns;
  EXPECT_LT(turns, 1000) << "it spins";
  server_.reset();
  turns = 0;
  while (turns < 1000 && loop_->run_once(Duration::zero())) ++turns;
  EXPECT_LT(turns, 1000) << "it spins when the server is gone";
}

// A client whose loop was late while its calls waited for a connection.
TEST_F(Extremes, NoCallLeavesAfterItsDeadline) {
  network_.host("client").set_outgoing({.latency = 1ms});
  serve();
  Client& client = this->client();
  auto calls = begin(client, 10, 500ms);
  clock_.advance(1500ms);
  pass(1s);
  EXPECT_EQ(counted_.ran, 0);
  for (auto& call : calls) {
    EXPECT_EQ(outcome_of(std::move(call)).status().code(), StatusCode::kDeadlineExceeded);
  }
}

// The pieces of the attachment arrive while the loop is away.
TEST_F(Extremes, NoRequestRunsWhoseAttachmentWasWholeAfterItsDeadline) {
  SimulatedNetworkOptions roomy;
  roomy.pipe_bytes = 8 << 20;
  network_.set_options(roomy);
  serve();
  Client& client = this->client();
  auto first = begin(client, 1, 500ms);
  pass(1ms);
  ASSERT_EQ(counted_.ran, 1);
  // The whole attachment takes about 5 ms.
  network_.host("client").set_outgoing({.latency = 1ms, .bytes_per_second = 100'000'000});
  const Buffer data = blob(512 * 1024);
  CallOptions options;
  options.timeout = 500ms;
  options.attachment = data.bytes();
  auto call = client.start<&Counted::weigh>(options);
  pass(3ms);
  ASSERT_EQ(counted_.ran, 1) << "the attachment is whole already";
  clock_.advance(1500ms);
  pass(1s);
  EXPECT_EQ(outcome_of(std::move(call)).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(counted_.ran, 1) << "it was run for a caller that had given up";
}

}  // namespace
}  // namespace weft::simulation
