// SPDX-License-Identifier: Apache-2.0
// CR-10: who a client's certificate is made out for, as handlers and rules hear it.
#include "integration/tls/tls_testing.hpp"
#include "weft/detail/access/policy.hpp"

namespace weft::testing::tls_identity_tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CertificatesOfClients : public TlsTest {
 protected:
  /// A server whose one handler notes who calls.
  std::string serve_noting(TlsClients clients, std::shared_ptr<Authorizer> rules = {}) {
    TlsOptions options = of_server();
    options.clients = clients;
    options.ca_pem = ca_.pem();
    noting_ = std::make_unique<Server>(
        ServerOptions{.listen = {"tls://127.0.0.1:0"}, .authorizer = std::move(rules), .logger = &notes_},
        with(options));
    noting_->register_handler("note", [this](CallContext& context) {
      const std::lock_guard lock{mutex_};
      seen_ = context.identity();
      return 1;
    });
    noting_->start().value();
    return noting_->urls().front();
  }
  Status note(const std::string& url, std::optional<Wanted> certificate) {
    TlsOptions options = of_client();
    if (certificate) options.certificates = {ca_.issue(*certificate)};
    const auto caller = client(url, options);
    return loop_->block_on(noting(*caller)).status();
  }
  static Task<Result<int>> noting(Client& caller) {
    auto answer = co_await caller.call<remote<"note", int()>>();
    co_return answer;
  }
  Identity seen() {
    const std::lock_guard lock{mutex_};
    return seen_;
  }

 private:
  std::mutex mutex_;
  Identity seen_;
  std::unique_ptr<Server> noting_;
};

TEST_F(CertificatesOfClients, SayWhoCalls) {
  const Status status =
      note(serve_noting(TlsClients::kRequired),
           Wanted{.name = "batch", .alternatives = "DNS:batch.example,URI:spiffe://prod/batch"});
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(seen().kind(), Identity::Kind::kCertificate);
  EXPECT_THAT(seen().names(),
              ElementsAre("spiffe://prod/batch", "dns:batch.example", "cn:batch", "subject:CN=batch"));
}

TEST_F(CertificatesOfClients, ThatAreNotThereMakeNobody) {
  ASSERT_TRUE(note(serve_noting(TlsClients::kAsked), std::nullopt).ok());
  EXPECT_TRUE(seen().is_anonymous());
  ASSERT_TRUE(note(serve_noting(TlsClients::kNotAsked), Wanted{.name = "batch"}).ok());
  EXPECT_TRUE(seen().is_anonymous()) << "the server did not look";
}

TEST_F(CertificatesOfClients, WithHostileNamesAreTakenForNobodyElse) {
  Wanted hostile{.name = std::string{"good\0evil", 9}};
  hostile.raw_alternatives = {std::string{"good.example\0.evil", 18}, "\xFF\xFE.example", "a b",
                              std::string(5000, 'x'), std::string{"spiffe://prod/a\0b", 17}};
  const Status status = note(serve_noting(TlsClients::kRequired), hostile);
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_THAT(seen().dns_names(), IsEmpty());
  EXPECT_THAT(seen().uris(), IsEmpty());
  EXPECT_EQ(seen().spiffe_id(), "");
  EXPECT_EQ(seen().subject(), "CN=good\\00evil");
  EXPECT_THAT(seen().names(), ElementsAre("subject:CN=good\\00evil"));
}

TEST_F(CertificatesOfClients, WithThousandsOfNamesHaveABound) {
  Wanted hostile{.name = "many"};
  for (int i = 0; i < 3000; ++i) hostile.raw_alternatives.push_back("host" + std::to_string(i));
  hostile.raw_alternatives.push_back("spiffe://prod/a");
  hostile.raw_alternatives.push_back("spiffe://prod/b");
  const Status status = note(serve_noting(TlsClients::kRequired), hostile);
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(seen().names().size(), Identity::kNamesMax);
  EXPECT_EQ(seen().spiffe_id(), "") << "there are two";
}

TEST_F(CertificatesOfClients, ThatAreHugeEndTheHandshakeAndNothingElse) {
  Wanted huge{.name = "huge"};
  for (int i = 0; i < 40; ++i) huge.raw_alternatives.push_back(std::string(5000, 'x'));
  const std::string url = serve_noting(TlsClients::kRequired);
  EXPECT_FALSE(note(url, huge).ok());
  EXPECT_TRUE(note(url, Wanted{.name = "batch"}).ok());
}

TEST_F(CertificatesOfClients, OfEachNewConnectionAreItsOwn) {
  const std::string url = serve_noting(TlsClients::kAsked);
  ASSERT_TRUE(note(url, Wanted{.name = "first"}).ok());
  EXPECT_EQ(seen().subject(), "CN=first");
  ASSERT_TRUE(note(url, Wanted{.name = "second"}).ok());
  EXPECT_EQ(seen().subject(), "CN=second");
  ASSERT_TRUE(note(url, std::nullopt).ok());
  EXPECT_TRUE(seen().is_anonymous());
}

TEST_F(CertificatesOfClients, AreWhatRulesAreAbout) {
  const auto rules = authorize_by(Policy::parse("allow spiffe://prod/* note").value());
  const std::string url = serve_noting(TlsClients::kAsked, rules);
  EXPECT_TRUE(note(url, Wanted{.alternatives = "URI:spiffe://prod/batch"}).ok());
  const Status other = note(url, Wanted{.alternatives = "URI:spiffe://test/batch"});
  EXPECT_EQ(other.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(other.message(), HasSubstr("spiffe://test/batch may not call it"));
  EXPECT_EQ(note(url, std::nullopt).code(), StatusCode::kUnauthenticated);
}

}  // namespace
}  // namespace weft::testing::tls_identity_tests
