// SPDX-License-Identifier: Apache-2.0
// CR-11: curl calls functions, in the clear and over TLS.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <weft/http.hpp>
#include <weft/weft.hpp>
#if WEFT_HAVE_TLS
#include "support/test_ca.hpp"
#endif

namespace http_demo {

std::string greet(std::string name) {
  return "hello " + name;
}

}  // namespace http_demo

namespace weft::testing {
namespace {

/// Runs curl with `arguments`, and returns its output; "<failed>" if it fails.
std::string curl(const std::string& arguments) {
  const std::string command = "curl --silent --show-error --max-time 20 " + arguments + " 2>&1";
  std::FILE* const output = ::popen(command.c_str(), "r");
  if (output == nullptr) return "<failed>";
  std::string text;
  char bytes[4096];
  while (const std::size_t got = std::fread(bytes, 1, sizeof bytes, output)) text.append(bytes, got);
  return ::pclose(output) == 0 ? text : "<failed> " + text;
}

bool has_curl() {
  return std::system("curl --version > /dev/null 2>&1") == 0;
}

std::string port_of(const Server& server) {
  const std::string url = server.urls().front();
  return url.substr(url.rfind(':') + 1);
}

TEST(Curl, CallsAFunction) {
  if (!has_curl()) GTEST_SKIP() << "curl is not installed";
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .protocols = {http()}}};
  server.register_handler<http_demo::greet>();
  ASSERT_TRUE(server.start().ok());
  const std::string url = "http://127.0.0.1:" + port_of(server) + "/functions/http_demo::greet";
  EXPECT_EQ(curl(url + " -d '[\"you\"]'"), "\"hello you\"");
  EXPECT_EQ(curl(url + " -d '[\"a\"]' --next --silent " + url + " -d '[\"b\"]'"), "\"hello a\"\"hello b\"");
  EXPECT_EQ(curl("--output /dev/null --write-out '%{http_code}' " + url + "x -d '[]'"), "501");
  EXPECT_EQ(curl("--http1.0 " + url + " -d '[\"you\"]'"), "\"hello you\"");
}

#if WEFT_HAVE_TLS
TEST(Curl, CallsAFunctionOverTlsBesideClientsOfWeft) {
  if (!has_curl()) GTEST_SKIP() << "curl is not installed";
  const TestCa ca;
  TransportOptions transports;
  transports.tls.certificates = {ca.issue()};
  transports.tls.ca_pem = ca.pem();
  Server server{{.listen = {"tls://127.0.0.1:0"}, .protocols = {http()}}, transports};
  server.register_handler<http_demo::greet>();
  ASSERT_TRUE(server.start().ok());
  const std::string file = ::testing::TempDir() + "curl_ca_" + std::to_string(::getpid()) + ".pem";
  std::ofstream{file} << ca.pem();
  const std::string url = "https://127.0.0.1:" + port_of(server) + "/functions/http_demo::greet";
  EXPECT_EQ(curl("--cacert " + file + " " + url + " -d '[\"you\"]'"), "\"hello you\"");
  EXPECT_EQ(curl("--no-alpn --cacert " + file + " " + url + " -d '[\"you\"]'"), "\"hello you\"");
  std::filesystem::remove(file);
  BlockingClient client{{.connect = server.urls().front()}, make_transports(transports)};
  const Result<std::string> answer = client.call<http_demo::greet>("Weft");
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(*answer, "hello Weft");
}
#endif

}  // namespace
}  // namespace weft::testing
