// SPDX-License-Identifier: Apache-2.0
// CR-11: streams over HTTP: JSON lines or server-sent events in the answer, JSON lines in the request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <weft/coroutines.hpp>
#include <weft/http.hpp>
#include <weft/streams.hpp>
#include <weft/weft.hpp>

#include "integration/http/raw_http.hpp"
#include "integration/rpc/picky_items.hpp"

namespace http_streams_demo {

using namespace std::chrono_literals;

struct Quote {
  std::string symbol;
  int price = 0;
};

std::atomic<int> running = 0;
std::atomic<int> sent = 0;
std::atomic<int> taken = 0;
struct Running {
  Running() { ++running; }
  ~Running() { --running; }
};
int add(int a, int b) {
  return a + b;
}
weft::Stream<int> count_up(int end) {
  const Running here;
  for (int i = 0; i < end; ++i) {
    co_yield i;
    ++sent;
  }
}
weft::Stream<Quote> watch(std::string symbol) {
  for (int price = 100; price < 103; ++price) {
    const Quote quote{symbol, price};
    co_yield quote;
  }
  throw weft::user_error(1, "the market closed");
}
weft::Stream<int> fail_at_once() {
  throw weft::Status{weft::StatusCode::kNotFound, weft::Layer::kUser, "nothing here"};
  co_return;
}
weft::Stream<std::string> texts(std::string text, int times) {
  const Running here;
  for (int i = 0; i < times; ++i) {
    co_yield text;
    ++sent;
  }
}
weft::Stream<int> then_wait(int items) {
  const Running here;
  for (int i = 0; i < items; ++i) co_yield i;
  [[maybe_unused]] const weft::Result<void> slept = co_await weft::sleep_for(1h);
}
weft::Task<void> with_metadata(weft::CallContext& context, weft::Writer<int>& out) {
  context.add_initial_metadata("first", "a").value();
  context.add_answer_metadata("last", "z").value();
  [[maybe_unused]] const bool written = co_await out.write(1);
  context.add_initial_metadata("later", "b").value();
}
weft::Task<weft::Result<int>> sum(weft::Reader<int>& numbers, int first) {
  const Running here;
  while (auto number = co_await numbers.next()) {
    first += *number;
    ++taken;
  }
  if (!numbers.status().ok()) co_return numbers.status();
  co_return first;
}
weft::Task<weft::Result<int>> first_of(weft::Reader<int>& numbers) {
  auto number = co_await numbers.next();
  co_return number.value_or(-1);
}
weft::Task<weft::Result<int>> ignore(weft::Reader<int>&) {
  const Running here;
  [[maybe_unused]] const weft::Result<void> slept = co_await weft::sleep_for(1h);
  co_return 0;
}
weft::Task<weft::Result<std::string>> twice(weft::Reader<int>& in, weft::Writer<int>& out) {
  const Running here;
  while (auto number = co_await in.next()) {
    const bool written = co_await out.write(2 * *number);
    if (!written) break;
  }
  co_return "all";
}
weft::Task<void> repeat(weft::Reader<int>& times, weft::Writer<std::string>& out, std::string text) {
  const Running here;
  while (auto number = co_await times.next()) {
    for (int i = 0; i < *number; ++i) {
      const bool written = co_await out.write(text);
      if (!written) co_return;
      ++sent;
    }
  }
}
long total_of(weft::BlockingReader<int>& numbers) {
  long total = 0;
  while (auto number = numbers.next()) total += *number;
  return total;
}

// Readers that never ask how reading ended.
using Picky = weft::testing::Picky;
weft::Task<int> count_picky(weft::Reader<Picky>& items) {
  int read = 0;
  while (auto item = co_await items.next()) ++read;
  co_return read;
}
int count_picky_blocking(weft::BlockingReader<Picky>& items) {
  int read = 0;
  while (items.next()) ++read;
  return read;
}
weft::Stream<int> count_picky_on(weft::Reader<Picky>& items) {
  int read = 0;
  while (auto item = co_await items.next()) co_yield ++read;
}

}  // namespace http_streams_demo

