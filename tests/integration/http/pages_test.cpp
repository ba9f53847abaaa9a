// SPDX-License-Identifier: Apache-2.0
// Pages for the operators of a server, over HTTP.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <weft/access.hpp>
#include <weft/http.hpp>
#include <weft/weft.hpp>

#include "integration/http/raw_http.hpp"

namespace weft::testing::pages_tests {
namespace {

int half(int number) {
  if (number % 2 != 0) throw Status{StatusCode::kInvalidArgument, Layer::kUser, "odd"};
  return number / 2;
}
Task<int> half_later(int number) {
  co_return half(number);
}

/// Has a level, as loggers of programs have.
class LeveledLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override {}
  LogLevel level() const noexcept override { return level_.load(); }
  bool set_level(LogLevel level) noexcept override {
    level_ = level;
    return true;
  }

 private:
  std::atomic<LogLevel> level_ = LogLevel::kInfo;
};

/// Has no level.
class PlainLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override {}
};

class Pages : public ::testing::Test {
 protected:
  void serve(HttpOptions http_options = {}, ServerOptions options = {}) {
    options.listen = {"tcp://127.0.0.1:0"};
    options.protocols = {http(std::move(http_options))};
    server_.emplace(std::move(options));
    server_->register_handler<method<half, "half">, method<half_later, "half_later">>();
    server_->start().value();
    http_.emplace(server_->urls().front());
  }
  HttpAnswer ask(std::string_view method, std::string_view path, std::string_view headers = {},
                 std::string_view host = "127.0.0.1") {
    std::string text{method};
    text.append(" ").append(path).append(" HTTP/1.1\r\nHost: ").append(host).append("\r\n");
    http_->send(text.append(headers).append("\r\n"));
    return http_->read();
  }
  HttpAnswer get(std::string_view path, std::string_view headers = {}) { return ask("GET", path, headers); }
  RawHttp& http_connection() { return *http_; }
  Server& server() { return *server_; }

  LeveledLogger logger;
  PlainLogger plain_logger;

 private:
  std::optional<Server> server_;
  std::optional<RawHttp> http_;
};

bool has(const HttpAnswer& answer, std::string_view line) {
  return answer.body.find("\n" + std::string{line} + "\n") != std::string::npos;
}

