// SPDX-License-Identifier: Apache-2.0
// CR-11: functions are called by HTTP and JSON on the port of a Weft server.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <weft/coroutines.hpp>
#include <weft/http.hpp>
#include <weft/weft.hpp>

#include "integration/http/raw_http.hpp"

namespace http_demo {

struct Point {
  double x = 0;
  double y = 0;
};
int add(int a, int b) {
  return a + b;
}
Point centre(const std::vector<Point>& points) {
  Point sum;
  for (const Point& point : points) {
    sum.x += point.x / static_cast<double>(points.size());
    sum.y += point.y / static_cast<double>(points.size());
  }
  return sum;
}
void do_nothing() {}
weft::Task<std::map<std::string, std::uint64_t>> count(std::string text) {
  std::map<std::string, std::uint64_t> letters;
  for (const char letter : text) letters[std::string{letter}] += std::uint64_t{1} << 60;
  [[maybe_unused]] const weft::Result<void> slept = co_await weft::sleep_for(std::chrono::milliseconds{1});
  co_return letters;
}
weft::Result<int> find(int) {
  return weft::Status{weft::StatusCode::kNotFound, weft::Layer::kUser, "no \"such\" key"};
}
std::string metadata_of(weft::CallContext& context, std::string key) {
  return std::string{context.metadata().find(key).value_or("absent")};
}
std::string all_metadata(weft::CallContext& context) {
  std::string all;
  for (const auto& [key, value] : context.metadata()) {
    all.append(key).append("=").append(value).append(";");
  }
  return all;
}
weft::Result<int> give_metadata(weft::CallContext& context, bool fails) {
  context.add_initial_metadata("tenant", "blue").value();
  context.add_answer_metadata("cost", "3").value();
  context.add_answer_metadata("cost", "4").value();
  context.add_answer_metadata("raw-bin", std::string_view{"\0\xFF", 2}).value();
  if (fails) return weft::user_error(1, "with metadata");
  return 7;
}
int give_odd_metadata(weft::CallContext& context, std::string key, std::string value) {
  context.add_answer_metadata(key, value).value();
  return 7;
}
std::string repeat(std::string text, std::uint32_t times) {
  std::string out;
  for (std::uint32_t i = 0; i < times; ++i) out += text;
  return out;
}
int with_attachment(weft::CallContext& context) {
  context.set_attachment(weft::Buffer::adopt(std::string(100, 'a')));
  return 1;
}
std::atomic<int> waits_begun = 0;
std::atomic<int> waits_cancelled = 0;
weft::Task<int> wait_until_cancelled() {
  ++waits_begun;
  const auto slept = co_await weft::sleep_for(std::chrono::hours{1});
  if (!slept.ok()) ++waits_cancelled;
  co_return 1;
}
std::optional<std::thread> replying;
void reply_later(weft::Reply<int> reply, int number) {
  replying.emplace([reply = std::move(reply), number]() mutable { std::move(reply)(number + 1); });
}
int block(int number) {
  return number + 2;
}
int leave(weft::CallContext& context) {
  context.close_connection();
  return 1;
}
std::string after_its_deadline(weft::CallContext& context) {
  while (!context.cancelled()) std::this_thread::yield();
  return "late";
}
/// A value whose bytes turn out to be wrong when the test says so.
struct LateFault {};
std::atomic<bool> is_wrong = false;
int take_late_fault(LateFault) {
  return 1;
}

}  // namespace http_demo

template <>
struct weft::CodecTraits<http_demo::LateFault> {
  using Wire = int;
  static Wire to_wire(const http_demo::LateFault&) { return 0; }
  static bool from_wire(Wire, http_demo::LateFault&) {
    while (!http_demo::is_wrong) std::this_thread::yield();
    return false;
  }
};