namespace weft::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpStreaming : public ::testing::Test {
 protected:
  ~HttpStreaming() override {
    if (!server_) return;
    server_->stop(0s);
    server_->wait();
    EXPECT_EQ(http_streams_demo::running, 0);
  }
  void start(ServerOptions options = {}, HttpOptions http_options = {}) {
    using namespace http_streams_demo;
    options.listen = {"tcp://127.0.0.1:0"};
    options.protocols.push_back(http(std::move(http_options)));
    server_.emplace(std::move(options));
    server_->register_handler<add>();
    server_->register_handler<count_up>();
    server_->register_handler<watch>();
    server_->register_handler<fail_at_once>();
    server_->register_handler<texts>();
    server_->register_handler<then_wait>();
    server_->register_handler<with_metadata>();
    server_->register_handler<sum>();
    server_->register_handler<first_of>();
    server_->register_handler<ignore>();
    server_->register_handler<twice>();
    server_->register_handler<repeat>();
    server_->register_handler<total_of>({.blocking = true});
    server_->register_handler<count_picky, count_picky_blocking, count_picky_on>();
    const Result<void> started = server_->start();
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    url_ = server_->urls().front();
    sent_before_ = http_streams_demo::sent;
    taken_before_ = http_streams_demo::taken;
  }
  static std::string path(std::string_view name) {
    return std::string{"/functions/http_streams_demo::"}.append(name);
  }
  /// Begins a request with a body in chunks.
  static void begin(RawHttp& client, std::string_view name, std::string_view headers = {}) {
    std::string head = "POST " + path(name) + " HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n";
    client.send(head.append(headers).append("\r\n"));
  }
  static void await_running(int count) {
    while (http_streams_demo::running != count) std::this_thread::yield();
  }
  static void expect_ok(RawHttp& client) {
    EXPECT_EQ(client.call(path("add"), "[1, 2]").body, "3") << "the connection goes on";
  }
  int sent() const { return http_streams_demo::sent - sent_before_; }
  int taken() const { return http_streams_demo::taken - taken_before_; }

  std::optional<Server> server_;
  std::string url_;
  int sent_before_ = 0;
  int taken_before_ = 0;
};

TEST_F(HttpStreaming, AStreamIsAnsweredWithJsonLines) {
  start();
  RawHttp client{url_};
  const HttpAnswer head = client.call(path("count_up"), "[3]");
  EXPECT_EQ(head.status, 200);
  EXPECT_THAT(head.head, HasSubstr("Content-Type: application/x-ndjson\r\n"));
  EXPECT_THAT(head.head, HasSubstr("Transfer-Encoding: chunked\r\n"));
  for (const char* line : {"{\"item\":0}\n", "{\"item\":1}\n", "{\"item\":2}\n", "{\"result\":null}\n", ""}) {
    EXPECT_EQ(client.read_chunk(), line);
  }
  client.post(path("count_up"), "[0]");
  EXPECT_EQ(client.read().status, 200);
  EXPECT_EQ(client.read_chunk(), "{\"result\":null}\n");
  EXPECT_EQ(client.read_chunk(), "");
  expect_ok(client);
}

TEST_F(HttpStreaming, AStreamIsAnsweredWithEventsIfTheClientPrefersThem) {
  start();
  RawHttp client{url_};
  const HttpAnswer head = client.call(path("count_up"), "[1]", "Accept: text/event-stream\r\n");
  EXPECT_THAT(head.head, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_EQ(client.read_chunk(), "data: 0\n\n");
  EXPECT_EQ(client.read_chunk(), "event: result\ndata: null\n\n");
  EXPECT_EQ(client.read_chunk(), "");
  client.call(path("watch"), R"(["WFT"])", "Accept: text/event-stream, application/x-ndjson;q=0.5\r\n");
  for (int price = 100; price < 103; ++price) {
    EXPECT_EQ(client.read_chunk(), "data: {\"symbol\":\"WFT\",\"price\":" + std::to_string(price) + "}\n\n");
  }
  EXPECT_THAT(client.read_chunk(), StartsWith("event: error\ndata: {\"code\":"));
  EXPECT_EQ(client.read_chunk(), "");
  expect_ok(client);
}

TEST_F(HttpStreaming, AFailureIsTheLastLineOrTheWholeAnswer) {
  start();
  RawHttp client{url_};
  EXPECT_EQ(client.call(path("watch"), R"(["WFT"])").status, 200);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(client.read_chunk(), StartsWith("{\"item\":"));
  const std::string error = client.read_chunk();
  EXPECT_THAT(error, StartsWith("{\"error\":{\"code\":"));
  EXPECT_THAT(error, HasSubstr("the market closed"));
  EXPECT_EQ(client.read_chunk(), "");
  const HttpAnswer missing = client.call(path("fail_at_once"), "[]");
  EXPECT_EQ(missing.status, 404) << "nothing of the answer was sent before";
  EXPECT_THAT(missing.body, HasSubstr("nothing here"));
  EXPECT_EQ(client.call(path("count_up"), "[true]").status, 400);
  expect_ok(client);
}

TEST_F(HttpStreaming, OldClientsGetAnAnswerUpToTheEndOfTheConnection) {
  start();
  RawHttp client{url_};
  client.send("POST " + path("count_up") +
              " HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\n[2]");
  const HttpAnswer head = client.read();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.head.find("chunked"), std::string::npos) << head.head;
  EXPECT_EQ(client.read_rest(), "{\"item\":0}\n{\"item\":1}\n{\"result\":null}\n");
}

