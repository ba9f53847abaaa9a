// SPDX-License-Identifier: Apache-2.0
// CR-10: peers that do not speak TLS, or only a part of it.
#include "integration/tls/middle.hpp"
#include "integration/tls/tls_testing.hpp"
#include "support/raw_socket.hpp"

namespace weft::testing::tls_hostile_tests {
namespace {

using ::testing::HasSubstr;

class Hostile : public TlsTest {
 protected:
  static detail::Url plain(const std::string& url) {
    detail::Url parsed = detail::Url::parse(url).value();
    parsed.scheme = "tcp";
    return parsed;
  }
  /// The server ends the connection of `socket`, whatever it says before.
  bool is_ended(RawSocket& socket) {
    const auto patience = std::chrono::steady_clock::now() + 20s;
    while (!socket.at_end()) {
      if (std::chrono::steady_clock::now() > patience) return false;
      socket.receive_some(4096);
      loop_->run_once(1ms);
    }
    return true;
  }
  void expect_well(const std::string& url) {
    const Status status = outcome(url, of_client());
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
};

TEST_F(Hostile, APlainClientOnATlsPortIsToldSo) {
  const std::string url = serve(of_server());
  const Status status = outcome(plain(url).to_string(), {});
  EXPECT_THAT(status.message(), HasSubstr("the peer speaks TLS: use tls://")) << status.to_string();
  EXPECT_TRUE(server_says("connect to tls://")) << notes_.text();
  expect_well(url);
}

TEST_F(Hostile, ATlsClientOnAPlainPortIsToldSo) {
  const std::string url = serve({}, "tcp://127.0.0.1:0");
  detail::Url with_tls = detail::Url::parse(url).value();
  with_tls.scheme = "tls";
  const Status status = outcome(with_tls.to_string(), of_client());
  EXPECT_FALSE(status.ok());
  // The server ends it as well, and what it said before may be lost by that.
  EXPECT_THAT(status.message(), ::testing::AnyOf(HasSubstr("does not speak it on this port"),
                                                 HasSubstr("does it listen on tls://?")))
      << status.to_string();
}

TEST_F(Hostile, GarbageEndsItsOwnConnectionOnly) {
  const std::string url = serve(of_server());
  for (const std::string& garbage : {std::string{"GET / HTTP/1.1\r\n\r\n"}, std::string(3000, '\x16'),
                                     std::string("\x16\x03\x01\xff\xff", 5) + std::string(70'000, 'x'),
                                     std::string("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", 10),
                                     std::string("\x15\x03\x03\x00\x02\x02\x28", 7)}) {
    RawSocket socket{plain(url)};
    ASSERT_TRUE(socket.connected());
    socket.send(garbage);
    socket.end_sending();
    EXPECT_TRUE(is_ended(socket)) << garbage.substr(0, 10);
  }
  expect_well(url);
}

TEST_F(Hostile, HundredsOfHalfDoneHandshakesGiveWay) {
  TlsOptions few = of_server();
  few.handshakes_max = 16;
  const std::string url = serve(few);
  std::vector<std::unique_ptr<RawSocket>> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(std::make_unique<RawSocket>(plain(url)));
    silent.back()->send(std::string("\x16\x03\x01", 3));
  }
  expect_well(url);
  EXPECT_TRUE(is_ended(*silent.front())) << "the oldest gave way";
}

TEST_F(Hostile, AHandshakeThatDoesNotGetOnEnds) {
  TlsOptions hasty = of_server();
  hasty.handshake_timeout = 50ms;
  const std::string url = serve(hasty);
  RawSocket socket{plain(url)};
  ASSERT_TRUE(socket.send(std::string("\x16\x03\x01\x02", 4)));
  EXPECT_TRUE(is_ended(socket));
}

TEST_F(Hostile, AByteStreamThatIsCutOffFailsTheCallThatWaits) {
  Middle middle{plain(serve(of_server()))};
  const auto caller = client(middle.url(), of_client());
  const auto first = ask(*caller);
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  middle.next(Middle::Deed::kCut);
  const Status status = ask(*caller).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("the stream ended without a word of the peer's TLS"));
}

TEST_F(Hostile, AByteStreamThatWasCutOffIsNoReasonNotToResume) {
  Middle middle{plain(serve(of_server()))};
  const auto own = shared(of_client());
  const auto caller = client(middle.url(), own);
  ASSERT_TRUE(ask(*caller).ok());
  middle.next(Middle::Deed::kCut);
  EXPECT_EQ(ask(*caller).status().code(), StatusCode::kUnavailable);
  middle.next(Middle::Deed::kNone);
  const auto answer = ask(*caller);
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(own->stats().resumed, 1u);
}

TEST_F(Hostile, ARecordThatWasChangedFailsTheCall) {
  Middle middle{plain(serve(of_server()))};
  const auto caller = client(middle.url(), of_client());
  ASSERT_TRUE(ask(*caller).ok());
  middle.next(Middle::Deed::kSpoil);
  const Status status = ask(*caller).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("TLS: the peer does not keep to it")) << status.to_string();
}

}  // namespace
}  // namespace weft::testing::tls_hostile_tests