namespace weft::testing {
namespace {

using namespace std::chrono_literals;

class Http : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}, HttpOptions http_options = {}) {
    options.listen = {"tcp://127.0.0.1:0"};
    options.protocols.push_back(http(std::move(http_options)));
    server_.emplace(std::move(options));
    server_->register_handler<http_demo::add>();
    server_->register_handler<http_demo::centre>();
    server_->register_handler<http_demo::do_nothing>();
    server_->register_handler<http_demo::count>();
    server_->register_handler<http_demo::find>();
    server_->register_handler<http_demo::metadata_of>();
    server_->register_handler<http_demo::all_metadata>();
    server_->register_handler<http_demo::give_metadata>();
    server_->register_handler<http_demo::give_odd_metadata>();
    server_->register_handler<http_demo::repeat>();
    server_->register_handler<http_demo::with_attachment>();
    server_->register_handler<http_demo::wait_until_cancelled>();
    server_->register_handler<http_demo::reply_later>();
    server_->register_handler<http_demo::block>({.blocking = true});
    server_->register_handler<http_demo::leave>();
    server_->register_handler<http_demo::after_its_deadline>({.blocking = true});
    server_->register_handler<http_demo::take_late_fault>({.blocking = true});
    const Result<void> started = server_->start();
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    url_ = server_->urls().front();
  }

  MethodStats stats_of(std::string_view method) {
    for (const MethodStats& stats : server_->stats().methods) {
      if (stats.name == method) return stats;
    }
    ADD_FAILURE() << "no method " << method;
    return {};
  }
  /// Returns the counters of `method` once each of its calls is in one of them.
  MethodStats settled_stats_of(std::string_view method) {
    for (;;) {
      const MethodStats stats = stats_of(method);
      const std::uint64_t ended = stats.answered + stats.refused + stats.dropped + stats.failures();
      if (stats.running == 0 && ended == stats.calls) return stats;
      std::this_thread::yield();
    }
  }

  std::optional<Server> server_;
  std::string url_;
};

/// Answers of this function take 4 MB, which is more than the kernel takes from a peer that reads nothing.
constexpr std::string_view kRepeat = "/functions/http_demo::repeat";
std::string four_megabytes() {
  return "[\"" + std::string(1000, 'x') + "\", 4000]";
}

TEST_F(Http, FunctionsAndCoroutinesAreCalledWithJson) {
  start();
  RawHttp client{url_};
  const HttpAnswer sum = client.call("/functions/http_demo::add", "[1, 2]");
  EXPECT_EQ(sum.status, 200);
  EXPECT_EQ(sum.body, "3");
  EXPECT_NE(sum.head.find("Content-Type: application/json\r\n"), std::string::npos) << sum.head;
  EXPECT_EQ(client.call("/functions/http_demo::add", R"({"0": 40, "1": 2})").body, "42");
  EXPECT_EQ(client.call("/functions/http_demo%3A%3Acentre", "[[[0,0],[6,0],[0,3]]]").body,
            R"({"x":2,"y":1})");
  EXPECT_EQ(client.call("/functions/http_demo::centre", R"([[{"x":8,"y":4},{"y":0,"x":0}]])").body,
            R"({"x":4,"y":2})");
  const HttpAnswer letters = client.call("/functions/http_demo::count", R"(["hel"])");
  EXPECT_EQ(letters.body, R"({"e":1152921504606846976,"h":1152921504606846976,"l":1152921504606846976})");
  EXPECT_EQ(client.call("/functions/http_demo::do_nothing", "").body, "null");
  EXPECT_EQ(client.call("/functions/http_demo::do_nothing", "[]").body, "null");
}

TEST_F(Http, DelayedAndBlockingHandlersAreCalled) {
  start();
  RawHttp client{url_};
  EXPECT_EQ(client.call("/functions/http_demo::reply_later", "[1]").body, "2");
  http_demo::replying->join();
  EXPECT_EQ(client.call("/functions/http_demo::block", "[1]").body, "3");
}

TEST_F(Http, AClientThatReadsNothingIsHeldBack) {
  start({.limits = {.process_memory_max = std::size_t{32} << 20}}, {});
  RawHttp silent{url_};
  // The answers would take five times the memory of the server.
  const std::string body = "[\"" + std::string(1000, 'x') + "\", 4000]";
  for (int i = 0; i < 40; ++i) silent.post("/functions/http_demo::repeat", body);
  RawHttp other{url_};
  EXPECT_EQ(other.call("/functions/http_demo::add", "[1, 2]").body, "3");
  for (int i = 0; i < 40; ++i) ASSERT_EQ(silent.read().body.size(), 4'000'002u) << i;
}