TEST_F(Pages, MetricsCountTheCallsOfHttp) {
  serve();
  EXPECT_EQ(http_connection().call("/functions/half", "[4]").body, "2");
  EXPECT_EQ(http_connection().call("/functions/half", "[3]").status, 400);
  EXPECT_EQ(http_connection().call("/functions/half_later", "[8]").body, "4");
  EXPECT_EQ(http_connection().call("/functions/none", "[8]").status, 501);
  const HttpAnswer page = get("/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.head.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), std::string::npos);
  const std::string count = "rpc_server_call_duration_seconds_count{rpc_system_name=\"weft\",rpc_method=";
  EXPECT_TRUE(has(page, count + "\"half\",rpc_response_status_code=\"OK\"} 1")) << page.body;
  EXPECT_TRUE(has(page, count + "\"half\",rpc_response_status_code=\"INVALID_ARGUMENT\"} 1"));
  EXPECT_TRUE(has(page, count + "\"half_later\",rpc_response_status_code=\"OK\"} 1"));
  EXPECT_TRUE(has(page, count + "\"_OTHER\",rpc_response_status_code=\"UNIMPLEMENTED\"} 1"));
  EXPECT_TRUE(has(page, "weft_server_request_bytes_total{method=\"half_later\"} 4"));
  EXPECT_TRUE(has(page, "weft_server_answer_bytes_total{method=\"half\"} 4"));
}

TEST_F(Pages, MetricsHaveTheFormatThatTheClientPrefers) {
  serve();
  const HttpAnswer open =
      get("/metrics", "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5,*/*;q=0.1\r\n");
  EXPECT_NE(open.head.find("Content-Type: application/openmetrics-text; version=1.0.0"), std::string::npos);
  EXPECT_TRUE(open.body.ends_with("# EOF\n"));
  EXPECT_FALSE(get("/metrics", "Accept: text/plain\r\n").body.ends_with("# EOF\n"));
  EXPECT_FALSE(get("/metrics", "Accept: */*\r\n").body.ends_with("# EOF\n"));
}

TEST_F(Pages, AreReadWithGetAndHead) {
  serve();
  http_connection().send(
      "HEAD /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
      "Connection: close\r\n\r\n");
  std::string text;
  while (http_connection().read_now(text)) {
  }
  EXPECT_EQ(text.find("HTTP/1.1 200"), 0u);
  EXPECT_EQ(text.find("{\"live\""), text.rfind("{\"live\"")) << "the answer to HEAD has no body: " << text;
  EXPECT_TRUE(text.ends_with("{\"live\":true,\"ready\":true,\"draining\":false}\n"));
}

TEST_F(Pages, AreNotWritten) {
  serve();
  const HttpAnswer answer = http_connection().call("/metrics", "[]");
  EXPECT_EQ(answer.status, 405);
  EXPECT_NE(answer.head.find("Allow: GET, HEAD\r\n"), std::string::npos);
}

TEST_F(Pages, AreJson) {
  serve();
  EXPECT_EQ(http_connection().call("/functions/half", "[4]").body, "2");
  const auto methods = nlohmann::json::parse(get("/methods").body);
  EXPECT_EQ(methods["methods"][0]["name"], "half");
  EXPECT_EQ(methods["methods"][0]["calls"], 1);
  EXPECT_GT(methods["methods"][0]["p99_us"], 0);
  EXPECT_EQ(methods["unknown"]["calls"], 0);
  EXPECT_EQ(nlohmann::json::parse(get("/connections").body)["open"], 1);
  const auto loops = nlohmann::json::parse(get("/loops").body);
  EXPECT_EQ(loops["loops"].size(), 1u);
  EXPECT_GT(loops["loops"][0]["turns"], 0);
  const auto memory = nlohmann::json::parse(get("/memory").body);
  EXPECT_GT(memory["process"]["limit_bytes"], memory["process"]["used_bytes"]);
}

TEST_F(Pages, AreHiddenWhereTheyAreSwitchedOff) {
  serve({.pages = HttpPages::kOff});
  EXPECT_EQ(get("/metrics").status, 404);
  EXPECT_EQ(get("/metrics").body, get("/nothing").body);
}

// A name that a stranger lets point to this host is in the Host of what the stranger's page requests.
TEST_F(Pages, AreForRequestsThatNameThisHost) {
  serve();
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1:9000", "127.9.9.9", "[::1]", "[::1]:80"}) {
    EXPECT_EQ(ask("GET", "/health", {}, host).status, 200) << host;
  }
  for (const char* host :
       {"evil.example", "127.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]"}) {
    EXPECT_EQ(ask("GET", "/health", {}, host).status, 404) << host;
  }
}

TEST_F(Pages, AreForAllIfTheOptionsSaySo) {
  serve({.pages = HttpPages::kAll});
  EXPECT_EQ(ask("GET", "/health", {}, "service.example").status, 200);
}

