// SPDX-License-Identifier: Apache-2.0
// Streams over each transport that needs no device, with checksums, by a pool, with metadata, and of methods
// whose types do not agree.
#include "integration/carrier_streams.hpp"

#include "integration/rpc/rpc_testing.hpp"
#include "weft/connection_pool.hpp"

namespace weft::testing::carrier_streams_tests {

/// Declared only: the client takes other items than the server sends.
Stream<std::string> differing(int count);

namespace {

using namespace weft::carrier_testing;
using ::testing::HasSubstr;

class StreamsOver : public RpcTest, public ::testing::WithParamInterface<const char*> {
 protected:
  std::string listen() const {
    const std::string url = GetParam();
    return url.starts_with("unix") ? url + std::to_string(::getpid()) : url;
  }
};

TEST_P(StreamsOver, GoInAllShapes) {
  for (const bool checksums : {false, true}) {
    for (const unsigned threads : {0u, 2u}) {
      ServerOptions options{.listen = {listen()}, .threads = threads};
      if (threads == 0) options.loop = &loop();
      options.checksums = checksums;
      Server server{std::move(options)};
      register_streams(server);
      server.start().value();
      Client caller{loop(), {.connect = server.urls().front()}};
      expect_streams_of_all_shapes(loop(), caller);
      caller.close();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, StreamsOver,
                         ::testing::Values("tcp://127.0.0.1:0", "memory://streams",
                                           "unix:///tmp/weft_streams_"));

class StreamsOfCalls : public RpcTest {};

TEST_F(StreamsOfCalls, WhoseItemsAreOfAnotherTypeAreRefusedWithWords) {
  Client& caller = client(serve_here([](Server& server) {
    server.register_handler(std::string{detail::method_key<differing>.name}, [](int count) -> Stream<int> {
      for (int i = 0; i < count; ++i) co_yield i;
    });
  }));
  const auto open = [&]() -> Task<Status> {
    auto stream = caller.open<differing>(3);
    auto item = co_await stream.next();
    EXPECT_FALSE(item.has_value());
    co_return stream.status();
  };
  const Status status = loop().block_on(open());
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
}

TEST_F(StreamsOfCalls, GoThroughAPool) {
  Server& server = serve({.threads = 1}, register_streams);
  PoolOptions options;
  options.client.connect = server.urls().front();
  ConnectionPool pool{loop(), std::move(options)};
  const auto read = [&]() -> Task<std::size_t> {
    auto stream = pool.open<send_items>(std::size_t{50});
    std::size_t count = 0;
    while (auto item = co_await stream.next()) {
      if (*item == item_of(count)) ++count;
    }
    EXPECT_TRUE(stream.status().ok()) << stream.status().to_string();
    co_return count;
  };
  EXPECT_EQ(loop().block_on(read()), 50u);
}

Stream<int> tick_for_ever() {
  for (int i = 0;; ++i) {
    co_yield i;
    [[maybe_unused]] const auto slept = co_await sleep_for(1ms);
  }
}
inline constexpr auto tick_again = idempotent<tick_for_ever>;

TEST_F(StreamsOfCalls, DoNotBeginAgainOnAnotherConnectionOfAPool) {
  auto server = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}, .threads = 1});
  server->register_handler<tick_for_ever>();
  server->start().value();
  PoolOptions options;
  options.client.connect = server->urls().front();
  ConnectionPool pool{loop(), std::move(options)};
  const auto read = [&]() -> Task<Status> {
    auto stream = pool.open<tick_again>();
    int last = -1;
    while (auto item = co_await stream.next()) {
      EXPECT_EQ(*item, last + 1);
      last = *item;
      if (last == 3) server.reset();
    }
    EXPECT_GE(last, 3);
    Result<void> end = co_await stream.finish();
    co_return end.status();
  };
  const Status status = loop().block_on(read());
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.to_string();
}

}  // namespace
}  // namespace weft::testing::carrier_streams_tests
