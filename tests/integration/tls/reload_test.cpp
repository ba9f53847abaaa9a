// SPDX-License-Identifier: Apache-2.0
// CR-10: certificates, keys, CAs and CRLs are read again, without a restart and without losing a connection.
#include <sys/stat.h>

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
  EXPECT_EQ(lines_with("server.pem ends within a line"), 1u) << notes_.text();
  EXPECT_EQ(credentials->stats().reloads_failed, 1u);
  files_.write("server", next_.issue());
  EXPECT_TRUE(outcome(url, {.ca_pem = next_.pem()}).ok());
}

TEST_F(Reload, AnExpiredCertificateKeepsTheGoodOneInUse) {
  const auto credentials = of_files();
  const std::string url = serve(credentials);
  ASSERT_TRUE(outcome(url, of_client()).ok());
  EXPECT_TRUE(credentials->last_failure().ok());
  files_.write("server", ca_.issue({.from_days = -30, .to_days = -1}));
  for (int i = 0; i < 3; ++i) {
    const Status status = outcome(url, of_client());
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  EXPECT_EQ(lines_with("the last good ones stay: "), 1u) << notes_.text();
  EXPECT_THAT(credentials->last_failure().message(), HasSubstr("certificates: the certificate has expired"));
  EXPECT_EQ(credentials->reload().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(credentials->stats().reloads_failed, 2u);
  EXPECT_EQ(credentials->stats().reloads, 0u);
  files_.write("server", next_.issue());
  EXPECT_TRUE(outcome(url, {.ca_pem = next_.pem()}).ok());
  EXPECT_TRUE(credentials->last_failure().ok());
}

TEST_F(Reload, ACertificateThatIsNotYetValidIsReadAgainUntilItIs) {
  const auto credentials = of_files();
  const std::string url = serve(credentials);
  files_.write("server", ca_.issue({.from_days = 1, .to_days = 30}));
  EXPECT_TRUE(outcome(url, of_client()).ok());
  EXPECT_THAT(credentials->last_failure().message(), HasSubstr("the certificate is not yet valid"));
  EXPECT_EQ(credentials->last_failure().retry(), Retry::kBackoff);
  const std::uint64_t read = credentials->stats().reloads_failed;
  EXPECT_TRUE(comes_true([&] {
    EXPECT_TRUE(outcome(url, of_client()).ok());
    return credentials->stats().reloads_failed > read;
  })) << "the files stay the same, and the clock goes on";
}

TEST_F(Reload, ACertificateOfAnotherPurposeKeepsTheGoodOneInUse) {
  const auto credentials = of_files();
  const std::string url = serve(credentials);
  files_.write("server", ca_.issue({.purpose = "clientAuth"}));
  EXPECT_TRUE(outcome(url, of_client()).ok());
  EXPECT_THAT(credentials->last_failure().message(), HasSubstr("for another purpose"));
}

TEST_F(Reload, AnExpiredCertificateReplacesOneThatHasExpiredToo) {
  const auto credentials = of_files();
  files_.write("server", ca_.issue({.from_days = -30, .to_days = -2}));
  const std::string url = serve(credentials);
  EXPECT_EQ(outcome(url, of_client()).code(), StatusCode::kUnauthenticated);
  EXPECT_TRUE(server_says("TLS: connections will fail: ")) << notes_.text();
  files_.write("server", ca_.issue({.from_days = -30, .to_days = -1}));
  EXPECT_EQ(outcome(url, of_client()).code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(credentials->stats().reloads, 1u);
  files_.write("server", ca_.issue());
  EXPECT_TRUE(outcome(url, of_client()).ok());
}

TEST_F(Reload, AnExpiredClientCertificateKeepsTheGoodOneInUse) {
  const std::string url = serve({.certificates = {ca_.issue()},
                                 .ca_pem = ca_.pem(),
                                 .clients = TlsClients::kRequired,
                                 .logger = &notes_});
  const auto credentials = shared({.certificates = {files_.write("client", ca_.issue({.name = "client"}))},
                                   .ca_pem = ca_.pem(),
                                   .reload_interval = {},
                                   .logger = &notes_});
  ASSERT_TRUE(outcome(url, credentials).ok());
  files_.write("client", ca_.issue({.name = "client", .from_days = -30, .to_days = -1}));
  EXPECT_TRUE(outcome(url, credentials).ok());
  EXPECT_THAT(credentials->last_failure().message(), HasSubstr("the certificate has expired"));
  files_.write("client.pem", "");
  EXPECT_TRUE(outcome(url, credentials).ok());
  EXPECT_EQ(credentials->stats().reloads_failed, 2u);
}

TEST_F(Reload, CasThatAreEmptyOrCutKeepTheGoodOnes) {
  const std::string url = serve(of_server());
  const auto credentials = shared(
      {.ca_file = files_.write("ca.pem", next_.pem() + ca_.pem()), .reload_interval = {}, .logger = &notes_});
  ASSERT_TRUE(outcome(url, credentials).ok());
  files_.write("ca.pem", "");
  EXPECT_TRUE(outcome(url, credentials).ok());
  EXPECT_THAT(credentials->last_failure().message(), HasSubstr("ca_file has no certificate in PEM"));
  files_.write("ca.pem", next_.pem() + ca_.pem().substr(0, 10));
  EXPECT_TRUE(outcome(url, credentials).ok());
  EXPECT_THAT(credentials->last_failure().message(), HasSubstr("ends within a line"));
  files_.write("ca.pem", next_.pem() + ca_.pem().substr(0, ca_.pem().size() / 2));
  EXPECT_TRUE(outcome(url, credentials).ok());
  EXPECT_FALSE(credentials->last_failure().ok());
}

TEST_F(Reload, AListOfRevokedThatIsOutOfDateKeepsTheGoodOne) {
  const TlsCertificate lost = ca_.issue({.name = "lost"});
  const auto credentials = shared({.certificates = {ca_.issue()},
                                   .ca_pem = ca_.pem(),
                                   .crl_file = files_.write("ca.crl", ca_.crl({lost})),
                                   .reload_interval = {},
                                   .clients = TlsClients::kRequired,
                                   .logger = &notes_});
  const std::string url = serve(credentials);
  const auto good = shared({.certificates = {ca_.issue({.name = "good"})}, .ca_pem = ca_.pem()});
  const auto as_lost = shared({.certificates = {lost}, .ca_pem = ca_.pem(), .session_lifetime = {}});
  ASSERT_TRUE(outcome(url, good).ok());
  for (const std::string& list : {ca_.crl({}, -1), ca_.crl({}).substr(0, 100), std::string{}}) {
    files_.write("ca.crl", list);
    const Status status = outcome(url, good);
    EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(outcome(url, as_lost).code(), StatusCode::kUnauthenticated);
    EXPECT_FALSE(credentials->last_failure().ok());
  }
  EXPECT_EQ(credentials->stats().reloads_failed, 3u);
  EXPECT_GT(credentials->stats().resumed, 0u) << "the keys of tickets stay with the files";
  files_.write("ca.crl", ca_.crl({}));
  EXPECT_TRUE(outcome(url, as_lost).ok());
}

TEST_F(Reload, FilesWrittenInPlaceAreReadOnceTwoLooksFindTheSame) {
  const auto credentials = of_files();
  const std::string url = serve(credentials);
  ASSERT_TRUE(outcome(url, of_client()).ok());
  const TlsCertificate fresh = next_.issue();
  std::ofstream{files_.path("server.pem")} << fresh.chain_pem;
  std::ofstream{files_.path("server.key")} << fresh.key_pem;
  EXPECT_TRUE(outcome(url, of_client()).ok()) << "the writer may not be done";
  EXPECT_TRUE(outcome(url, {.ca_pem = next_.pem()}).ok());
  EXPECT_EQ(credentials->stats().reloads_failed, 0u);
}

TEST_F(Reload, APipeOrAFolderInTheFilesPlaceHoldsNothingUp) {
  const auto credentials = of_files();
  const std::string url = serve(credentials);
  std::filesystem::remove(files_.path("server.pem"));
  ASSERT_EQ(::mkfifo(files_.path("server.pem").c_str(), 0600), 0);
  for (int looks = 0; looks < 2; ++looks) EXPECT_TRUE(outcome(url, of_client()).ok());
  EXPECT_THAT(credentials->last_failure().message(), HasSubstr("no regular file"));
  std::filesystem::remove(files_.path("server.key"));
  std::filesystem::create_directory(files_.path("server.key"));
  for (int looks = 0; looks < 2; ++looks) EXPECT_TRUE(outcome(url, of_client()).ok());
}

TEST_F(Reload, ATextCutAnywhereIsReadAsAWholeOrRefused) {
  const TestCa middle = ca_.intermediate("middle");
  const TlsCertificate own = middle.issue();
  const std::size_t leaf = own.chain_pem.find("-----BEGIN", 1);
  const auto credentials = shared({.certificates = {files_.write("server", own)}, .logger = &notes_});
  serve(credentials);
  for (std::size_t cut = 0; cut < own.chain_pem.size(); ++cut) {
    files_.write("server.pem", own.chain_pem.substr(0, cut));
    const bool ends_with_leaf = cut == leaf || cut + 1 == leaf;
    const bool ends_with_all = cut + 1 == own.chain_pem.size();
    EXPECT_EQ(credentials->reload().ok(), ends_with_leaf || ends_with_all) << cut;
  }
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
