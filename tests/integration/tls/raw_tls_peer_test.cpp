// SPDX-License-Identifier: Apache-2.0
// CR-10: a client of OpenSSL's own that sends its records when a test says so.
#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <thread>

#include "integration/faults/hostile_peer.hpp"
#include "integration/tls/raw_tls.hpp"
#include "integration/tls/tls_testing.hpp"
#include "support/raw_socket.hpp"

namespace weft::testing::raw_tls_peer_tests {
namespace {

using ::testing::HasSubstr;

class RawTlsPeer : public TlsTest {
 protected:
  static detail::Url plain(const std::string& url) {
    detail::Url parsed = detail::Url::parse(url).value();
    parsed.scheme = "tcp";
    return parsed;
  }
  static void shake_hands(RawTls& tls, RawSocket& socket) {
    while (!tls.shake_hands()) {
      ASSERT_TRUE(socket.send(tls.take()));
      std::string got;
      while (got.empty() && !socket.at_end()) got = socket.receive_some(16384);
      ASSERT_FALSE(got.empty()) << "the server ended the handshake";
      tls.give(got);
    }
  }
};

// The server's contexts, which the name in the hello chooses from, belong to its listener.
TEST_F(RawTlsPeer, WhoseHelloComesWhileTheServerStopsFindsNothingFreed) {
  const std::string url = serve(of_server());
  RawTls tls;
  EXPECT_FALSE(tls.shake_hands());
  const std::string hello = tls.take();
  RawSocket socket{plain(url)};
  ASSERT_TRUE(socket.send(hello.substr(0, hello.size() / 2)));
  while (server_->stats().connections == 0) std::this_thread::yield();
  server_->stop(1s);
  static_cast<void>(socket.send(hello.substr(hello.size() / 2)));
  server_->wait();
  EXPECT_TRUE(server_->stopped());
}

TEST_F(RawTlsPeer, WhoRenegotiatesIsRefused) {
  TlsOptions old = of_server();
  old.version_min = TlsVersion::k12;
  const std::string url = serve(old);
  RawTls tls;
  tls.be_old();
  RawSocket socket{plain(url)};
  shake_hands(tls, socket);
  ASSERT_TRUE(socket.send(tls.take()));
  while (!tls.read()) {  // the server's hello, which would be among the words of a handshake
    ASSERT_FALSE(socket.at_end());
    tls.give(socket.receive_some(16384));
  }
  EXPECT_FALSE(tls.renegotiate());
  ASSERT_TRUE(socket.send(tls.take()));
  ERR_clear_error();
  // An alert that the server wants none: for this client, the end.
  while (ERR_GET_REASON(ERR_peek_error()) != SSL_R_NO_RENEGOTIATION) {
    ASSERT_FALSE(socket.at_end());
    ASSERT_TRUE(ERR_peek_error() == 0) << ERR_reason_error_string(ERR_peek_error());
    tls.give(socket.receive_some(16384));
    while (tls.read()) {
    }
  }
  ERR_clear_error();
  const Status status = outcome(url, of_client());
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_F(RawTlsPeer, WhoSendsEachByteInARecordOfItsOwnIsAnswered) {
  const std::string url = serve(of_server());
  RawTls tls;
  RawSocket socket{plain(url)};
  shake_hands(tls, socket);
  for (const char byte : hello_bytes()) ASSERT_TRUE(tls.write(std::string{byte}));
  tls.end();
  ASSERT_TRUE(socket.send(tls.take()));
  while (!socket.at_end()) socket.receive_some(16384);
  EXPECT_EQ(notes_.text(), "") << "the hello was understood, and the end was one";
}

TEST_F(RawTlsPeer, WhoAsksForShortRecordsIsSentManyOfThem) {
  for (const bool old : {false, true}) {
    TlsOptions options = of_server();
    if (old) options.version_min = TlsVersion::k12;
    const std::string url = serve(options);
    RawTls tls;
    if (old) tls.be_old();
    tls.ask_for_short_records();
    RawSocket socket{plain(url)};
    shake_hands(tls, socket);
    ASSERT_TRUE(tls.write(hello_bytes()));
    // Answers of so many long records, each of which is 32 short ones.
    for (std::uint64_t records = 1; records <= 13; ++records) {
      const std::string text(records * 16'384 - 400, 'x');
      ASSERT_TRUE(tls.write(faults::request_bytes<&echoed>(records, text)));
      ASSERT_TRUE(socket.send(tls.take()));
      std::size_t got = 0;
      while (got < text.size()) {
        ASSERT_FALSE(socket.at_end()) << got << " bytes came: " << notes_.text();
        tls.give(socket.receive_some(16384));
        for (std::size_t some = tls.read_some(); some > 0; some = tls.read_some()) got += some;
      }
    }
  }
}

TEST_F(RawTlsPeer, WhoseRecordIsTooLongIsEnded) {
  const std::string url = serve(of_server());
  RawTls tls;
  RawSocket socket{plain(url)};
  shake_hands(tls, socket);
  ASSERT_TRUE(socket.send(tls.take() + std::string("\x17\x03\x03\xff\xff", 5) + std::string(70'000, 'x')));
  while (!socket.at_end()) socket.receive_some(16384);
  EXPECT_TRUE(server_says("TLS: the peer does not keep to it: ")) << notes_.text();
  EXPECT_TRUE(outcome(url, of_client()).ok());
}

// A record that nobody has encrypted, in the midst of those that are.
TEST_F(RawTlsPeer, WhoStopsEncryptingIsEnded) {
  const std::string url = serve(of_server());
  RawTls tls;
  RawSocket socket{plain(url)};
  shake_hands(tls, socket);
  const std::string hello = hello_bytes();
  const char bytes = static_cast<char>(hello.size());
  ASSERT_TRUE(socket.send(tls.take() + std::string("\x17\x03\x03\0", 4) + bytes + hello));
  while (!socket.at_end()) socket.receive_some(16384);
  EXPECT_TRUE(server_says("TLS: the peer does not keep to it: ")) << notes_.text();
}

TEST_F(RawTlsPeer, WhoSendsKeyUpdatesAndNoDataIsEnded) {
  const std::string url = serve(of_server());
  RawTls tls;
  RawSocket socket{plain(url)};
  shake_hands(tls, socket);
  std::string updates = tls.take();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(tls.update_key());
    updates += tls.take();
  }
  static_cast<void>(socket.send(updates));
  while (!socket.at_end()) socket.receive_some(16384);
  EXPECT_TRUE(server_says("records without data")) << notes_.text();
  const Status status = outcome(url, of_client());
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// A call in a client's first message could be sent again by whoever saw it, so no ticket allows it, and what
// comes all the same is dropped before anybody sees it.
TEST_F(RawTlsPeer, WhoSendsDataWithItsFirstMessageIsNotHeard) {
  const auto credentials = shared(of_server());
  const std::string url = serve(credentials);
  RawTls first;
  {
    RawSocket socket{plain(url)};
    shake_hands(first, socket);
    ASSERT_TRUE(socket.send(first.take()));
    while (!first.has_ticket()) {  // it comes behind the server's hello
      ASSERT_FALSE(socket.at_end());
      first.give(socket.receive_some(16384));
      while (first.read()) {
      }
    }
  }
  EXPECT_EQ(first.early_bytes_max(), 0u);

  RawTls again{first};
  RawSocket socket{plain(url)};
  ASSERT_TRUE(again.write_early("no hello of Weft: it would end the connection, if it was heard"));
  shake_hands(again, socket);
  EXPECT_TRUE(again.resumed());
  EXPECT_TRUE(again.early_is_refused());
  ASSERT_TRUE(again.write(hello_bytes()));
  again.end();
  ASSERT_TRUE(socket.send(again.take()));
  while (!socket.at_end()) socket.receive_some(16384);
  EXPECT_EQ(credentials->stats().handshakes, 2u);
  EXPECT_EQ(notes_.text(), "");
}

/// Ends when nobody wants its answer any more.
Task<int> wait_long() {
  [[maybe_unused]] const auto outcome = co_await sleep_for(1h);
  co_return 0;
}

// The goodbye alone would be an end of one side, behind which the answer is still wanted. Nobody pings here,
// so that only the reset tells that the peer has gone.
TEST_F(RawTlsPeer, WhoSaysGoodbyeAndResetsItsConnectionAtOnceHasGone) {
  ServerOptions options{
      .listen = {"tls://127.0.0.1:0"}, .threads = 0, .loop = loop_.get(), .logger = &notes_};
  options.limits.ping_interval = 0s;
  Server server{std::move(options), with(of_server())};
  server.register_handler<&wait_long>();
  ASSERT_TRUE(server.start().ok());
  const auto turn_until = [this](auto condition) {
    const auto patience = std::chrono::steady_clock::now() + 20s;
    while (!condition() && std::chrono::steady_clock::now() < patience) loop_->run_once(1ms);
    return condition();
  };
  RawTls tls;
  faults::HostilePeer socket{testing::connected_socket(plain(server.urls().front()), 0)};
  while (!tls.shake_hands()) {
    ASSERT_TRUE(socket.send(tls.take()));
    ASSERT_TRUE(turn_until([&] { return socket.readable_within(0ms); }));
    tls.give(socket.receive_some());
  }
  ASSERT_TRUE(tls.write(hello_bytes() + faults::request_bytes<&wait_long>(1)));
  ASSERT_TRUE(socket.send(tls.take()));
  ASSERT_TRUE(turn_until([&] { return server.stats().calls_running == 1; }));
  tls.end();
  ASSERT_TRUE(socket.send(tls.take()));
  socket.reset();
  EXPECT_TRUE(turn_until([&] { return server.stats().connections == 0; }));
  EXPECT_TRUE(turn_until([&] { return server.stats().calls_running == 0; }));
}

}  // namespace
}  // namespace weft::testing::raw_tls_peer_tests