TEST_F(Http, InterceptorsSeeCalls) {
  class Refuses final : public ServerInterceptor {
   public:
    Status before(IncomingCall& call) override {
      if (call.metadata().find("tenant") == "red")
        return {StatusCode::kPermissionDenied, Layer::kUser, "red"};
      return {};
    }
    void after(const EndedCall&) noexcept override { ++ended; }
    std::atomic<int> ended = 0;
  };
  const auto interceptor = std::make_shared<Refuses>();
  start({.interceptors = {interceptor}});
  RawHttp client{url_};
  EXPECT_EQ(client.call("/functions/http_demo::add", "[1, 2]", "Weft-Meta-Tenant: red\r\n").status, 403);
  EXPECT_EQ(client.call("/functions/http_demo::add", "[1, 2]", "Weft-Meta-Tenant: blue\r\n").body, "3");
  EXPECT_EQ(client.call("/functions/http_demo::count", R"([""])").body, "{}");
  EXPECT_EQ(interceptor->ended, 2);
}

TEST_F(Http, OnePortServesWeftAndHttp) {
  start();
  RawHttp curl{url_};
  BlockingClient client{{.connect = url_}};
  const auto sum = client.call<http_demo::add>(20, 22);
  ASSERT_TRUE(sum.ok()) << sum.status().to_string();
  EXPECT_EQ(*sum, 42);
  EXPECT_EQ(curl.call("/functions/http_demo::add", "[1, 2]").body, "3");
  const ServerStats stats = server_->stats();
  EXPECT_EQ(stats.connections, 2u);
  EXPECT_EQ(stats.calls, 2u);
  EXPECT_GT(stats.traffic.bytes_received, 100u);
}

TEST_F(Http, FailuresAreJsonWithThePublishedStatus) {
  start();
  RawHttp client{url_};
  const HttpAnswer missing = client.call("/functions/http_demo::find", "[7]");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body,
            R"({"code":"NOT_FOUND","message":"no \"such\" key","retry":"never","unprocessed":false})");
  const HttpAnswer unknown = client.call("/functions/http_demo::nothing", "[7]");
  EXPECT_EQ(unknown.status, 501);
  EXPECT_NE(unknown.body.find(R"("code":"UNIMPLEMENTED")"), std::string::npos) << unknown.body;
  EXPECT_NE(unknown.body.find(R"("unprocessed":true)"), std::string::npos) << unknown.body;
  const HttpAnswer wrong = client.call("/functions/http_demo::add", R"([1, "x"])");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_NE(wrong.body.find("arguments[1]"), std::string::npos) << wrong.body;
  EXPECT_EQ(client.call("/functions/http_demo::add", "[1,").status, 400);
  EXPECT_EQ(client.call("/nothing", "[]").status, 404);
  const HttpAnswer attached = client.call("/functions/http_demo::with_attachment", "[]");
  EXPECT_EQ(attached.status, 501);
  EXPECT_NE(attached.body.find("attachment"), std::string::npos) << attached.body;
  EXPECT_EQ(client.call("/functions/http_demo::add", "[1, 2]").body, "3") << "the connection goes on";
}

TEST_F(Http, OtherMethodsAreAnsweredByTheStandard) {
  start();
  RawHttp client{url_};
  client.send("GET /functions/http_demo::add HTTP/1.1\r\nHost: h\r\n\r\n");
  const HttpAnswer get = client.read();
  EXPECT_EQ(get.status, 405);
  EXPECT_NE(get.head.find("Allow: POST, OPTIONS\r\n"), std::string::npos) << get.head;
  client.send("OPTIONS /functions/http_demo::add HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.read().status, 204);
  client.send(
      "POST /functions/http_demo::add HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\n[1,\r\n4\r\n 41]\r\n0\r\n\r\n");
  EXPECT_EQ(client.read().body, "42");
}

TEST_F(Http, PipelinedRequestsAreAnsweredInOrder) {
  start();
  RawHttp client{url_};
  constexpr int kRequests = 200;
  for (int i = 0; i < kRequests; ++i) {
    if (i % 2 == 0) client.post("/functions/http_demo::add", "[" + std::to_string(i) + ", 1]");
    if (i % 2 == 1) client.post("/functions/http_demo::count", R"([""])");
  }
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_EQ(client.read().body, i % 2 == 0 ? std::to_string(i + 1) : "{}") << i;
  }
}

TEST_F(Http, LargeBodiesAndAnswersPass) {
  start();
  RawHttp client{url_};
  const std::string text(1'000'000, 'x');
  const HttpAnswer answer = client.call("/functions/http_demo::repeat", "[\"" + text + "\", 3]");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.size(), 3'000'002u);
  EXPECT_EQ(client.call("/functions/http_demo::add", "[1, 2]").body, "3");
}

