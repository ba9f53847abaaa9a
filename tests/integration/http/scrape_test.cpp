// SPDX-License-Identifier: Apache-2.0
// Debian's Prometheus scrapes a server, and promtool checks the pages of metrics that HTTP answers.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <weft/access.hpp>
#include <weft/http.hpp>
#include <weft/weft.hpp>

#include "integration/http/raw_http.hpp"
#include "support/child_process.hpp"

namespace weft::testing::scrape_tests {
namespace {

using Json = nlohmann::json;

constexpr const char* kToken = "secret-of-prometheus";

int half(int number) {
  if (number % 2 != 0) throw Status{StatusCode::kInvalidArgument, Layer::kUser, "odd"};
  return number / 2;
}
Task<int> half_later(int number) {
  co_return half(number);
}

bool is_installed(const std::string& program) {
  return std::system((program + " --version > /dev/null 2>&1").c_str()) == 0;
}

/// Runs a command of the shell. Returns its output, and what it ended with if that is not 0.
std::string output_of(const std::string& command) {
  std::FILE* const output = ::popen((command + " 2>&1").c_str(), "r");
  if (output == nullptr) return "<not started>";
  std::string text;
  char bytes[4096];
  while (const std::size_t got = std::fread(bytes, 1, sizeof bytes, output)) text.append(bytes, got);
  const int code = ::pclose(output);
  return code == 0 ? text : text + "<ended with " + std::to_string(code) + ">";
}

/// Counts the requests for the page of metrics. Thread: any.
class Scrapes {
 public:
  void note() {
    const std::lock_guard lock{mutex_};
    ++count_;
    changed_.notify_all();
  }
  int count() {
    const std::lock_guard lock{mutex_};
    return count_;
  }
  /// Waits until `count` scrapes have begun. Returns false if they did not within a time that is never
  /// needed.
  bool wait_for(int count) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, std::chrono::seconds{60}, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

class Scrape : public ::testing::Test {
 protected:
  Scrape() {
    ServerOptions options{.listen = {"tcp://127.0.0.1:0"}, .threads = 2, .protocols = {http()}};
    options.authenticator =
        authenticate_by([](const Credentials& credentials) noexcept -> Result<Authenticated> {
          if (credentials.token != kToken) {
            return Status{StatusCode::kUnauthenticated, Layer::kRpc, "an unknown token"};
          }
          return Authenticated{.identity = Identity::of_token("prometheus"),
                               .good_for = std::chrono::hours{1}};
        });
    options.authorizer = authorize_by([this](const Identity& caller, std::string_view method) noexcept {
      if (method == "/metrics") scrapes_.note();
      return caller.subject() == "prometheus";
    });
    server_.emplace(std::move(options));
    server_->register_handler<method<half, "half">, method<half_later, "half_later">>();
    server_->start().value();
  }

  /// Calls each method for the numbers from 0 to 9.
  void call_methods() {
    RawHttp http{server_->urls().front()};
    for (int number = 0; number < 10; ++number) {
      const std::string arguments = "[" + std::to_string(number) + "]";
      const int status = number % 2 == 0 ? 200 : 400;
      EXPECT_EQ(http.call("/functions/half", arguments, authorization()).status, status);
      EXPECT_EQ(http.call("/functions/half_later", arguments, authorization()).status, status);
    }
  }
  static std::string authorization() { return std::string{"Authorization: Bearer "} + kToken + "\r\n"; }
  std::string host() const {
    const std::string url = server_->urls().front();
    return url.substr(url.find("//") + 2);
  }
  /// Gets the page of metrics in the format `accept`.
  std::string metrics(std::string_view accept) {
    RawHttp http{server_->urls().front()};
    std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: ";
    http.send(request.append(accept).append("\r\n").append(authorization()).append("\r\n"));
    const HttpAnswer answer = http.read();
    EXPECT_EQ(answer.status, 200);
    EXPECT_NE(answer.head.find(accept), std::string::npos) << answer.head;
    return answer.body;
  }

  TemporaryFolder folder_{"weft_scrape"};
  Scrapes scrapes_;
  std::optional<Server> server_;
};

/// A real Prometheus on the loopback, which asks one server for its metrics every second.
class Prometheus {
 public:
  Prometheus(const TemporaryFolder& folder, const std::string& host)
      : process_({"prometheus", "--config.file=" + write_rules(folder, host),
                  "--storage.tsdb.path=" + folder.path() + "/data",
                  "--web.listen-address=127.0.0.1:" + std::to_string(port_)},
                 folder.path() + "/log") {}

  /// Returns the values of an instant query by the label `label` of each; none while Prometheus starts.
  std::optional<std::map<std::string, double>> query(std::string_view text, const std::string& label) const {
    const Json answer = ask("/api/v1/query?query=" + escaped(text));
    if (answer.is_null() || answer["status"] != "success") return {};
    std::map<std::string, double> values;
    for (const Json& sample : answer["data"]["result"]) {
      values[sample["metric"].value(label, "")] = std::stod(sample["value"][1].get<std::string>());
    }
    return values;
  }
  /// Returns the type of a metric as Prometheus has read it.
  std::string type_of(const std::string& metric) const {
    const Json answer = ask("/api/v1/metadata?metric=" + metric);
    if (answer.is_null() || !answer["data"].contains(metric)) return "";
    return answer["data"][metric][0]["type"];
  }

