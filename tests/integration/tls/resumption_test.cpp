// SPDX-License-Identifier: Apache-2.0
// CR-10: sessions are resumed, by who had them and under the same certificates and CAs only.
#include "integration/tls/tls_testing.hpp"

namespace weft::testing::tls_resumption_tests {
namespace {

class Resumption : public TlsTest {
 protected:
  /// One call on a connection of its own.
  void call(const std::string& url, const std::shared_ptr<TlsCredentials>& own) {
    const Status status = outcome(url, own);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
};

TEST_F(Resumption, ASecondConnectionResumesAndEachOneAfterIt) {
  const auto server = shared(of_server());
  const std::string url = serve(server);
  const auto own = shared(of_client());
  for (int i = 0; i < 5; ++i) call(url, own);
  EXPECT_EQ(server->stats().handshakes, 5u);
  EXPECT_EQ(server->stats().resumed, 4u);
  EXPECT_EQ(own->stats().resumed, 4u);
}

TEST_F(Resumption, ManyConnectionsAtOnceEachHaveASessionOfTheirOwn) {
  const auto server = shared(of_server());
  const std::string url = serve(server);
  TlsOptions few = of_client();
  few.sessions_max = 2;
  const auto own = shared(few);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<Client>> callers;
    for (int i = 0; i < 4; ++i) {
      callers.push_back(client(url, own));
      ASSERT_TRUE(ask(*callers.back()).ok());
    }
  }
  // In the first round each takes the session of the one before it, and leaves one.
  EXPECT_EQ(own->stats().resumed, 7u);
}

TEST_F(Resumption, NoneIsThereForAnotherServer) {
  const auto server = shared(of_server());
  const std::string url = serve(server);
  const auto own = shared(of_client());
  call(url, own);
  std::string by_name = url;
  by_name.replace(by_name.find("127.0.0.1"), 9, "localhost");
  call(by_name, own);
  EXPECT_EQ(own->stats().resumed, 0u);
}

TEST_F(Resumption, NoneIsTakenWithOtherCasOrAnotherIdentity) {
  TlsOptions asks = of_server();
  asks.clients = TlsClients::kAsked;
  asks.ca_pem = ca_.pem();
  const auto server = shared(asks);
  const std::string url = serve(server);
  call(url, shared(of_client()));
  const TestCa other{"another CA"};
  EXPECT_EQ(outcome(url, shared({.ca_pem = other.pem()})).code(), StatusCode::kUnauthenticated);
  call(url, shared({.certificates = {ca_.issue()}, .ca_pem = ca_.pem()}));
  EXPECT_EQ(server->stats().resumed, 0u);
}

TEST_F(Resumption, AClientsCertificateIsResumedWithItsSession) {
  TlsOptions strict = of_server();
  strict.clients = TlsClients::kRequired;
  strict.ca_pem = ca_.pem();
  const auto server = shared(strict);
  const std::string url = serve(server);
  const auto own = shared({.certificates = {ca_.issue()}, .ca_pem = ca_.pem()});
  call(url, own);
  call(url, own);
  EXPECT_EQ(server->stats().resumed, 1u);
}

TEST_F(Resumption, NoneOutlivesAReloadOnEitherSide) {
  const auto server = shared(of_server());
  const std::string url = serve(server);
  const auto own = shared(of_client());
  call(url, own);
  ASSERT_TRUE(server->reload().ok());
  call(url, own);
  EXPECT_EQ(server->stats().resumed, 0u);
  ASSERT_TRUE(own->reload().ok());
  call(url, own);
  EXPECT_EQ(own->stats().resumed, 0u);
  call(url, own);
  EXPECT_EQ(own->stats().resumed, 1u);
}

TEST_F(Resumption, EitherSideMaySayThatThereIsNone) {
  TlsOptions never = of_server();
  never.session_lifetime = {};
  const auto server = shared(never);
  std::string url = serve(server);
  const auto own = shared(of_client());
  call(url, own);
  call(url, own);
  EXPECT_EQ(server->stats().resumed, 0u);

  url = serve(shared(of_server()));
  TlsOptions none = of_client();
  none.sessions_max = 0;
  const auto other = shared(none);
  call(url, other);
  call(url, other);
  EXPECT_EQ(other->stats().resumed, 0u);
}

TEST_F(Resumption, NoneGoesOnBeyondTheCertificateOfThePeer) {
  const auto server = shared({.certificates = {ca_.issue({.from_days = -10, .to_days = -1})}});
  const std::string url = serve(server);
  const auto own = shared({.insecure = true});
  call(url, own);
  call(url, own);
  EXPECT_EQ(server->stats().handshakes, 2u);
  EXPECT_EQ(server->stats().resumed, 0u);
}

TEST_F(Resumption, SeveralNamesOfAServerResumeTheirOwn) {
  const auto server = shared({.certificates = {ca_.issue({.alternatives = "DNS:a.example"}),
                                               ca_.issue({.alternatives = "DNS:b.example"})}});
  const std::string url = serve(server);
  for (const char* name : {"a.example", "b.example"}) {
    TlsOptions named = of_client();
    named.server_name = name;
    const auto own = shared(named);
    call(url, own);
    call(url, own);
  }
  EXPECT_EQ(server->stats().handshakes, 4u);
  EXPECT_EQ(server->stats().resumed, 2u);
}

}  // namespace
}  // namespace weft::testing::tls_resumption_tests