TEST_F(HttpStreaming, ItemsOfARequestAreLines) {
  start();
  RawHttp client{url_};
  for (const std::string_view name : {"sum", "total_of"}) {
    begin(client, name);
    client.send_chunk(name == "sum" ? "[100]\n1\n" : "[]\n1\n");
    client.send_chunk("2\r\n\n3");
    client.send_chunk("0\n4");
    client.send_chunk("");
    EXPECT_EQ(client.read().body, name == "sum" ? "137" : "37");
  }
  EXPECT_EQ(client.call(path("sum"), "[1]\n2\n3\n").body, "6") << "with a length";
  EXPECT_EQ(client.call(path("sum"), "[1]").body, "1") << "without items";
  begin(client, "sum", "Expect: 100-continue\r\n");
  EXPECT_EQ(client.read().status, 100);
  client.send_chunk("[1]\n5");
  client.send_chunk("");
  EXPECT_EQ(client.read().body, "6");
  expect_ok(client);
}

TEST_F(HttpStreaming, ItemsThatArriveByteForByteArePassed) {
  start();
  RawHttp client{url_};
  begin(client, "sum");
  for (const char byte : std::string_view{"[1]\n20\n\n300\n"}) client.send_chunk({&byte, 1});
  client.send_chunk("");
  EXPECT_EQ(client.read().body, "321");
}

TEST_F(HttpStreaming, BothSidesSendItemsInTurns) {
  start();
  RawHttp client{url_};
  begin(client, "twice");
  client.send_chunk("[]\n");
  for (int i = 0; i < 50; ++i) {
    client.send_chunk(std::to_string(i) + "\n");
    if (i == 0) {
      EXPECT_EQ(client.read().status, 200);
    }
    EXPECT_EQ(client.read_chunk(), "{\"item\":" + std::to_string(2 * i) + "}\n");
  }
  client.send_chunk("");
  EXPECT_EQ(client.read_chunk(), "{\"result\":\"all\"}\n");
  EXPECT_EQ(client.read_chunk(), "");
  expect_ok(client);
}

TEST_F(HttpStreaming, LinesThatAreNoItemsFailTheirCall) {
  start({}, {.body_bytes_max = 1000});
  RawHttp client{url_};
  const HttpAnswer wrong = client.call(path("sum"), "[1]\n2\n\"three\"\n4\n");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(wrong.body, HasSubstr("item 1"));
  expect_ok(client);
  EXPECT_EQ(client.call(path("sum"), "[true]\n1\n").status, 400);
  expect_ok(client);
  EXPECT_EQ(client.call(path("sum"), "[1]\n" + std::string(900, '1')).status, 400) << "no number of 32 bits";
  expect_ok(client);
  begin(client, "sum");
  client.send_chunk("[1]\n");
  client.send_chunk(std::string(2000, ' '));
  EXPECT_EQ(client.read().status, 429) << "the line is over the limit";
  RawHttp other{url_};
  other.post(path("sum"), std::string(1500, ' '));
  EXPECT_EQ(other.read().status, 429);
  // The body as a whole has no limit.
  std::string lines = "[0]\n";
  for (int i = 0; i < 5000; ++i) lines += "1\n";
  RawHttp third{url_};
  EXPECT_EQ(third.call(path("sum"), lines).body, "5000");
}