 private:
  static std::string write_rules(const TemporaryFolder& folder, const std::string& host) {
    const std::string token = folder.write("token", kToken);
    return folder.write("prometheus.yml",
                        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
                        "scrape_configs:\n"
                        "  - job_name: shop\n"
                        "    authorization: {credentials_file: " +
                            token +
                            "}\n"
                            "    static_configs: [{targets: ['" +
                            host + "']}]\n");
  }
  static std::string escaped(std::string_view text) {
    std::string out;
    for (const char letter : text) {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(letter)));
      out += code;
    }
    return out;
  }
  /// HTTP/1.0, for an answer without chunks. Null if there is none with JSON.
  Json ask(const std::string& path) const {
    RawHttp http{"tcp://127.0.0.1:" + std::to_string(port_)};
    if (!http.is_connected()) return {};
    http.send("GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n");
    const std::string answer = http.read_rest();
    const std::size_t body = answer.find("\r\n\r\n");
    if (body == std::string::npos || answer.find(" 200 ") > 12) return {};
    return Json::parse(answer.substr(body + 4), nullptr, false);
  }

  const std::uint16_t port_ = free_port();
  ChildProcess process_;
};

TEST_F(Scrape, PrometheusReadsTheMetricsOfAServer) {
  if (!is_installed("prometheus")) GTEST_SKIP() << "prometheus is not installed (./dev setup test)";
  call_methods();
  const Prometheus prometheus{folder_, host()};
  std::map<std::string, double> calls;
  // A scrape was stored when the next one begins. Prometheus may answer queries only after its first scrapes.
  for (int scrape = 2; calls.empty(); ++scrape) {
    ASSERT_TRUE(scrapes_.wait_for(scrape)) << folder_.read("log");
    calls = prometheus.query("sum by (rpc_method) (rpc_server_call_duration_seconds_count)", "rpc_method")
                .value_or(calls);
  }
  EXPECT_EQ(calls["half"], 10);
  EXPECT_EQ(calls["half_later"], 10);
  const auto value = [&](std::string_view text) {
    const auto values = prometheus.query(text, "none");
    return values && values->size() == 1 ? values->at("") : -1.0;
  };
  EXPECT_EQ(value("up{job=\"shop\"}"), 1);
  EXPECT_EQ(value("sum(weft_server_calls_total{outcome=\"failed\",code=\"INVALID_ARGUMENT\"})"), 10);
  EXPECT_EQ(value("sum(weft_server_calls_total{outcome=\"answered\"})"), 10);
  EXPECT_EQ(value("count(weft_loop_busy_seconds_total)"), 2) << "one for each loop";
  EXPECT_GT(value("weft_server_connections"), 0);
  EXPECT_GT(value("weft_memory_limit_bytes"), value("weft_memory_used_bytes"));
  EXPECT_EQ(value("weft_build_info"), 1);
  const std::string bucket = "sum by (le) (rpc_server_call_duration_seconds_bucket{rpc_method=\"half\"})";
  EXPECT_GT(value("histogram_quantile(0.99, " + bucket + ")"), 0);
  EXPECT_EQ(prometheus.type_of("rpc_server_call_duration_seconds"), "histogram");
  EXPECT_EQ(prometheus.type_of("weft_server_calls"), "counter") << "as OpenMetrics names it";
  EXPECT_EQ(prometheus.type_of("weft_server_connections"), "gauge");
}

TEST_F(Scrape, PromtoolHasNoComplaintAboutTheText) {
  if (!is_installed("promtool")) GTEST_SKIP() << "promtool is not installed (./dev setup test)";
  call_methods();
  const std::string file = folder_.write("metrics.txt", metrics("text/plain; version=0.0.4"));
  EXPECT_EQ(output_of("promtool check metrics < " + file), "");
}

// `promtool check metrics` knows the other format only; what fills a database from OpenMetrics is as strict
// as a scrape, and wants a time behind each sample.
TEST_F(Scrape, PromtoolReadsOpenMetrics) {
  if (!is_installed("promtool")) GTEST_SKIP() << "promtool is not installed (./dev setup test)";
  call_methods();
  const std::string page = metrics("application/openmetrics-text; version=1.0.0");
  std::string timed;
  std::size_t samples = 0;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = page.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    timed.append(page, at, end - at);
    if (page[at] != '#') {
      timed += " 1700000000";
      ++samples;
    }
    timed += '\n';
    at = end + 1;
  }
  const std::string file = folder_.write("metrics.om", timed);
  const std::string command =
      "promtool tsdb create-blocks-from openmetrics " + file + " " + folder_.path() + "/blocks";
  const std::string output = output_of(command);
  EXPECT_EQ(output.find("<ended"), std::string::npos) << output;
  EXPECT_NE(output.find(" " + std::to_string(samples) + " "), std::string::npos) << samples << ": " << output;
  // The importer finds a fault where there is one.
  folder_.write("metrics.om", timed.substr(0, timed.find("# EOF")));
  EXPECT_NE(output_of(command).find("<ended"), std::string::npos);
}

}  // namespace
}  // namespace weft::testing::scrape_tests
