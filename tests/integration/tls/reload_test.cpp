// SPDX-License-Identifier: Apache-2.0
// CR-10: certificates, keys, CAs and CRLs are read again, without a restart and without losing a connection.
#include "integration/tls/tls_files.hpp"
#include "integration/tls/tls_testing.hpp"

namespace weft::testing::tls_reload_tests {
namespace {

using ::testing::HasSubstr;

class Reload : public TlsTest {
 protected:
  /// A server whose files are looked at by each handshake.
  std::shared_ptr<TlsCredentials> of_files(Duration interval = Duration{}) {
    return shared({.certificates = {files_.write("server", ca_.issue())},
                   .reload_interval = interval,
                   .logger = &notes_});
  }
  std::size_t lines_with(const std::string& text) {
    const std::string all = notes_.text();
    std::size_t count = 0;
    for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++count;
    return count;
  }

  const TestCa next_{"the next CA"};
  TlsFiles files_;
};

TEST_F(Reload, NewHandshakesTakeChangedFilesAndConnectionsGoOn) {
  const auto credentials = of_files();
  const std::string url = serve(credentials);
  const auto before = client(url, of_client());
  ASSERT_TRUE(ask(*before).ok());
  const std::uint64_t accepted = server_->stats().connections_accepted;
  files_.write("server", next_.issue());
  EXPECT_EQ(outcome(url, of_client()).code(), StatusCode::kUnauthenticated);
  const Status status = outcome(url, {.ca_pem = next_.pem()});
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(ask(*before).ok()) << "its connection is of the old certificate";
  EXPECT_EQ(server_->stats().connections_accepted, accepted + 2) << "and was not made again";
  EXPECT_EQ(credentials->stats().reloads, 1u);
}

TEST_F(Reload, FilesAreNotLookedAtBeforeTheIntervalIsOver) {
  const auto credentials = of_files(std::chrono::hours{1});
  const std::string url = serve(credentials);
  ASSERT_TRUE(outcome(url, of_client()).ok());
  files_.write("server", next_.issue());
  EXPECT_TRUE(outcome(url, of_client()).ok());
  ASSERT_TRUE(credentials->reload().ok());
  EXPECT_TRUE(outcome(url, {.ca_pem = next_.pem()}).ok());
}

TEST_F(Reload, ABadFileKeepsTheLastGoodOneAndIsLoggedOnce) {
  const auto credentials = of_files();
  const std::string url = serve(credentials);
  files_.write("server.pem", "half of a certifi");
  for (int i = 0; i < 3; ++i) {
    const Status status = outcome(url, of_client());
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  EXPECT_EQ(lines_with("the last good ones stay: "), 1u) << notes_.text();
  EXPECT_EQ(lines_with("chain_file is no certificate in PEM"), 1u) << notes_.text();
  EXPECT_EQ(credentials->stats().reloads_failed, 1u);
  files_.write("server", next_.issue());
  EXPECT_TRUE(outcome(url, {.ca_pem = next_.pem()}).ok());
}

TEST_F(Reload, AFileThatIsGoneKeepsTheLastGoodOne) {
  const auto credentials = of_files();
  const std::string url = serve(credentials);
  std::filesystem::remove(files_.path("server.key"));
  EXPECT_TRUE(outcome(url, of_client()).ok());
  EXPECT_EQ(lines_with("server.key"), 1u) << notes_.text();
}

TEST_F(Reload, ACertificateWhoseKeyIsStillTheOldOneWaitsForIt) {
  const auto credentials = of_files();
  const std::string url = serve(credentials);
  const TlsCertificate fresh = next_.issue();
  files_.write("server.pem", fresh.chain_pem);
  EXPECT_TRUE(outcome(url, of_client()).ok()) << "the pair from before";
  files_.write("server.key", fresh.key_pem);
  EXPECT_TRUE(outcome(url, {.ca_pem = next_.pem()}).ok());
}

TEST_F(Reload, ByACallSaysWhichOptionIsNotGoodAndChangesNothing) {
  const auto credentials = of_files(kNoTimeout);
  EXPECT_TRUE(credentials->reload().ok()) << "nothing was read yet";
  const std::string url = serve(credentials);
  files_.write("server.key", ca_.issue().key_pem);
  const Status status = credentials->reload();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("key_file does not belong to the certificate"));
  EXPECT_TRUE(outcome(url, of_client()).ok());
}

TEST_F(Reload, AClientReadsItsCasAgain) {
  const std::string url = serve({.certificates = {next_.issue()}});
  const auto credentials = shared({.ca_file = files_.write("ca.pem", ca_.pem()), .reload_interval = {}});
  EXPECT_EQ(outcome(url, credentials).code(), StatusCode::kUnauthenticated);
  files_.write("ca.pem", ca_.pem() + next_.pem());
  const Status status = outcome(url, credentials);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_F(Reload, AClientThatWasRevokedMeanwhileIsRefusedAndResumesNothing) {
  const TlsCertificate good = ca_.issue({.name = "good"});
  const TlsCertificate lost = ca_.issue({.name = "lost"});
  const auto credentials = shared({.certificates = {ca_.issue()},
                                   .ca_pem = ca_.pem(),
                                   .crl_file = files_.write("ca.crl", ca_.crl({})),
                                   .reload_interval = {},
                                   .clients = TlsClients::kRequired});
  const std::string url = serve(credentials);
  const auto as_lost = shared({.certificates = {lost}, .ca_pem = ca_.pem()});
  ASSERT_TRUE(outcome(url, as_lost).ok());
  files_.write("ca.crl", ca_.crl({lost}));
  const Status status = outcome(url, as_lost);
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("the peer says that this side's certificate was revoked"));
  EXPECT_TRUE(server_says("the certificate of the client was revoked by its CA")) << notes_.text();
  EXPECT_TRUE(outcome(url, {.certificates = {good}, .ca_pem = ca_.pem()}).ok());
  EXPECT_EQ(credentials->stats().resumed, 0u);
  EXPECT_EQ(credentials->stats().certificates_refused, 1u);
}

}  // namespace
}  // namespace weft::testing::tls_reload_tests
