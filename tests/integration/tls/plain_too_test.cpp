// SPDX-License-Identifier: Apache-2.0
// CR-10: one port for clients with TLS and without, where the options say so.
#include "integration/tls/tls_testing.hpp"
#include "support/raw_socket.hpp"

namespace weft::testing::tls_plain_too_tests {
namespace {

using ::testing::HasSubstr;

class PlainToo : public TlsTest {
 protected:
  std::string serve_both() {
    TlsOptions both = of_server();
    both.plain_too = true;
    credentials_ = shared(both);
    return serve(credentials_);
  }
  static detail::Url plain(const std::string& url) {
    detail::Url parsed = detail::Url::parse(url).value();
    parsed.scheme = "tcp";
    return parsed;
  }
  std::shared_ptr<TlsCredentials> credentials_;
};

TEST_F(PlainToo, BothAreServed) {
  const std::string url = serve_both();
  const auto encrypted = client(url, of_client());
  const auto open = client(plain(url).to_string(), TlsOptions{});
  for (int i = 0; i < 10; ++i) {
    auto answer = ask(*encrypted, std::to_string(i));
    EXPECT_TRUE(answer.ok()) << answer.status().to_string();
    answer = ask(*open, std::to_string(i));
    EXPECT_TRUE(answer.ok()) << answer.status().to_string();
  }
  EXPECT_EQ(credentials_->stats().plain, 1u);
  EXPECT_EQ(credentials_->stats().handshakes, 1u);
}

TEST_F(PlainToo, WhatIsLargeGoesBothWaysWithoutTls) {
  const auto open = client(plain(serve_both()).to_string(), TlsOptions{});
  const std::string large(3'000'000, 'q');
  const auto answer = ask(*open, large);
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(*answer, large);
}

TEST_F(PlainToo, AServerThatStopsEndsPlainConnectionsInOrder) {
  const auto open = client(plain(serve_both()).to_string(), TlsOptions{});
  ASSERT_TRUE(ask(*open).ok());
  server_.reset();
  EXPECT_EQ(ask(*open).status().code(), StatusCode::kUnavailable);
}

TEST_F(PlainToo, GarbageIsRefusedInTheWordsOfTcp) {
  const std::string url = serve_both();
  RawSocket socket{plain(url)};
  ASSERT_TRUE(socket.send("GET / HTTP/1.1\r\n\r\n"));
  while (!socket.at_end()) socket.receive_some(4096);
  EXPECT_TRUE(server_says("HTTP")) << notes_.text();
  EXPECT_TRUE(outcome(url, of_client()).ok());
}

TEST_F(PlainToo, WhoIsSilentEndsWithTheHandshakeTimeout) {
  TlsOptions both = of_server();
  both.plain_too = true;
  both.handshake_timeout = std::chrono::milliseconds{50};
  const std::string url = serve(both);
  RawSocket socket{plain(url)};
  ASSERT_TRUE(socket.connected());
  while (!socket.at_end()) loop_->run_once(1ms);
  EXPECT_TRUE(outcome(url, of_client()).ok());
}

}  // namespace
}  // namespace weft::testing::tls_plain_too_tests
