// SPDX-License-Identifier: Apache-2.0
// CR-10: peers that are none of ours: the openssl tool at the other end.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "integration/tls/tls_testing.hpp"

namespace weft::testing::tls_stranger_tests {
namespace {

using ::testing::HasSubstr;

class Strangers : public TlsTest {
 protected:
  Strangers() {
    char name[] = "/tmp/weft-tls-XXXXXX";
    directory_ = ::mkdtemp(name);
    const TlsCertificate own = ca_.issue();
    write("ca.pem", ca_.pem());
    write("own.pem", own.chain_pem);
    write("own.key", own.key_pem);
  }
  ~Strangers() override { std::filesystem::remove_all(directory_); }

  void SetUp() override {
    if (std::system("openssl version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no openssl tool here";
  }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  void write(const std::string& name, const std::string& text) { std::ofstream{path(name)} << text; }
  static std::string host_of(const std::string& url) { return url.substr(url.find("//") + 2); }
  /// Runs s_client to its end, and returns what it says.
  std::string s_client(const std::string& url, const std::string& more) {
    const std::string command = "openssl s_client -connect " + host_of(url) + " -CAfile " + path("ca.pem") +
                                " -verify_return_error -brief " + more + " < /dev/null 2>&1";
    return run(command);
  }
  static std::string run(const std::string& command) {
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    std::string said;
    char part[4096];
    while (const std::size_t got = std::fread(part, 1, sizeof part, pipe)) said.append(part, got);
    ::pclose(pipe);
    return said;
  }

  std::string directory_;
};

TEST_F(Strangers, ClientsOfOpensslShakeHands) {
  const std::string said = s_client(serve(of_server()), "-alpn weft");
  EXPECT_THAT(said, HasSubstr("Verification: OK"));
  EXPECT_THAT(said, HasSubstr("TLSv1.3"));
}

TEST_F(Strangers, ClientsOfOpensslWithAnOldVersionAreRefused) {
  EXPECT_THAT(s_client(serve(of_server()), "-tls1_2"), HasSubstr("alert protocol version"));
  EXPECT_TRUE(server_says("no common version of TLS")) << notes_.text();
}

TEST_F(Strangers, AnOldVersionIsSpokenWhenItIsAskedFor) {
  TlsOptions old = of_server();
  old.version_min = TlsVersion::k12;
  const std::string said = s_client(serve(old), "-tls1_2");
  EXPECT_THAT(said, HasSubstr("Verification: OK"));
  EXPECT_THAT(said, HasSubstr("TLSv1.2"));
}

TEST_F(Strangers, ClientsOfOpensslFindNoWayToSendDataWithTheirFirstMessage) {
  const std::string url = serve(of_server());
  write("early", "GET / HTTP/1.1\r\n\r\n");
  // The ticket comes behind the handshake, so the client's input stays open until it is printed.
  const std::string words = " -alpn weft -no_ign_eof -CAfile " + path("ca.pem") + " -connect " + host_of(url);
  const std::string kept =
      run("mkfifo " + path("input") + " && timeout 20 openssl s_client -sess_out " + path("session") + words +
          " < " + path("input") + " 2>&1 | (exec 3> " + path("input") + "; sed '/Max Early Data/q')");
  EXPECT_THAT(kept, HasSubstr("Max Early Data: 0"));
  const std::string said = run("openssl s_client -sess_in " + path("session") + " -early_data " +
                               path("early") + words + " < /dev/null 2>&1");
  EXPECT_THAT(said, HasSubstr("Reused, TLSv1.3"));
  EXPECT_THAT(said, HasSubstr("Early data was not sent"));
}

TEST_F(Strangers, ClientsOfOpensslWithAnotherProtocolAreRefused) {
  EXPECT_THAT(s_client(serve(of_server()), "-alpn h2"), HasSubstr("alert no application protocol"));
}

TEST_F(Strangers, WhoComesBackWithAnOlderVersionThanItSpeaksIsRefused) {
  TlsOptions old = of_server();
  old.version_min = TlsVersion::k12;
  EXPECT_THAT(s_client(serve(old), "-tls1_2 -fallback_scsv"), HasSubstr("inappropriate fallback"));
  EXPECT_TRUE(server_says("an older version than both sides speak")) << notes_.text();
}

TEST_F(Strangers, ClientsOfOpensslWithAWeakKeyAreRefused) {
  TlsOptions strict = of_server();
  strict.clients = TlsClients::kRequired;
  strict.ca_pem = ca_.pem();
  const TlsCertificate weak = ca_.issue({.rsa_bits = 1024});
  write("weak.pem", weak.chain_pem);
  write("weak.key", weak.key_pem);
  const std::string own = "-cipher ALL:@SECLEVEL=0 -cert " + path("weak.pem") + " -key " + path("weak.key");
  s_client(serve(strict), own);
  EXPECT_TRUE(server_says("the certificate of the client has a key that is too weak")) << notes_.text();
}

TEST_F(Strangers, ClientsOfOpensslInAnyShapeLeaveTheServerWell) {
  const std::string url = serve(of_server());
  for (const char* shape :
       {"-max_send_frag 512 -split_send_frag 512 -max_pipelines 1", "-maxfraglen 512", "-groups P-521",
        "-groups X448:P-256", "-ciphersuites TLS_CHACHA20_POLY1305_SHA256", "-no_ticket", "-no_middlebox",
        "-servername nobody.example", "-noservername", "-sigalgs ECDSA+SHA256", "-psk 00ff -psk_identity x",
        "-status", "-record_padding 16384", "-read_buf 1", "-keymatexport x", "-alpn weft,h2"}) {
    EXPECT_THAT(s_client(url, shape), HasSubstr("Verification: OK")) << shape;
    EXPECT_TRUE(outcome(url, of_client()).ok()) << shape;
  }
  EXPECT_EQ(notes_.text(), "");
}

/// s_server of the openssl tool, which ends with this.
class Stranger {
 public:
  explicit Stranger(const std::string& more) {
    std::string command = "exec openssl s_server -accept 127.0.0.1:0 " + more + " 2>&1";
    int pipe[2];
    int input[2];
    EXPECT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(input, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(input[0], 0);  // it ends with its input
      ::dup2(pipe[1], 1);
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(pipe[1]);
    ::close(input[0]);
    input_ = input[1];
    from_ = ::fdopen(pipe[0], "r");
    char line[1024];
    while (std::fgets(line, sizeof line, from_) != nullptr) {
      const std::string said{line};
      if (!said.starts_with("ACCEPT ")) continue;
      const std::size_t colon = said.rfind(':');
      url_ = "tls://127.0.0.1:" + said.substr(colon + 1, said.find('\n') - colon - 1);
      break;
    }
  }
  ~Stranger() {
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    std::fclose(from_);
    ::close(input_);
  }
  const std::string& url() const { return url_; }

 private:
  pid_t pid_ = 0;
  int input_ = -1;
  std::FILE* from_ = nullptr;
  std::string url_;
};

TEST_F(Strangers, ServersOfOpensslWithAnOldVersionAreRefused) {
  const Stranger server{"-tls1_2 -cert " + path("own.pem") + " -key " + path("own.key")};
  const Status status = outcome(server.url(), of_client());
  EXPECT_THAT(status.message(), HasSubstr("no common version of TLS")) << status.to_string();
}

TEST_F(Strangers, ServersOfOpensslWithAWeakKeyAreRefused) {
  const TlsCertificate weak = ca_.issue({.rsa_bits = 1024});
  write("weak.pem", weak.chain_pem);
  write("weak.key", weak.key_pem);
  const Stranger server{"-cipher ALL:@SECLEVEL=0 -cert " + path("weak.pem") + " -key " + path("weak.key")};
  const Status status = outcome(server.url(), of_client());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("has a key that is too weak: use 2048 bits of RSA, or ECDSA"));
}

TEST_F(Strangers, ServersOfOpensslThatWantACertificateAreUnderstood) {
  const Stranger server{"-Verify 1 -verify_return_error -CAfile " + path("ca.pem") + " -cert " +
                        path("own.pem") + " -key " + path("own.key")};
  const Status status = outcome(server.url(), of_client());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("TlsOptions::certificates"));
}

}  // namespace
}  // namespace weft::testing::tls_stranger_tests
