// SPDX-License-Identifier: Apache-2.0
// CR-10: what TlsOptions cannot have is said by the name of the option.
#include "integration/tls/tls_testing.hpp"

namespace weft::testing::tls_option_tests {
namespace {

using ::testing::HasSubstr;

class Options : public TlsTest {
 protected:
  Status starting(TlsOptions tls) {
    Server server{{.listen = {"tls://127.0.0.1:0"}, .threads = 1, .logger = &notes_}, with(std::move(tls))};
    return server.start().status();
  }
  void expect_refusal(TlsOptions tls, const std::string& words) {
    const Status status = starting(std::move(tls));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.to_string();
    EXPECT_THAT(status.message(), HasSubstr(words));
  }
};

TEST_F(Options, AServerNeedsACertificate) {
  expect_refusal({}, "TlsOptions::certificates is empty");
}

TEST_F(Options, FilesThatAreNotThereAreNamed) {
  expect_refusal({.certificates = {{.chain_file = "/no/such.pem", .key_file = "/no/such.key"}}},
                 "TlsOptions::certificates: chain_file: open /no/such.pem: No such file");
}

TEST_F(Options, TextsThatAreNoPemAreNamed) {
  TlsOptions tls = of_server();
  tls.certificates[0].chain_pem = "nonsense";
  expect_refusal(tls, "chain_pem is no certificate in PEM");
  tls = of_server();
  tls.certificates[0].key_pem = "nonsense";
  expect_refusal(tls, "key_pem is no private key in PEM");
}

TEST_F(Options, AKeyHasToBelongToItsCertificate) {
  TlsOptions tls = of_server();
  tls.certificates[0].key_pem = ca_.issue().key_pem;
  expect_refusal(tls, "key_pem does not belong to the certificate");
}

TEST_F(Options, WhoAsksForCertificatesOfClientsSaysWhose) {
  TlsOptions tls = of_server();
  tls.clients = TlsClients::kRequired;
  expect_refusal(tls, "ca_file or ca_pem has to say whose");
}

TEST_F(Options, WhatIsNoCrlIsNamed) {
  TlsOptions tls = of_server();
  tls.clients = TlsClients::kAsked;
  tls.ca_pem = ca_.pem();
  tls.crl_pem = "nothing";
  expect_refusal(tls, "TlsOptions::crl_pem has no CRL in PEM");
}

TEST_F(Options, SessionsDoNotLiveForMoreThanAWeek) {
  TlsOptions tls = of_server();
  tls.session_lifetime = std::chrono::hours{24 * 8};
  expect_refusal(tls, "TlsOptions::session_lifetime is below zero, or above a week");
}

TEST_F(Options, PlainClientsAreNotServedWhereACertificateIsRequired) {
  TlsOptions tls = of_server();
  tls.clients = TlsClients::kRequired;
  tls.ca_pem = ca_.pem();
  tls.plain_too = true;
  expect_refusal(tls, "TlsOptions::plain_too lets clients in that TlsClients::kRequired keeps out");
}

TEST_F(Options, CasWithoutACertificateAreRefusedWhenAClientConnects) {
  const Status status = outcome(serve(of_server()), {.ca_pem = "nothing"});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("TlsOptions::ca_pem has no certificate"));
}

TEST_F(Options, APeerThatWantsAnotherProtocolIsRefused) {
  TlsOptions other = of_client();
  other.alpn = {"h2"};
  const Status status = outcome(serve(of_server()), other);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("TlsOptions::alpn"));
  other.alpn = {};
  EXPECT_TRUE(outcome(server_->urls().front(), other).ok());
}

}  // namespace
}  // namespace weft::testing::tls_option_tests