TEST_F(HttpStreaming, AnItemThatItsTypeRefusesFailsTheCallWhateverItsHandlerReturns) {
  start();
  RawHttp client{url_};
  for (const int fault : {kRefused, kThrows, kNoMemory}) {
    const std::string lines = "[]\n0\n1\n" + std::to_string(fault) + "\n3\n4\n";
    const int status = code_of(fault) == StatusCode::kResourceExhausted ? 429 : 400;
    for (const char* const name : {"count_picky", "count_picky_blocking"}) {
      const HttpAnswer failed = client.call(path(name), lines);
      EXPECT_EQ(failed.status, status) << name;
      EXPECT_THAT(failed.body, HasSubstr("an item of a stream")) << name;
    }
    EXPECT_EQ(client.call(path("count_picky_on"), lines).status, 200);
    std::string ended;
    for (std::string chunk = client.read_chunk(); !chunk.empty(); chunk = client.read_chunk()) ended += chunk;
    EXPECT_THAT(ended, StartsWith("{\"item\":1}\n{\"item\":2}\n{\"error\":{"));
    EXPECT_THAT(ended, HasSubstr("an item of a stream"));
    expect_ok(client);
  }
  EXPECT_EQ(client.call(path("count_picky"), "[]\n0\n1\n2\n").body, "3");
}

TEST_F(HttpStreaming, ACallMayEndBeforeItsItems) {
  start();
  RawHttp client{url_};
  begin(client, "first_of");
  client.send_chunk("[]\n7\n");
  EXPECT_EQ(client.read().body, "7");
  client.send_chunk("8\n9\n");
  client.send_chunk("");
  expect_ok(client);
}

TEST_F(HttpStreaming, TheRestOfALongBodyIsNotReadBehindItsAnswer) {
  start({}, {.body_bytes_max = 1000});
  RawHttp with_length{url_};
  with_length.send("POST " + path("first_of") +
                   " HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000000\r\n\r\n[]\n7\n");
  EXPECT_EQ(with_length.read().body, "7");
  EXPECT_TRUE(with_length.is_ended());
  RawHttp in_a_chunk{url_};
  begin(in_a_chunk, "first_of");
  in_a_chunk.send("FFFFFFFF\r\n[]\n7\n");
  EXPECT_EQ(in_a_chunk.read().body, "7");
  EXPECT_TRUE(in_a_chunk.is_ended());
  RawHttp long_before{url_};
  begin(long_before, "first_of");
  long_before.send_chunk("[]\n" + std::string(900, '\n') + "7\n");
  EXPECT_EQ(long_before.read().body, "7");
  long_before.send_chunk(std::string(900, '\n'));
  long_before.send_chunk("");
  expect_ok(long_before);
  RawHttp other{url_};
  expect_ok(other);
}

TEST_F(HttpStreaming, ItemsAreCounted) {
  start();
  {
    RawHttp client{url_};
    EXPECT_EQ(client.call(path("sum"), "[1]\n2\n3\n").body, "6");
    EXPECT_EQ(client.call(path("count_up"), "[3]").status, 200);
    while (client.read_chunk() != "") continue;
    const ConnectionStats traffic = server_->stats().traffic;
    EXPECT_EQ(traffic.items_received, 2U);
    EXPECT_EQ(traffic.items_sent, 3U);
  }
  while (server_->stats().connections != 0) std::this_thread::yield();
  EXPECT_EQ(server_->stats().traffic.items_sent, 3U) << "the sum keeps closed connections";
}

TEST_F(HttpStreaming, MetadataComeBeforeTheItemsAndInTheTrailer) {
  start();
  RawHttp client{url_};
  const HttpAnswer head = client.call(path("with_metadata"), "[]", "Connection: close\r\n");
  EXPECT_THAT(head.head, HasSubstr("\r\nWeft-Meta-first: a\r\n"));
  EXPECT_EQ(head.head.find("last"), std::string::npos) << head.head;
  EXPECT_EQ(client.read_chunk(), "{\"item\":1}\n");
  EXPECT_EQ(client.read_chunk(), "{\"result\":null}\n");
  EXPECT_EQ(client.read_rest(), "0\r\nWeft-Meta-later: b\r\nWeft-Meta-last: z\r\n\r\n");
}

