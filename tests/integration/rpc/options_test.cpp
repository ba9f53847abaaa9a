// SPDX-License-Identifier: Apache-2.0
// Options with which nothing would ever work are refused by their names, before anything waits in vain.
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::options_tests {
namespace {

int next(int number) {
  return number + 1;
}

class Options : public RpcTest {
 protected:
  /// Returns the failure that a client with these options gives to every call and to connect().
  std::string client_says(ClientOptions options) {
    options.connect = server_.urls().front();
    Client caller{loop(), std::move(options)};
    const Status called = loop().block_on(caller.call<next>(1)).status();
    const Status connected = connect(caller).status();
    EXPECT_EQ(called.code(), connected.code());
    EXPECT_EQ(called.message(), connected.message());
    EXPECT_EQ(caller.stats().connect_failures, 0u);
    return called.code() == StatusCode::kInvalidArgument ? std::string{called.message()} : called.to_string();
  }
  std::string client_says(RpcLimits limits) {
    ClientOptions options;
    options.limits = limits;
    return client_says(std::move(options));
  }
  static std::string server_says(ServerOptions options, bool blocking = false) {
    options.listen = {kAnyPort};
    Server server{std::move(options)};
    server.register_handler<next>({.blocking = blocking});
    const Result<void> started = server.start();
    const Status status = started.ok() ? Status{} : started.status();
    return status.code() == StatusCode::kInvalidArgument ? std::string{status.message()} : status.to_string();
  }
  static std::string server_says(RpcLimits limits) {
    ServerOptions options;
    options.limits = limits;
    return server_says(std::move(options));
  }

  Server& server_ = serve_here([](Server& its) { its.register_handler<next>(); });
};

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(Options, OfAClientAreRefusedByName) {
  EXPECT_THAT(client_says({.connect_timeout = 0ns}), StartsWith("ClientOptions::connect_timeout: "));
  EXPECT_THAT(client_says({.connect_timeout = -1s}), HasSubstr("give a time above zero"));
  EXPECT_THAT(client_says({.call_timeout = 0ns}), HasSubstr("give a time above zero"));
  EXPECT_THAT(client_says({.call_timeout = -1ns}), StartsWith("ClientOptions::call_timeout: "));
  EXPECT_THAT(client_says({.reconnect_wait_min = -1ns}), StartsWith("ClientOptions::reconnect_wait_min: "));
  EXPECT_THAT(client_says({.reconnect_wait_max = -1ns}), StartsWith("ClientOptions::reconnect_wait_max: "));
  EXPECT_THAT(client_says({.reconnect_spread = -1ns}), StartsWith("ClientOptions::reconnect_spread: "));
}

TEST_F(Options, AClientWithoutAServerIsRefused) {
  Client caller{loop(), ClientOptions{}};
  const Status called = loop().block_on(caller.call<next>(1)).status();
  EXPECT_EQ(called.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(called.message(), StartsWith("ClientOptions::connect: "));
}

TEST_F(Options, AUrlOfNoTransportIsToldWhichThereAre) {
  Transports transports;
  transports.add(std::make_unique<MemoryNetwork>());
  Client caller{loop(), ClientOptions{.connect = "foo://host:1"}, transports};
  const Status called = loop().block_on(caller.call<next>(1)).status();
  EXPECT_EQ(called.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string{called.message()},
              ::testing::EndsWith("this program has none for 'foo://'; it has them for memory://"));
}

TEST_F(Options, OfAServerAreRefusedByName) {
  EXPECT_THAT(server_says({.threads = 1, .loop = &loop()}), StartsWith("ServerOptions::loop: "));
  EXPECT_THAT(server_says({.threads = 0}), StartsWith("ServerOptions::loop: "));
  EXPECT_THAT(server_says({.connections_max = 0}), StartsWith("ServerOptions::connections_max: "));
  EXPECT_THAT(server_says({.worker_threads = 0}, true), StartsWith("ServerOptions::worker_threads: "));
  constexpr auto kNegative = static_cast<unsigned>(-1);
  EXPECT_THAT(server_says({.threads = kNegative}), StartsWith("ServerOptions::threads: 4294967295 threads"));
  EXPECT_THAT(server_says({.worker_threads = kNegative}, true),
              StartsWith("ServerOptions::worker_threads: 4294967295 threads"));
  EXPECT_THAT(server_says({.worker_queue_max = 0}, true), StartsWith("ServerOptions::worker_queue_max: "));
  EXPECT_EQ(server_says({.worker_threads = 0, .worker_queue_max = 0}), Status{}.to_string())
      << "nobody needs workers without a blocking handler";
}

TEST_F(Options, LimitsAreRefusedByNameOnBothSides) {
  const std::pair<const char*, RpcLimits> wrong[] = {
      {"RpcLimits::body_bytes_max: ", {.body_bytes_max = 0}},
      {"RpcLimits::calls_in_flight_max: ", {.calls_in_flight_max = 0}},
      {"RpcLimits::frame_timeout: ", {.frame_timeout = 0ns}},
      {"RpcLimits::hello_timeout: ", {.hello_timeout = -1ns}},
      {"RpcLimits::stall_timeout: ", {.stall_timeout = 0ns}},
      {"RpcLimits::attachment_rate_max: ", {.attachment_rate_max = 1000}},
      {"RpcLimits::attachment_rate_max: ", {.attachment_rate_max = static_cast<std::uint64_t>(-1)}},
      {"RpcLimits::ping_interval: ", {.ping_interval = -1ns}},
  };
  for (const auto& [name, limits] : wrong) {
    EXPECT_THAT(client_says(limits), StartsWith(name));
    EXPECT_THAT(server_says(limits), StartsWith(name));
  }
}

TEST_F(Options, ZerosThatMeanNoneAreTaken) {
  RpcLimits none;
  none.attachment_bytes_max = 0;
  none.unrequested_attachment_bytes_max = 0;
  none.connection_memory_max = 0;
  none.process_memory_max = 0;
  none.outbox_high_water = 0;
  none.calls_waiting_max = 0;
  none.ping_interval = 0ns;
  ClientOptions options{.reconnect_wait_min = 0ns, .reconnect_wait_max = 0ns, .limits = none};
  Client& caller = client(serve_here({.limits = none}, [](Server& its) { its.register_handler<next>(); }),
                          std::move(options));
  EXPECT_EQ(call<next>(caller, 1).status().code(), StatusCode::kResourceExhausted)
      << "it would have to wait for the connection";
  ASSERT_TRUE(connect(caller).ok());
  EXPECT_EQ(call<next>(caller, 1).value(), 2);
}

TEST_F(Options, ANegativeTimeoutOfACallHasPassed) {
  Client& caller = client(server_);
  EXPECT_EQ(call<next>(caller, CallOptions{.timeout = -1ns}, 1).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(call<next>(caller, CallOptions{.timeout = 0ns}, 1).value(), 2);
}

}  // namespace
}  // namespace weft::testing::options_tests
