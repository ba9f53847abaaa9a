// SPDX-License-Identifier: Apache-2.0
// CR-10: who is believed, and the words for each who is not.
#include "integration/tls/tls_testing.hpp"

namespace weft::testing::tls_certificate_tests {
namespace {

using ::testing::HasSubstr;
using Certificates = TlsTest;

/// Passes on what the default logger would write.
class WarningsOnly final : public Logger {
 public:
  explicit WarningsOnly(Logger& to) : to_(to) {}
  void write(LogLevel level, std::string_view message) override {
    if (level >= LogLevel::kWarning) to_.write(level, message);
  }

 private:
  Logger& to_;
};

TEST_F(Certificates, AChainThroughAnIntermediateIsBelieved) {
  const TestCa between = ca_.intermediate("the one between");
  const Status status = outcome(serve({.certificates = {between.issue()}}), of_client());
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_F(Certificates, BothSidesAreCheckedWhenClientsNeedACertificate) {
  TlsOptions strict = of_server();
  strict.clients = TlsClients::kRequired;
  strict.ca_pem = ca_.pem();
  TlsOptions own = of_client();
  own.certificates = {ca_.issue({.name = "a client", .purpose = "clientAuth"})};
  const Status status = outcome(serve(strict), own);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_F(Certificates, AClientWithoutACertificateIsToldSo) {
  TlsOptions strict = of_server();
  strict.clients = TlsClients::kRequired;
  strict.ca_pem = ca_.pem();
  const Status status = outcome(serve(strict), of_client());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("the server wants a certificate of this side: set "
                                          "TlsOptions::certificates"));
  EXPECT_TRUE(server_says("the client has no certificate, and TlsOptions::clients requires one"));
}

TEST_F(Certificates, AClientMayComeWithoutOneWhenItIsOnlyAsked) {
  TlsOptions mild = of_server();
  mild.clients = TlsClients::kAsked;
  mild.ca_pem = ca_.pem();
  const Status status = outcome(serve(mild), of_client());
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_F(Certificates, AClientOfAnotherCaIsRefused) {
  const TestCa other{"another CA"};
  TlsOptions strict = of_server();
  strict.clients = TlsClients::kRequired;
  strict.ca_pem = ca_.pem();
  TlsOptions own = of_client();
  own.certificates = {other.issue()};
  const Status status = outcome(serve(strict), own);
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("does not know the CA of this side's certificate"));
  EXPECT_TRUE(server_says("the certificate of the client is of an unknown CA"));
}

TEST_F(Certificates, AnExpiredOneIsRefused) {
  const Status status =
      outcome(serve({.certificates = {ca_.issue({.from_days = -10, .to_days = -1})}}), of_client());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("the certificate of the server has expired"));
  EXPECT_TRUE(server_says("the peer says that this side's certificate has expired"));
}

TEST_F(Certificates, OneThatIsNotYetValidIsRefused) {
  const Status status =
      outcome(serve({.certificates = {ca_.issue({.from_days = 5, .to_days = 10})}}), of_client());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("is not yet valid"));
}

TEST_F(Certificates, OneForAnotherAddressIsRefused) {
  const Status status = outcome(
      serve({.certificates = {ca_.issue({.alternatives = "DNS:localhost,IP:192.0.2.1"})}}), of_client());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("is for another host: it does not have this IP address"));
}

TEST_F(Certificates, OneForAnotherNameIsRefused) {
  const std::string url = serve({.certificates = {ca_.issue({.alternatives = "DNS:a.example"})}});
  TlsOptions named = of_client();
  named.server_name = "b.example";
  const Status status = outcome(url, named);
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("is for another host"));
  named.server_name = "a.example";
  EXPECT_TRUE(outcome(url, named).ok());
}

TEST_F(Certificates, AServerNameThatNoHostCanHaveIsRefusedAndSaid) {
  const std::string url = serve({.certificates = {ca_.issue()}});
  TlsOptions named = of_client();
  named.server_name = std::string(256, 'a');
  const Status status = outcome(url, named);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.to_string();
  EXPECT_EQ(status.retry(), Retry::kNever);
  EXPECT_THAT(status.message(), HasSubstr("TlsOptions::server_name"));
  EXPECT_THAT(status.message(), HasSubstr("is neither a host name nor an IP address"));
}