TEST_F(Pages, AskTheAuthorizerByTheirPaths) {
  ServerOptions options;
  options.authenticator =
      authenticate_by([](const Credentials& credentials) noexcept -> Result<Authenticated> {
        if (credentials.token != "secret") {
          return Status{StatusCode::kUnauthenticated, Layer::kRpc, "an unknown token"};
        }
        return Authenticated{.identity = Identity::of_token("ann"), .good_for = std::chrono::seconds{60}};
      });
  options.authorizer = authorize_by([](const Identity& caller, std::string_view method) noexcept {
    return caller.subject() == "ann" && method == "/metrics";
  });
  serve({}, std::move(options));
  EXPECT_EQ(get("/metrics").status, 401);
  EXPECT_EQ(get("/metrics", "Authorization: Bearer wrong\r\n").status, 401);
  EXPECT_EQ(get("/metrics", "Authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(get("/methods", "Authorization: Bearer secret\r\n").status, 403);
  EXPECT_EQ(get("/metrics", "Authorization: Bearer secret\r\n").status, 200) << "the connection goes on";
  EXPECT_EQ(server().stats().refused[RefusalReason::kNotAllowed], 1u);
}

TEST_F(Pages, SetTheLevelOfTheLog) {
  serve({}, {.logger = &logger});
  EXPECT_EQ(get("/log").body, "{\"level\":\"info\"}\n");
  const HttpAnswer changed = ask("PUT", "/log?level=debug");
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(changed.body, "{\"level\":\"debug\"}\n");
  EXPECT_EQ(logger.level(), LogLevel::kDebug);
  EXPECT_EQ(ask("POST", "/log?level=error", "Content-Length: 0\r\n").status, 200);
  EXPECT_EQ(get("/log").body, "{\"level\":\"error\"}\n");
  EXPECT_EQ(ask("PUT", "/log?level=loud").status, 400);
  EXPECT_EQ(ask("PUT", "/log").status, 400);
  EXPECT_EQ(ask("DELETE", "/log").status, 405);
  EXPECT_EQ(get("/log?level=debug").status, 200) << "this only reads";
  EXPECT_EQ(logger.level(), LogLevel::kError);
  http_connection().send("PUT /log?level=info HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody");
  EXPECT_EQ(http_connection().read().status, 200) << "a body is dropped";
  EXPECT_EQ(get("/log").body, "{\"level\":\"info\"}\n");
}

TEST_F(Pages, LeaveALoggerWithoutALevelAlone) {
  serve({}, {.logger = &plain_logger});
  EXPECT_EQ(ask("PUT", "/log?level=error").status, 400);
  EXPECT_EQ(get("/log").body, "{\"level\":\"debug\"}\n");
}

TEST_F(Pages, AreChangedFromThisHostOnly) {
  serve({.pages = HttpPages::kAll}, {.logger = &logger});
  EXPECT_EQ(ask("GET", "/log", {}, "service.example").status, 200);
  EXPECT_EQ(ask("PUT", "/log?level=error", {}, "service.example").status, 403);
  EXPECT_EQ(ask("PUT", "/log?level=error", "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(logger.level(), LogLevel::kInfo);
  EXPECT_EQ(ask("PUT", "/log?level=error").status, 200);
}

TEST_F(Pages, AreChangedByCallersWithTheRight) {
  ServerOptions options{.logger = &logger};
  options.authorizer = authorize_by(
      [](const Identity&, std::string_view right) noexcept { return right == "/log" || right == "/health"; });
  serve({.pages = HttpPages::kAll}, std::move(options));
  EXPECT_EQ(get("/log").status, 200);
  EXPECT_EQ(ask("PUT", "/log?level=error").status, 401);
  EXPECT_EQ(logger.level(), LogLevel::kInfo);
  options = {.logger = &logger};
  options.authorizer =
      authorize_by([](const Identity&, std::string_view right) noexcept { return right == "/log/set"; });
  serve({.pages = HttpPages::kAll}, std::move(options));
  EXPECT_EQ(get("/log").status, 401);
  EXPECT_EQ(ask("PUT", "/log?level=error", {}, "service.example").status, 200);
  EXPECT_EQ(logger.level(), LogLevel::kError);
}

TEST_F(Pages, CountTheDurationsOfEachMethod) {
  serve();
  EXPECT_EQ(http_connection().call("/functions/half", "[4]").body, "2");
  const auto page = nlohmann::json::parse(get("/methods").body);
  EXPECT_EQ(page["bounds_us"][0], 1);
  EXPECT_EQ(page["bounds_us"].size(), LatencyHistogram::kBounds);
  const auto& counts = page["methods"][0]["durations"];
  ASSERT_EQ(counts.size(), LatencyHistogram::kBounds + 1);
  const auto all = counts.get<std::vector<int>>();
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), 0), 1);
}

}  // namespace
}  // namespace weft::testing::pages_tests