TEST_F(HttpStreaming, ASlowHandlerHoldsBackItsClient) {
  start({.limits = {.stream_window = 4096}});
  RawHttp client{url_};
  begin(client, "ignore");
  client.send_chunk("[]\n");
  await_running(1);
  const std::uint64_t before = server_->stats().traffic.bytes_received;
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "1\n";
  // More than the buffers of two sockets and a connection.
  std::thread sender{[&] {
    for (int i = 0; i < 2000; ++i) client.send_chunk(many);
  }};
  RawHttp other{url_};
  for (int i = 0; i < 200; ++i) expect_ok(other);
  EXPECT_LT(server_->stats().traffic.bytes_received - before, std::uint64_t{1} << 20);
  server_->stop(0s);
  sender.join();
  server_->wait();
}

TEST_F(HttpStreaming, ManyItemsPassASmallWindow) {
  start({.limits = {.stream_window = 1000}});
  RawHttp client{url_};
  begin(client, "sum");
  client.send_chunk("[0]\n");
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "1\n";
  for (int i = 0; i < 30; ++i) client.send_chunk(lines);
  client.send_chunk("");
  EXPECT_EQ(client.read().body, "30000");
  EXPECT_EQ(taken(), 30'000);
}

TEST_F(HttpStreaming, AClientThatReadsSlowlyHoldsBackItsHandler) {
  start({.limits = {.process_memory_max = std::size_t{8} << 20}});
  const std::string text(10'000, 'x');
  RawHttp silent{url_};
  silent.post(path("texts"), "[\"" + text + "\", 3000]");
  RawHttp other{url_};
  for (int i = 0; i < 100; ++i) expect_ok(other);
  EXPECT_LT(sent(), 2000) << "the items are four times the memory of the server";
  EXPECT_EQ(silent.read().status, 200);
  const std::string line = "{\"item\":\"" + text + "\"}\n";
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(silent.read_chunk(), line) << i;
  EXPECT_EQ(silent.read_chunk(), "{\"result\":null}\n");
}

TEST_F(HttpStreaming, ADeadlineEndsAStreamWithAnErrorLine) {
  start();
  RawHttp client{url_};
  EXPECT_EQ(client.call(path("then_wait"), "[2]", "Weft-Timeout-Ms: 30\r\n").status, 200);
  EXPECT_EQ(client.read_chunk(), "{\"item\":0}\n");
  EXPECT_EQ(client.read_chunk(), "{\"item\":1}\n");
  EXPECT_THAT(client.read_chunk(), HasSubstr("\"code\":\"DEADLINE_EXCEEDED\""));
  EXPECT_EQ(client.read_chunk(), "");
  await_running(0);
  begin(client, "ignore", "Weft-Timeout-Ms: 20\r\n");
  client.send_chunk("[]\n1\n");
  EXPECT_EQ(client.read().status, 504);
  client.send_chunk("");
  expect_ok(client);
}

TEST_F(HttpStreaming, AClientThatLeavesCancelsItsStream) {
  start();
  {
    RawHttp reading{url_};
    EXPECT_EQ(reading.call(path("texts"), "[\"x\", 1000000000]").status, 200);
    RawHttp waiting{url_};
    EXPECT_EQ(waiting.call(path("then_wait"), "[1]").status, 200);
    RawHttp sending{url_};
    begin(sending, "sum");
    sending.send_chunk("[0]\n1\n");
    await_running(3);
  }
  await_running(0);
  RawHttp half{url_};
  begin(half, "sum");
  half.send_chunk("[0]\n1\n");
  await_running(1);
  half.end_sending();
  await_running(0);
  EXPECT_TRUE(half.is_ended()) << "the body has no end, so the call has no answer";
}

TEST_F(HttpStreaming, AStoppedServerEndsItsStreamsWithAnErrorLine) {
  start();
  RawHttp client{url_};
  EXPECT_EQ(client.call(path("then_wait"), "[1]").status, 200);
  EXPECT_EQ(client.read_chunk(), "{\"item\":0}\n");
  server_->stop(0s);
  EXPECT_THAT(client.read_chunk(), HasSubstr("the server stops"));
  EXPECT_EQ(client.read_chunk(), "");
  EXPECT_TRUE(client.is_ended());
  client.end_sending();
  server_->wait();
}

TEST_F(HttpStreaming, AStoppedServerAnswersRequestsThatGoOn) {
  start();
  RawHttp sending{url_};
  begin(sending, "sum");
  sending.send_chunk("[1]\n2\n");
  RawHttp forced{url_};
  begin(forced, "ignore");
  forced.send_chunk("[]\n2\n");
  await_running(2);
  server_->stop(10s);
  sending.send_chunk("3\n");
  sending.send_chunk("");
  EXPECT_EQ(sending.read().body, "6");
  EXPECT_TRUE(sending.is_ended());
  server_->stop(0s);
  EXPECT_EQ(forced.read().status, 503);
  forced.send_chunk("4\n");
  forced.end_sending();
  EXPECT_TRUE(forced.is_ended());
  server_->wait();
}

TEST_F(HttpStreaming, AForcedStopDoesNotWaitForAPeerThatReadsNothingAndSendsOn) {
  start({.limits = {.stall_timeout = 1h}});
  RawHttp silent{url_};
  begin(silent, "repeat");
  silent.send_chunk("[\"" + std::string(10'000, 'x') + "\"]\n100000\n");
  await_running(1);
  // More than the kernel takes from a peer that reads nothing.
  RawHttp other{url_};
  while (sent() < 400) expect_ok(other);
  server_->stop(0s);
  server_->wait();
}

TEST_F(HttpStreaming, RequestsBehindAStreamWait) {
  start();
  RawHttp client{url_};
  client.post(path("count_up"), "[1]");
  client.post(path("add"), "[20, 22]");
  client.post(path("sum"), "[1]\n2\n");
  client.post(path("count_up"), "[0]");
  EXPECT_EQ(client.read().status, 200);
  EXPECT_EQ(client.read_chunk(), "{\"item\":0}\n");
  EXPECT_EQ(client.read_chunk(), "{\"result\":null}\n");
  EXPECT_EQ(client.read_chunk(), "");
  EXPECT_EQ(client.read().body, "42");
  EXPECT_EQ(client.read().body, "3");
  EXPECT_EQ(client.read().status, 200);
  EXPECT_EQ(client.read_chunk(), "{\"result\":null}\n");
}

TEST_F(HttpStreaming, LimitsHoldForStreams) {
  start({.calls_running_max = 1});
  RawHttp client{url_};
  begin(client, "ignore");
  client.send_chunk("[]\n");
  await_running(1);
  RawHttp other{url_};
  const HttpAnswer refused = other.call(path("count_up"), "[1]");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, HasSubstr("\"unprocessed\":true"));
  EXPECT_EQ(other.call(path("sum"), "[1]\n1\n").status, 429);
  expect_ok(other);
}

TEST_F(HttpStreaming, CurlReadsAStreamAndSendsOne) {
  if (std::system("curl --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "curl is not installed";
  start();
  const auto curl = [this](const std::string& arguments, std::string_view name) {
    const std::string port = url_.substr(url_.rfind(':') + 1);
    const std::string command = "curl --silent --show-error --max-time 20 " + arguments +
                                " http://127.0.0.1:" + port + path(name) + " 2>&1";
    std::FILE* const output = ::popen(command.c_str(), "r");
    std::string text;
    char bytes[4096];
    while (const std::size_t got = std::fread(bytes, 1, sizeof bytes, output)) text.append(bytes, got);
    return ::pclose(output) == 0 ? text : "<failed> " + text;
  };
  EXPECT_EQ(curl("-d '[2]'", "count_up"), "{\"item\":0}\n{\"item\":1}\n{\"result\":null}\n");
  EXPECT_EQ(curl("--http1.0 -d '[1]'", "count_up"), "{\"item\":0}\n{\"result\":null}\n");
  EXPECT_EQ(curl("-H 'Accept: text/event-stream' -d '[1]'", "count_up"),
            "data: 0\n\nevent: result\ndata: null\n\n");
  EXPECT_EQ(curl("--data-binary '[1]\n2\n3\n'", "sum"), "6");
}

}  // namespace
}  // namespace weft::testing