TEST_F(Certificates, OneOfAnUnknownCaIsRefused) {
  const TestCa other{"another CA"};
  const Status status = outcome(serve({.certificates = {other.issue()}}), of_client());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("is of an unknown CA: add that to TlsOptions::ca_file"));
  EXPECT_TRUE(server_says("the peer does not know the CA"));
}

TEST_F(Certificates, AServerWarnsOfClientsThatDoNotBelieveItOrAgreeWithIt) {
  WarningsOnly warnings{notes_};
  const TestCa other{"another CA"};
  TlsOptions of_others = of_client();
  of_others.alpn = {"h2"};
  const std::pair<TlsOptions, const char*> all[] = {
      {{.ca_pem = other.pem()}, "the peer does not know the CA of this side's certificate"},
      {of_others, "the peer wants another protocol than those of TlsOptions::alpn"}};
  for (const auto& [of_one, words] : all) {
    // Each with a server of its own: one logs an address once a second.
    Server server{{.listen = {"tls://127.0.0.1:0"}, .threads = 1, .logger = &warnings}, with(of_server())};
    server.register_handler<echoed>();
    ASSERT_TRUE(server.start().ok());
    EXPECT_FALSE(outcome(server.urls().front(), of_one).ok());
    EXPECT_TRUE(server_says(words)) << notes_.text();
  }
}

TEST_F(Certificates, ASelfSignedOneIsRefused) {
  const Status status = outcome(serve({.certificates = {TestCa::self_signed()}}), of_client());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("is self-signed"));
}

TEST_F(Certificates, OneForAnotherPurposeIsRefused) {
  const Status status = outcome(serve({.certificates = {ca_.issue({.purpose = "clientAuth"})}}), of_client());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("is for another purpose"));
}

TEST_F(Certificates, OneThatWasRevokedIsRefused) {
  const TlsCertificate own = ca_.issue();
  const std::string url = serve({.certificates = {own}});
  TlsOptions strict = of_client();
  strict.crl_pem = ca_.crl({});
  EXPECT_TRUE(outcome(url, strict).ok());
  strict.crl_pem = ca_.crl({own});
  const Status status = outcome(url, strict);
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("the certificate of the server was revoked by its CA"));
  EXPECT_TRUE(server_says("the peer says that this side's certificate was revoked"));
}

TEST_F(Certificates, OneOfARevokedCaIsRefused) {
  const TestCa between = ca_.intermediate("the one between");
  const std::string url = serve({.certificates = {between.issue()}});
  TlsOptions strict = of_client();
  strict.crl_pem = ca_.crl({}) + between.crl({});
  Status status = outcome(url, strict);
  EXPECT_TRUE(status.ok()) << status.to_string();
  strict.crl_pem = ca_.crl({{.chain_pem = between.pem()}}) + between.crl({});
  status = outcome(url, strict);
  EXPECT_THAT(status.message(), HasSubstr("was revoked by its CA")) << status.to_string();
}

TEST_F(Certificates, EachCaOfAChainNeedsAListThatIsNotOutOfDate) {
  const TestCa other{"another CA"};
  const std::string url = serve(of_server());
  TlsOptions strict = of_client();
  strict.crl_pem = other.crl({});
  Status status = outcome(url, strict);
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("list of revoked certificates is not in TlsOptions::crl_file"));
  strict.crl_pem = ca_.crl({}, -1);
  status = outcome(url, strict);
  EXPECT_THAT(status.message(), HasSubstr("list of revoked certificates is out of date"))
      << status.to_string();
}

TEST_F(Certificates, OneWithAWeakKeyIsRefusedWhoeverHasIt) {
  const TlsCertificate weak = ca_.issue({.rsa_bits = 1024});
  Server server{{.listen = {"tls://127.0.0.1:0"}, .logger = &notes_},
                with(TlsOptions{.certificates = {weak}})};
  const Status status = server.start().status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("its key is too weak: use 2048 bits of RSA, or ECDSA"));
}

