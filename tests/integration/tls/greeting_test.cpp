// SPDX-License-Identifier: Apache-2.0
// CR-10: a server whose clients are not asked who they are greets with its part of the handshake.
#include "integration/tls/middle.hpp"
#include "integration/tls/raw_tls.hpp"
#include "integration/tls/tls_testing.hpp"
#include "support/raw_socket.hpp"

namespace weft::testing::tls_greeting_tests {
namespace {

class Greeting : public TlsTest {
 protected:
  static detail::Url plain(const std::string& url) {
    detail::Url parsed = detail::Url::parse(url).value();
    parsed.scheme = "tcp";
    return parsed;
  }
  TlsOptions asking(TlsClients clients) {
    TlsOptions options = of_server();
    options.clients = clients;
    options.ca_pem = ca_.pem();
    return options;
  }
  /// Gives `tls` the whole of the server's part, and keeps its own.
  static void hear_server(RawTls& tls, RawSocket& socket) {
    EXPECT_FALSE(tls.shake_hands());
    ASSERT_TRUE(socket.send(tls.take()));
    while (!tls.shake_hands()) {
      ASSERT_FALSE(socket.at_end());
      tls.give(socket.receive_some(16384));
    }
  }
};

TEST_F(Greeting, ReachesAClientThatHasNotSaidItsPart) {
  const auto credentials = shared(of_server());
  const std::string url = serve(credentials);
  RawTls tls;
  RawSocket socket{plain(url)};
  hear_server(tls, socket);
  while (!tls.read()) {
    ASSERT_FALSE(socket.at_end()) << "it was waited for";
    tls.give(socket.receive_some(16384));
  }
  EXPECT_EQ(credentials->stats().handshakes, 0u);
  EXPECT_EQ(server_->stats().connections, 1u);
}

// Who is asked for a certificate may be somebody else than it will say.
TEST_F(Greeting, WaitsForWhomIsAskedForACertificate) {
  for (const TlsClients clients : {TlsClients::kAsked, TlsClients::kRequired}) {
    const std::string url = serve(asking(clients));
    RawTls tls;
    RawSocket socket{plain(url)};
    hear_server(tls, socket);
    EXPECT_FALSE(tls.read());
  }
}

TEST_F(Greeting, IsNoMatterOfAnOlderTls) {
  TlsOptions older = of_server();
  older.version_min = TlsVersion::k12;
  const std::string url = serve(older);
  RawTls tls;
  tls.be_old();
  RawSocket socket{plain(url)};
  while (!tls.shake_hands()) {
    ASSERT_TRUE(socket.send(tls.take()));
    tls.give(socket.receive_some(16384));
  }
  ASSERT_TRUE(socket.send(tls.take()));
  while (!tls.read()) {
    ASSERT_FALSE(socket.at_end());
    tls.give(socket.receive_some(16384));
  }
}

// Server and client on one loop whose clock stands, so that nothing is put off.
class FirstCalls : public Greeting {
 protected:
  FirstCalls() {
    loop_ = Loop::create({.mode = WaitMode::kWait, .clock = &clock_}).value();
    server_ = std::make_unique<Server>(
        ServerOptions{.listen = {"tls://127.0.0.1:0"}, .threads = 0, .loop = loop_.get()}, with(of_server()));
    server_->register_handler<echoed>();
    server_->start().value();
  }
  ~FirstCalls() override {
    server_.reset();
    loop_.reset();
  }

  ManualClock clock_;
};

// Two parts of each side: a hello of TLS and its answer, then the end of the handshake with the hello and the
// call, and the ticket with the answer.
TEST_F(FirstCalls, LeaveWithTheEndOfTheHandshake) {
  Middle middle{plain(server_->urls().front())};
  const auto caller = client(middle.url(), of_client());
  const auto answer = ask(*caller);
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(middle.of_client(), 2);
  EXPECT_EQ(middle.of_server(), 2);
}

TEST_F(FirstCalls, OfResumedSessionsDoSoToo) {
  Middle middle{plain(server_->urls().front())};
  const auto own = shared(of_client());
  {
    const auto first = client(middle.url(), own);
    ASSERT_TRUE(ask(*first).ok());
  }
  const int before = middle.of_server();
  const auto caller = client(middle.url(), own);
  ASSERT_TRUE(ask(*caller).ok());
  EXPECT_EQ(own->stats().resumed, 1u);
  EXPECT_LE(middle.of_server(), before + 3) << "the end of the first connection is one";
}

}  // namespace
}  // namespace weft::testing::tls_greeting_tests
