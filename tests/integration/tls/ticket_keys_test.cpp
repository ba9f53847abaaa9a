// SPDX-License-Identifier: Apache-2.0
// CR-10: the keys of a server's tickets change, and sessions of keys that are gone are not resumed.
#include "transport/tls/ticket_keys.hpp"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <chrono>

#include "support/test_ca.hpp"
#include "transport/tls/handles.hpp"
#include "transport/tls/openssl.hpp"

namespace weft::testing::tls_ticket_tests {
namespace {

using detail::tls::Owned;
using namespace std::chrono_literals;

/// A server and clients of OpenSSL in memory.
class Tickets : public ::testing::Test {
 protected:
  Tickets() : server_(SSL_CTX_new(TLS_server_method())), client_(SSL_CTX_new(TLS_client_method())) {
    const TlsCertificate own = TestCa{}.issue();
    const Owned<BIO> chain{BIO_new_mem_buf(own.chain_pem.data(), -1)};
    const Owned<X509> certificate{PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)};
    const Owned<BIO> secret{BIO_new_mem_buf(own.key_pem.data(), -1)};
    const Owned<EVP_PKEY> key{PEM_read_bio_PrivateKey(secret.get(), nullptr, nullptr, nullptr)};
    EXPECT_EQ(SSL_CTX_use_certificate(server_.get(), certificate.get()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(server_.get(), key.get()), 1);
    SSL_CTX_set_session_cache_mode(server_.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_cache_mode(client_.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(client_.get(), keep);
    kept.reset();
    EXPECT_TRUE(detail::tls::load_openssl().ok()) << "the keys call OpenSSL as TlsOptions do";
    EXPECT_TRUE(keys_.use_in(*server_));
  }
  ~Tickets() override { kept.reset(); }

  /// A handshake at `now` with the session that was kept last. True when that was resumed.
  bool resumes(TimePoint now) {
    keys_.see(now);
    const Owned<SSL> server{SSL_new(server_.get())};
    const Owned<SSL> client{SSL_new(client_.get())};
    BIO* one = nullptr;
    BIO* other = nullptr;
    EXPECT_EQ(BIO_new_bio_pair(&one, 0, &other, 0), 1);
    SSL_set_bio(server.get(), one, one);
    SSL_set_bio(client.get(), other, other);
    SSL_set_accept_state(server.get());
    SSL_set_connect_state(client.get());
    if (kept != nullptr) SSL_set_session(client.get(), kept.get());
    for (int i = 0; i < 4; ++i) {
      SSL_do_handshake(client.get());
      SSL_do_handshake(server.get());
    }
    char byte;
    EXPECT_LE(SSL_read(client.get(), &byte, 1), 0) << "takes the ticket in";
    EXPECT_EQ(SSL_is_init_finished(server.get()), 1);
    SSL_set_shutdown(client.get(),
                     SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);  // or OpenSSL resumes it no more
    return SSL_session_reused(client.get()) == 1;
  }

  static int keep(SSL*, SSL_SESSION* session) {
    kept.reset(session);
    return 1;
  }

  static inline Owned<SSL_SESSION> kept;
  detail::tls::TicketKeys keys_{1h};
  Owned<SSL_CTX> server_;
  Owned<SSL_CTX> client_;
  const TimePoint start_{std::chrono::hours{24}};
};

TEST_F(Tickets, AreReadWithTheKeyOfNowAndTheOneBefore) {
  EXPECT_FALSE(resumes(start_));
  EXPECT_TRUE(resumes(start_ + 59min));
  EXPECT_TRUE(resumes(start_ + 61min)) << "the key before";
  EXPECT_TRUE(resumes(start_ + 130min)) << "its ticket is of the second key";
}

TEST_F(Tickets, OfAKeyThatIsGoneAreNotResumed) {
  EXPECT_FALSE(resumes(start_));
  keys_.see(start_ + 1h);
  keys_.see(start_ + 2h);
  EXPECT_FALSE(resumes(start_ + 2h));
  EXPECT_TRUE(resumes(start_ + 2h));
}

TEST_F(Tickets, OfAServerThatWasIdleForLongAreNotResumed) {
  EXPECT_FALSE(resumes(start_));
  EXPECT_FALSE(resumes(start_ + 10h));
}

TEST_F(Tickets, OfOtherKeysAreNotResumed) {
  EXPECT_FALSE(resumes(start_));
  detail::tls::TicketKeys others{1h};
  others.see(start_);
  ASSERT_TRUE(others.use_in(*server_));
  EXPECT_FALSE(resumes(start_));
  ASSERT_TRUE(keys_.use_in(*server_));
}

}  // namespace
}  // namespace weft::testing::tls_ticket_tests