TEST_F(Http, LimitsAreAnsweredWithTheirStatus) {
  start({.calls_running_max = 1}, {.body_bytes_max = 1000, .answer_bytes_max = 1000});
  RawHttp client{url_};
  EXPECT_EQ(client.call("/functions/http_demo::repeat", R"(["0123456789", 1000])").status, 429);
  RawHttp waiting{url_};
  const int begun = http_demo::waits_begun;
  waiting.post("/functions/http_demo::wait_until_cancelled", "[]");
  while (http_demo::waits_begun == begun) std::this_thread::yield();
  const HttpAnswer refused = client.call("/functions/http_demo::count", R"(["x"])");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.body.find(R"("unprocessed":true)"), std::string::npos) << refused.body;
  EXPECT_EQ(client.call("/functions/http_demo::repeat", std::string(2000, ' ')).status, 413);
  EXPECT_TRUE(client.is_ended());
}

TEST_F(Http, ATimeoutHeaderIsTheDeadlineOfTheCall) {
  start();
  RawHttp client{url_};
  EXPECT_EQ(client.call("/functions/http_demo::wait_until_cancelled", "[]", "Weft-Timeout-Ms: 20\r\n").status,
            504);
  EXPECT_EQ(client.call("/functions/http_demo::add", "[1, 2]", "Weft-Timeout-Ms: soon\r\n").status, 400);
  EXPECT_EQ(client.call("/functions/http_demo::add", "[1, 2]").body, "3");
}

TEST_F(Http, ACallThatIsRefusedAfterItsDeadlineLeavesTheNextRequestAlone) {
  start();
  http_demo::is_wrong = false;
  RawHttp client{url_};
  EXPECT_EQ(client.call("/functions/http_demo::take_late_fault", "[7]", "Weft-Timeout-Ms: 20\r\n").status,
            504);
  client.send("POST /functions/http_demo::add HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n[1,");
  while (stats_of("http_demo::add").calls == 0) std::this_thread::yield();
  http_demo::is_wrong = true;
  EXPECT_EQ(settled_stats_of("http_demo::take_late_fault").refused, 1U);
  client.send(" 2]");
  EXPECT_EQ(client.read().body, "3");
  EXPECT_EQ(settled_stats_of("http_demo::add").answered, 1U);
}

TEST_F(Http, AClientThatLeavesCancelsItsCall) {
  start();
  const int begun = http_demo::waits_begun;
  const int cancelled = http_demo::waits_cancelled;
  {
    RawHttp client{url_};
    client.post("/functions/http_demo::wait_until_cancelled", "[]");
    while (http_demo::waits_begun == begun) std::this_thread::yield();
  }
  while (http_demo::waits_cancelled == cancelled) std::this_thread::yield();
  RawHttp next{url_};
  EXPECT_EQ(next.call("/functions/http_demo::add", "[1, 2]").body, "3");
}

TEST_F(Http, HeadersBecomeMetadata) {
  start();
  RawHttp client{url_};
  const HttpAnswer answer =
      client.call("/functions/http_demo::metadata_of", R"(["tenant"])", "Weft-Meta-Tenant: blue\r\n");
  EXPECT_EQ(answer.body, R"("blue")");
  EXPECT_EQ(client.call("/functions/http_demo::metadata_of", R"(["tenant"])").body, R"("absent")");
}

