// SPDX-License-Identifier: Apache-2.0
// The page of metrics of a server that has served calls, as promtool sees it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <weft/metrics.hpp>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::metrics_tests {
namespace {

int divide(int dividend, int divisor) {
  if (divisor == 0) throw user_error(1, "division by zero", StatusCode::kInvalidArgument);
  return dividend / divisor;
}
Task<int> divide_later(int dividend, int divisor) {
  co_return divide(dividend, divisor);
}

class Metrics : public RpcTest {
 protected:
  /// Serves calls of each outcome.
  const Server& used_server() {
    Server& server = serve_here([](Server& its) { its.register_handler<divide, divide_later>(); });
    Client& caller = client(server);
    for (int divisor = 0; divisor < 3; ++divisor) {
      EXPECT_EQ((call<divide>(caller, 6, divisor).ok()), divisor != 0);
      EXPECT_EQ((call<divide_later>(caller, 6, divisor).ok()), divisor != 0);
    }
    EXPECT_FALSE((call<remote<"no such", int(int)>>(caller, 1).ok()));
    return server;
  }
};

TEST_F(Metrics, CountTheCallsOfAServer) {
  const std::string page = metrics_text(used_server().stats(), MetricsFormat::kPrometheus);
  const auto has = [&page](const std::string& line) {
    return page.find("\n" + line + "\n") != std::string::npos;
  };
  const std::string divide_name = "weft::testing::metrics_tests::(anonymous namespace)::divide";
  EXPECT_TRUE(
      has("weft_server_calls_total{method=\"" + divide_name + "\",outcome=\"answered\",code=\"OK\"} 2"))
      << page;
  EXPECT_TRUE(has("weft_server_calls_total{method=\"" + divide_name +
                  "\",outcome=\"failed\",code=\"INVALID_ARGUMENT\"} 1"));
  EXPECT_TRUE(has("rpc_server_call_duration_seconds_count{rpc_system_name=\"weft\",rpc_method=\"" +
                  divide_name + "\",rpc_response_status_code=\"OK\"} 2"));
  EXPECT_TRUE(
      has("rpc_server_call_duration_seconds_count{rpc_system_name=\"weft\",rpc_method=\"_OTHER\","
          "rpc_response_status_code=\"UNIMPLEMENTED\"} 1"));
  EXPECT_TRUE(has("weft_server_refusals_total{reason=\"unknown_method\"} 1"));
  EXPECT_TRUE(has("weft_server_connections 1"));
}

TEST_F(Metrics, ArePassedByPromtool) {
  if (std::system("promtool --version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool is not installed (on Debian, install prometheus)";
  }
  MetricsPage page{MetricsFormat::kPrometheus};
  page.add(used_server().stats());
  page.add(ClientStats{}, "tcp://\"quoted\":1");
  page.add(PoolStats{}, "tcp://pool:1");
  page.add(TlsStats{}, "server");
  const std::string file = ::testing::TempDir() + "metrics_" + std::to_string(::getpid()) + ".txt";
  std::ofstream{file} << page.text();
  std::FILE* const output = ::popen(("promtool check metrics < " + file + " 2>&1").c_str(), "r");
  ASSERT_NE(output, nullptr);
  std::string complaints;
  char bytes[4096];
  while (const std::size_t got = std::fread(bytes, 1, sizeof bytes, output)) complaints.append(bytes, got);
  EXPECT_EQ(::pclose(output), 0);
  EXPECT_EQ(complaints, "");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace weft::testing::metrics_tests
