// SPDX-License-Identifier: Apache-2.0
// CR-10: a client of OpenSSL's own that sends its records when a test says so.
#include <openssl/ssl.h>

#include <memory>
#include <thread>

#include "integration/tls/tls_testing.hpp"
#include "support/raw_socket.hpp"

namespace weft::testing::raw_tls_peer_tests {
namespace {

using ::testing::HasSubstr;

/// TLS 1.3 in memory: what it would send is taken, what it received is given.
class RawTls {
 public:
  RawTls()
      : context_(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free), ssl_(SSL_new(context_.get()), &SSL_free) {
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    char name[] = "localhost";  // SSL_set_tlsext_host_name() is a macro of old casts
    SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name);
    SSL_set_connect_state(ssl_.get());
  }

  bool shake_hands() { return SSL_do_handshake(ssl_.get()) == 1; }
  bool update_key() {
    return SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(ssl_.get()) == 1;
  }
  std::string take() {
    std::string bytes(BIO_ctrl_pending(SSL_get_wbio(ssl_.get())), '\0');
    if (!bytes.empty()) BIO_read(SSL_get_wbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  void give(const std::string& bytes) {
    if (!bytes.empty()) BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  }

 private:
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

class RawTlsPeer : public TlsTest {
 protected:
  static detail::Url plain(const std::string& url) {
    detail::Url parsed = detail::Url::parse(url).value();
    parsed.scheme = "tcp";
    return parsed;
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

TEST_F(RawTlsPeer, WhoSendsKeyUpdatesAndNoDataIsEnded) {
  const std::string url = serve(of_server());
  RawTls tls;
  RawSocket socket{plain(url)};
  while (!tls.shake_hands()) {
    ASSERT_TRUE(socket.send(tls.take()));
    std::string got;
    while (got.empty() && !socket.at_end()) got = socket.receive_some(16384);
    ASSERT_FALSE(got.empty()) << "the server ended the handshake";
    tls.give(got);
  }
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

}  // namespace
}  // namespace weft::testing::raw_tls_peer_tests