TEST_F(Http, RepeatedAndBinaryHeadersAreMetadataToo) {
  start();
  RawHttp client{url_};
  constexpr std::string_view kAll = "/functions/http_demo::all_metadata";
  EXPECT_EQ(client.call(kAll, "[]", "Weft-Meta-A: 1\r\nWeft-Meta-B:\r\nweft-meta-a: 2\r\nOther: x\r\n").body,
            R"("a=1;b=;a=2;")");
  EXPECT_EQ(client.call(kAll, "[]", "Weft-Meta-A-Bin: eHl6Cg==\r\nWeft-Meta-b-bin: eHl6Cg\r\n").body,
            R"("a-bin=xyz\n;b-bin=xyz\n;")");
  EXPECT_EQ(client.call(kAll, "[]", "Weft-Meta-A-Bin: x\r\n").status, 400) << "no base64";
  EXPECT_EQ(client.call(kAll, "[]", "Weft-Meta-: x\r\n").status, 400) << "no key";
  EXPECT_EQ(client.call(kAll, "[]", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n").status, 400);
  EXPECT_EQ(client.call(kAll, "[]", "Traceparent: a\r\nTraceparent: b\r\n").status, 400);
  std::string many;
  for (std::size_t i = 0; i <= kMetadataPairsMax; ++i) many += "Weft-Meta-A: 1\r\n";
  EXPECT_NE(client.call(kAll, "[]", many).status, 200);
  EXPECT_EQ(client.call(kAll, "[]").body, R"("")");
}

TEST_F(Http, MetadataOfAnswersAreHeaders) {
  start();
  RawHttp client{url_};
  for (const bool fails : {false, true}) {
    const HttpAnswer answer =
        client.call("/functions/http_demo::give_metadata", fails ? "[true]" : "[false]");
    EXPECT_EQ(answer.status, fails ? 500 : 200) << answer.body;
    EXPECT_NE(answer.head.find("\r\nWeft-Meta-tenant: blue\r\n"), std::string::npos) << answer.head;
    EXPECT_NE(answer.head.find("\r\nWeft-Meta-cost: 3\r\nWeft-Meta-cost: 4\r\nWeft-Meta-raw-bin: AP8=\r\n"),
              std::string::npos)
        << answer.head;
  }
  const HttpAnswer next = client.call("/functions/http_demo::add", "[1, 2]");
  EXPECT_EQ(next.head.find("Weft-Meta"), std::string::npos) << next.head;
}

TEST_F(Http, MetadataThatNoHeaderCarriesFailTheAnswer) {
  start();
  RawHttp client{url_};
  const auto give = [&](std::string_view key, std::string_view value) {
    std::string json = "[\"";
    return client.call("/functions/http_demo::give_odd_metadata",
                       json.append(key).append("\", \"").append(value).append("\"]"));
  };
  EXPECT_EQ(give("plain", "a value").status, 200);
  EXPECT_EQ(give("empty", "").status, 200);
  for (const auto& [key, value] : {std::pair{"k", "a\\r\\nSet-Cookie: b"},
                                   {"k", "a\\u0000"},
                                   {"k", " a"},
                                   {"k", "a\\t"},
                                   {"a b", "c"},
                                   {"a:", "c"},
                                   {"\u00e4", "c"}}) {
    const HttpAnswer answer = give(key, value);
    EXPECT_EQ(answer.status, 500) << key << value;
    EXPECT_EQ(answer.head.find("Weft-Meta"), std::string::npos) << answer.head;
    EXPECT_EQ(answer.head.find("Set-Cookie"), std::string::npos) << answer.head;
  }
}

TEST_F(Http, PagesOfOtherOriginsAreRefused) {
  start({}, {.allowed_origins = {"https://console.example"}});
  RawHttp client{url_};
  constexpr std::string_view kAdd = "/functions/http_demo::add";
  EXPECT_EQ(client.call(kAdd, "[1, 2]", "Origin: https://evil.example\r\n").status, 403);
  EXPECT_EQ(client.call(kAdd, "[1, 2]", "Origin: null\r\n").status, 403);
  EXPECT_EQ(client.call(kAdd, "[1, 2]", "Origin: http://localhost\r\n").status, 200);
  EXPECT_EQ(client.call(kAdd, "[1, 2]", "Origin: http://localhost:81\r\n").status, 403);
  const HttpAnswer allowed = client.call(kAdd, "[1, 2]", "Origin: https://console.example\r\n");
  EXPECT_EQ(allowed.status, 200);
  EXPECT_NE(allowed.head.find("Access-Control-Allow-Origin: https://console.example\r\n"), std::string::npos);
}

TEST_F(Http, AStoppedServerAnswersTheCallInFlight) {
  start();
  RawHttp idle{url_};
  EXPECT_EQ(idle.call("/functions/http_demo::add", "[1, 2]").body, "3");
  RawHttp client{url_};
  const int begun = http_demo::waits_begun;
  client.post("/functions/http_demo::wait_until_cancelled", "[]", "Weft-Timeout-Ms: 100\r\n");
  while (http_demo::waits_begun == begun) std::this_thread::yield();
  server_->stop(10s);
  const HttpAnswer answer = client.read();
  EXPECT_EQ(answer.status, 504);
  EXPECT_NE(answer.head.find("Connection: close"), std::string::npos) << answer.head;
  EXPECT_TRUE(client.is_ended());
  EXPECT_TRUE(idle.is_ended());
  server_->wait();
}

TEST_F(Http, AForcedStopTellsTheCallerWhy) {
  start();
  RawHttp client{url_};
  const int begun = http_demo::waits_begun;
  client.post("/functions/http_demo::wait_until_cancelled", "[]");
  while (http_demo::waits_begun == begun) std::this_thread::yield();
  server_->stop(0s);
  const HttpAnswer answer = client.read();
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_NE(answer.body.find("the server stops"), std::string::npos) << answer.body;
  EXPECT_TRUE(client.is_ended());
  client.end_sending();
  server_->wait();
}

TEST_F(Http, AForcedStopDoesNotWaitForAPeerThatReadsNothing) {
  start({.limits = {.stall_timeout = 1h}});
  RawHttp silent{url_};
  for (int i = 0; i < 5; ++i) silent.post(kRepeat, four_megabytes());
  RawHttp other{url_};
  while (stats_of("http_demo::repeat").calls == 0) {
    ASSERT_EQ(other.call("/functions/http_demo::add", "[1, 2]").body, "3");
  }
  server_->stop(0s);
  server_->wait();
}

TEST_F(Http, AStopEndsConnectionsThatHaveSentNothing) {
  start();
  RawHttp undecided{url_};
  RawHttp partly{url_};
  partly.send("PO");
  while (server_->stats().connections != 2) std::this_thread::yield();
  server_->stop(1h);
  server_->wait();
  EXPECT_EQ(server_->stats().connections, 0u);
  EXPECT_TRUE(undecided.is_ended());
}

TEST_F(Http, AHandlerMayCloseTheConnection) {
  start();
  RawHttp client{url_};
  EXPECT_EQ(client.call("/functions/http_demo::leave", "[]").body, "1");
  EXPECT_TRUE(client.is_ended());
}

TEST_F(Http, AStrangersNameForTheServerIsNotItsOrigin) {
  start();
  const auto status = [&](std::string_view host, std::string_view origin) {
    RawHttp client{url_};
    client.send("POST /functions/http_demo::add HTTP/1.1\r\nHost: " + std::string{host} +
                "\r\nOrigin: " + std::string{origin} + "\r\nContent-Length: 6\r\n\r\n[1, 2]");
    return client.read().status;
  };
  EXPECT_EQ(status("rebound.example:9000", "http://rebound.example:9000"), 403);
  EXPECT_EQ(status("127.0.0.1.rebound.example", "http://127.0.0.1.rebound.example"), 403);
  EXPECT_EQ(status("127.0.0.1:9000", "http://127.0.0.1:9000"), 200);
  EXPECT_EQ(status("[::1]:9000", "https://[::1]:9000"), 200);
  EXPECT_EQ(status("LOCALHOST", "http://localhost"), 200);
}

TEST_F(Http, ReadingAnAnswerIsNotIdle) {
  start({}, {.idle_timeout = 20ms});
  RawHttp reader{url_};
  for (int i = 0; i < 3; ++i) reader.post(kRepeat, four_megabytes());
  // Three idle connections end, one after the other, while the answers are not read.
  for (int i = 0; i < 3; ++i) {
    RawHttp idle{url_};
    EXPECT_EQ(idle.call("/functions/http_demo::add", "[1, 2]").body, "3");
    EXPECT_TRUE(idle.is_ended());
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(reader.read().body.size(), 4'000'002u) << i;
  EXPECT_TRUE(reader.is_ended());
}

TEST_F(Http, ABodyArrivesWithinItsTime) {
  start({}, {.request_timeout = 50ms});
  RawHttp client{url_};
  client.send("POST /functions/http_demo::add HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  client.send(std::string(20'000, ' '));
  EXPECT_EQ(client.read().status, 408);
  EXPECT_TRUE(client.is_ended());
  EXPECT_EQ(settled_stats_of("http_demo::add").refused, 1u);
}

TEST_F(Http, AClientThatLeavesBehindAnUnservedRequestCancelsItsCall) {
  start();
  const int begun = http_demo::waits_begun;
  const int cancelled = http_demo::waits_cancelled;
  RawHttp client{url_};
  client.post("/functions/http_demo::wait_until_cancelled", "[]");
  client.send("POST ");
  while (http_demo::waits_begun == begun) std::this_thread::yield();
  client.end_sending();
  while (http_demo::waits_cancelled == cancelled) std::this_thread::yield();
}

TEST_F(Http, EachRequestIsCountedOnce) {
  start({}, {.answer_bytes_max = 1000});
  {
    RawHttp client{url_};
    client.send("POST /functions/http_demo::count HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n[");
    while (stats_of("http_demo::count").calls == 0) std::this_thread::yield();
  }
  {
    RawHttp client{url_};
    EXPECT_EQ(client.call("/functions/http_demo::count", "[").status, 400);
    EXPECT_EQ(client.call("/functions/http_demo::count", R"(["x"])").status, 200);
    client.send(
        "POST /functions/http_demo::count HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n");
    EXPECT_EQ(client.read().status, 400);
  }
  MethodStats stats = settled_stats_of("http_demo::count");
  EXPECT_EQ(stats.calls, 4u);
  EXPECT_EQ(stats.answered, 1u);
  EXPECT_EQ(stats.dropped, 1u);
  EXPECT_EQ(stats.refused, 2u);

  EXPECT_EQ(RawHttp{url_}.call(kRepeat, R"(["0123456789", 1000])").status, 429);
  stats = settled_stats_of("http_demo::repeat");
  EXPECT_EQ(stats.failed_with(StatusCode::kResourceExhausted), 1u);
  EXPECT_EQ(stats.answered, 0u);

  // A machine that is too busy to begin the call in time refuses it, with 429.
  RawHttp client{url_};
  int status = 429;
  while (status == 429) {
    status = client.call("/functions/http_demo::after_its_deadline", "[]", "Weft-Timeout-Ms: 50\r\n").status;
  }
  EXPECT_EQ(status, 504);
  stats = settled_stats_of("http_demo::after_its_deadline");
  EXPECT_EQ(stats.failed_with(StatusCode::kDeadlineExceeded), 1u);
  EXPECT_EQ(stats.answered, 0u);
}

TEST_F(Http, AnswersOfOneServerDoNotUseTheTypesOfAnother) {
  const auto shared = http();
  for (int i = 0; i < 20; ++i) {
    Server server{{.listen = {"tcp://127.0.0.1:0"}, .protocols = {shared}}};
    if (i % 2 == 0) server.register_handler<http_demo::add>();
    if (i % 2 == 1) server.register_handler<http_demo::centre>();
    ASSERT_TRUE(server.start().ok());
    RawHttp client{server.urls().front()};
    if (i % 2 == 0) {
      EXPECT_EQ(client.call("/functions/http_demo::add", "[1, 2]").body, "3");
    } else {
      EXPECT_EQ(client.call("/functions/http_demo::centre", "[[[1,2]]]").body, R"({"x":1,"y":2})");
    }
  }
}

TEST_F(Http, AClientWaitsForContinue) {
  start();
  RawHttp client{url_};
  client.send(
      "POST /functions/http_demo::add HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read().status, 100);
  client.send("[1, 2]");
  EXPECT_EQ(client.read().body, "3");
}

TEST_F(Http, SlowRequestsAreAnswered408) {
  start({}, {.request_timeout = 50ms});
  RawHttp client{url_};
  client.send("POST /functions/http_demo::add HTTP/1.1\r\nHost: h\r\n");
  EXPECT_EQ(client.read().status, 408);
  EXPECT_TRUE(client.is_ended());
}

TEST_F(Http, IdleConnectionsEnd) {
  start({}, {.idle_timeout = 50ms});
  RawHttp client{url_};
  EXPECT_EQ(client.call("/functions/http_demo::add", "[1, 2]").body, "3");
  EXPECT_TRUE(client.is_ended());
}

TEST_F(Http, MalformedRequestsEndTheirConnectionOnly) {
  start();
  RawHttp client{url_};
  client.send(
      "POST /functions/http_demo::add HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n"
      "Content-Length: 7\r\n\r\n[1, 2]");
  EXPECT_EQ(client.read().status, 400);
  EXPECT_TRUE(client.is_ended());
  RawHttp other{url_};
  EXPECT_EQ(other.call("/functions/http_demo::add", "[1, 2]").body, "3");
}

TEST(HttpOptionsOfAServer, AreChecked) {
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .protocols = {http({.idle_timeout = 0ns})}}};
  const Result<void> started = server.start();
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.status().to_string().find("HttpOptions::idle_timeout"), std::string::npos);
  Server other{{.listen = {"tcp://127.0.0.1:0"}, .protocols = {nullptr}}};
  EXPECT_EQ(other.start().status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weft::testing