TEST_F(Certificates, EachBadOneOfAClientIsRefusedInWordsOnBothSides) {
  TlsOptions strict = of_server();
  strict.clients = TlsClients::kRequired;
  strict.ca_pem = ca_.pem();
  struct Bad {
    TlsCertificate certificate;
    const char* server_says;
    const char* client_says;
  };
  const Bad all[] = {
      {ca_.issue({.from_days = -10, .to_days = -1}), "the certificate of the client has expired",
       "the peer says that this side's certificate has expired"},
      {ca_.issue({.from_days = 5, .to_days = 10}), "the certificate of the client is not yet valid",
       "the peer does not accept this side's certificate"},
      {ca_.issue({.purpose = "serverAuth"}), "the certificate of the client is for another purpose",
       "the peer says that this side's certificate is for another purpose"},
      {TestCa::self_signed(), "the certificate of the client is self-signed",
       "the peer does not know the CA of this side's certificate"},
  };
  for (const Bad& bad : all) {
    TlsOptions own = of_client();
    own.certificates = {bad.certificate};
    // Each by a server of its own: one logs an address once a second.
    const Status status = outcome(serve(strict), own);
    EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
    EXPECT_THAT(status.message(), HasSubstr(bad.client_says));
    EXPECT_TRUE(server_says(bad.server_says)) << notes_.text();
  }
}

// Whoever reads names up to a zero takes it for the host's.
TEST_F(Certificates, OneWithAZeroInItsNameIsNotForTheHostBeforeIt) {
  const std::string url =
      serve({.certificates = {ca_.issue(
                 {.name = "a.example", .raw_alternatives = {std::string{"a.example\0.evil.example", 23}}})}});
  TlsOptions named = of_client();
  named.server_name = "a.example";
  const Status status = outcome(url, named);
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("is for another host"));
}

TEST_F(Certificates, OneOfWhomIsNoCaIsRefused) {
  const TestCa between = ca_.intermediate("the one between");
  TlsCertificate own = between.issue();
  const TlsCertificate leaf = ca_.issue();
  own.chain_pem = own.chain_pem.substr(0, own.chain_pem.find("-----BEGIN", 1)) + leaf.chain_pem;
  const Status status = outcome(serve({.certificates = {own}}), of_client());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
}

// What is sent again and again, and its own issuer at last, is looked at once.
TEST_F(Certificates, AChainThatGoesInCirclesEnds) {
  const TestCa other{"another CA"};
  const TestCa between = other.intermediate("the one between");
  TlsCertificate own = between.issue();
  for (int i = 0; i < 20; ++i) own.chain_pem += other.pem() + between.pem();
  const std::string url = serve({.certificates = {own}});
  const Status status = outcome(url, of_client());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("not believed here")) << status.to_string();
  EXPECT_TRUE(outcome(url, {.ca_pem = other.pem()}).ok());
}

TEST_F(Certificates, WithoutCasThoseOfTheSystemAreBelieved) {
  const Status status = outcome(serve(of_server()), {});
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
}

TEST_F(Certificates, AnyIsTakenByWhoSaysInsecure) {
  const Status status = outcome(serve({.certificates = {TestCa::self_signed()}}), {.insecure = true});
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_F(Certificates, TheNameThatIsAskedForPicksOneOfSeveral) {
  TlsOptions two{.certificates = {ca_.issue({.alternatives = "DNS:a.example"}),
                                  ca_.issue({.alternatives = "DNS:*.b.example"})}};
  const std::string url = serve(two);
  for (const char* name : {"a.example", "x.b.example"}) {
    TlsOptions named = of_client();
    named.server_name = name;
    const Status status = outcome(url, named);
    EXPECT_TRUE(status.ok()) << name << ": " << status.to_string();
  }
}

}  // namespace
}  // namespace weft::testing::tls_certificate_tests
