// SPDX-License-Identifier: Apache-2.0
// Pages for the operators of a server, over HTTP.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
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

}  // namespace
}  // namespace weft::testing::pages_tests
