// SPDX-License-Identifier: Apache-2.0
// CR-10: calls over TLS are calls: attachments, cancellation, reconnect, the end of a server.
#include "integration/tls/tls_testing.hpp"
#include "weft/detail/coro/cancel.hpp"

namespace weft::testing::tls_call_tests {
namespace {

using OverTls = TlsTest;

Task<std::uint64_t> swap_once(Client& caller, std::size_t bytes, std::uint32_t seed, bool& right) {
  const auto memory = pattern(bytes, seed);
  std::vector<std::byte> landing(bytes);
  CallOptions options;
  options.timeout = 60s;
  options.attachment = Bytes{memory};
  options.landing = MutableBytes{landing};
  auto answer = co_await caller.call<swapped>(options, std::uint64_t{seed});
  right = answer.ok() && testing::same_bytes(landing, pattern(bytes, seed + 1));
  EXPECT_TRUE(answer.ok()) << answer.status().to_string();
  co_return answer.ok() ? *answer : 0;
}

TEST_F(OverTls, CallsAreAnswered) {
  const auto caller = client(serve(of_server()), of_client());
  for (int i = 0; i < 100; ++i) {
    const auto answer = ask(*caller, std::to_string(i));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(*answer, std::to_string(i));
  }
}

TEST_F(OverTls, ManyCallsInFlightAreAnswered) {
  const auto caller = client(serve(of_server()), of_client());
  ASSERT_TRUE(ask(*caller).ok());
  std::vector<Call<std::string>> calls;
  const std::string text(700, 'x');
  for (int i = 0; i < 500; ++i) calls.push_back(caller->start<echoed>(text + std::to_string(i)));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto answer = loop_->block_on(std::move(calls[i]));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(*answer, text + std::to_string(i));
  }
}

TEST_F(OverTls, StreamsGoInAllShapes) {
  const auto caller = client(serve(of_server()), of_client());
  carrier_testing::expect_streams_of_all_shapes(*loop_, *caller);
}

TEST_F(OverTls, AttachmentsOfEverySizeGoBothWays) {
  const auto caller = client(serve(of_server()), of_client());
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{16'383}, std::size_t{16'384},
                                  std::size_t{16'385}, std::size_t{100'001}, std::size_t{8} << 20}) {
    bool right = false;
    EXPECT_EQ(loop_->block_on(swap_once(*caller, bytes, 3, right)), bytes);
    EXPECT_TRUE(right) << bytes;
  }
}

TEST_F(OverTls, BodiesLargerThanAllBuffersArrive) {
  const auto caller = client(serve(of_server()), of_client());
  const std::string large(3'000'000, 'q');
  const auto answer = ask(*caller, large);
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(*answer, large);
}

TEST_F(OverTls, ADroppedTransferLeavesTheConnectionWell) {
  const auto caller = client(serve(of_server()), of_client());
  ASSERT_TRUE(ask(*caller).ok());
  {
    const auto memory = pattern(std::size_t{8} << 20, 1);
    CallOptions options;
    options.attachment = Bytes{memory};
    options.timeout = 1ns;  // it is over before it has left
    const auto late = loop_->block_on(caller->call<swapped>(options, std::uint64_t{1}));
    // A server that is slow to look at it says so before the client looks at its timers.
    EXPECT_THAT(late.status().code(),
                ::testing::AnyOf(StatusCode::kDeadlineExceeded, StatusCode::kResourceExhausted))
        << late.status().to_string();
  }
  const auto answer = ask(*caller, "still there");
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
}

TEST_F(OverTls, AClientComesBackToAServerThatWasStartedAgain) {
  const std::string url = serve(of_server());
  const auto caller = client(url, of_client());
  ASSERT_TRUE(ask(*caller).ok());
  ASSERT_EQ(serve(of_server(), url), url);
  Status last;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto answer = ask(*caller);
    last = answer.status();
    if (last.ok()) break;
    EXPECT_EQ(last.code(), StatusCode::kUnavailable) << last.to_string();
  }
  EXPECT_TRUE(last.ok()) << last.to_string();
}

TEST_F(OverTls, AServerThatStopsEndsItsConnectionsInOrder) {
  const auto caller = client(serve(of_server()), of_client());
  ASSERT_TRUE(ask(*caller).ok());
  server_.reset();
  const auto answer = ask(*caller);
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(answer.status().message(), ::testing::Not(::testing::HasSubstr("TLS"))) << "the end was no cut";
}

TEST_F(OverTls, HandshakesOfManyClientsDoNotDisturbEachOther) {
  const std::string url = serve(of_server());
  std::vector<std::unique_ptr<Client>> callers;
  std::vector<Call<std::string>> calls;
  for (int i = 0; i < 100; ++i) {
    callers.push_back(client(url, of_client()));
    calls.push_back(callers.back()->start<echoed>("one of many"));
  }
  for (auto& call : calls) {
    const auto answer = loop_->block_on(std::move(call));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  }
}

}  // namespace
}  // namespace weft::testing::tls_call_tests
