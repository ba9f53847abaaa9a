// SPDX-License-Identifier: Apache-2.0
// Functions, coroutines and streams are served by a protocol without frames of Weft's, on the port of Weft.
#include "integration/protocols/text_protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>
#include <weft/blocking_client.hpp>
#include <weft/coroutines.hpp>
#include <weft/streams.hpp>
#include <weft/weft.hpp>

#include "integration/protocols/raw_text.hpp"
#include "weft/detail/wire/heads.hpp"
#if WEFT_HAVE_TLS
#include "support/test_ca.hpp"
#endif

namespace protocol_demo {

using namespace std::chrono_literals;

int add(int a, int b) {
  return a + b;
}
std::string greet(weft::CallContext& context, std::string_view name) {
  return std::string{context.metadata().find("greeting").value_or("hello")}.append(" ").append(name);
}
weft::Task<int> add_later(int a, int b) {
  [[maybe_unused]] const weft::Result<void> slept = co_await weft::sleep_for(1ms);
  co_return a + b;
}
weft::Task<weft::Result<int>> find(int) {
  co_return weft::Status{weft::StatusCode::kNotFound, weft::Layer::kUser, "no such key"};
}

/// Counts the streams that run, and the items that were sent by count_up().
std::atomic<int> running = 0;
std::atomic<int> sent = 0;
struct Running {
  Running() { ++running; }
  ~Running() { --running; }
};
weft::Stream<int> count_up(int end) {
  const Running here;
  for (int i = 0; i < end; ++i) {
    co_yield i;
    ++sent;
  }
}
weft::Stream<int> fail_after(int items) {
  for (int i = 0; i < items; ++i) co_yield i;
  throw weft::user_error(7, "no more");
}
weft::Stream<std::uint8_t> unsendable() {
  co_yield std::uint8_t{1};
  co_yield std::uint8_t{0xFF};
  co_yield std::uint8_t{2};
}
weft::Stream<std::string> texts(std::string text, int times) {
  for (int i = 0; i < times; ++i) co_yield text;
}
weft::Task<weft::Result<int>> sum(weft::Reader<int>& numbers, int first) {
  const Running here;
  while (auto number = co_await numbers.next()) first += *number;
  if (!numbers.status().ok()) co_return numbers.status();
  co_return first;
}
weft::Task<weft::Result<int>> first_of(weft::Reader<int>& numbers) {
  co_return *co_await numbers.next();
}
/// Reads nothing until it is cancelled.
weft::Task<weft::Result<int>> ignore(weft::Reader<int>&) {
  const Running here;
  [[maybe_unused]] const weft::Result<void> slept = co_await weft::sleep_for(1h);
  co_return 0;
}
weft::Task<weft::Result<void>> twice(weft::Reader<int>& in, weft::Writer<int>& out) {
  const Running here;
  while (auto number = co_await in.next()) {
    const bool written = co_await out.write(2 * *number);
    if (!written) break;
  }
  co_return weft::Result<void>{};
}
long total_of(weft::BlockingReader<int>& numbers) {
  long total = 0;
  while (auto number = numbers.next()) total += *number;
  return total;
}
void squares(weft::BlockingWriter<int>& out, int below) {
  const Running here;
  for (int i = 0; i < below; ++i) {
    if (!out.write(i * i)) break;
  }
}

weft::Server* to_stop = nullptr;
weft::Task<weft::Result<void>> stop_server(weft::Reader<int>& in, weft::Writer<int>& out) {
  const Running here;
  while (auto number = co_await in.next()) {
    const bool written = co_await out.write(*number);
    if (!written) break;
    to_stop->stop(0s);
  }
  co_return weft::Result<void>{};
}

}  // namespace protocol_demo

namespace weft::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string item(int id, int value) {
  return "item " + std::to_string(id) + ' ' + hex_of(value);
}
constexpr std::uint64_t kItemCost = detail::wire::item_cost(sizeof(int));
/// Number of items of four bytes that the server sends on the first credit.
constexpr int kFirstItems = static_cast<int>((kTextCredit + kItemCost - 1) / kItemCost);

class TextStreams : public ::testing::TestWithParam<const char*> {
 protected:
  ~TextStreams() override {
    if (!server_) return;
    server_->stop(0s);
    server_->wait();
    EXPECT_EQ(protocol_demo::running, 0);
  }
  void start(ServerOptions options = {}) {
    using namespace protocol_demo;
    options.listen = {std::string{GetParam()} + "://127.0.0.1:0"};
    options.protocols.push_back(text_protocol());
    TransportOptions transports;
#if WEFT_HAVE_TLS
    if (GetParam() == std::string_view{"tls"}) {
      transports.tls.certificates = {ca_.issue()};
      transports.tls.ca_pem = ca_.pem();
      transports.tls.alpn = {"weft", "text"};
      client_transports_.tls.ca_pem = ca_.pem();
      client_transports_.tls.certificates = {ca_.issue()};
    }
#endif
    server_.emplace(std::move(options), transports);
    server_->register_handler<add>();
    server_->register_handler<greet>();
    server_->register_handler<add_later>();
    server_->register_handler<find>();
    server_->register_handler<count_up>();
    server_->register_handler<fail_after>();
    server_->register_handler<unsendable>();
    server_->register_handler<texts>();
    server_->register_handler<sum>();
    server_->register_handler<first_of>();
    server_->register_handler<ignore>();
    server_->register_handler<twice>();
    server_->register_handler<stop_server>();
    server_->register_handler<total_of>({.blocking = true});
    server_->register_handler<squares>({.blocking = true});
    const Result<void> started = server_->start();
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    url_ = server_->urls().front();
    sent_before_ = protocol_demo::sent;
  }
  /// Waits until `count` streams run.
  static void await_running(int count) {
    while (protocol_demo::running != count) std::this_thread::yield();
  }
  /// Number of items that count_up() has sent in this test.
  int sent() const { return protocol_demo::sent - sent_before_; }
  static void grant(RawText& client, int id, std::uint64_t items) {
    client.say("credit " + std::to_string(id) + ' ' + std::to_string(items * kItemCost));
  }

#if WEFT_HAVE_TLS
  const TestCa ca_;
#endif
  TransportOptions client_transports_;
  std::optional<Server> server_;
  std::string url_;
  int sent_before_ = 0;
};

TEST_P(TextStreams, FunctionsAndCoroutinesAreCalled) {
  start();
  RawText client{url_};
  ASSERT_TRUE(client.is_connected());
  client.call(1, "add", hex_of(1, 2));
  EXPECT_EQ(client.read(), "ok 1 " + hex_of(3));
  client.call(2, "add_later", hex_of(20, 22));
  EXPECT_EQ(client.read(), "ok 2 " + hex_of(42));
  client.call(3, "greet", hex_of(std::string{"you"}), 0, "greeting=good-day");
  EXPECT_EQ(client.read(), "ok 3 " + hex_of(std::string{"good-day you"}));
  client.call(4, "find", hex_of(1));
  EXPECT_THAT(client.read(), StartsWith("fail 4 NOT_FOUND"));
  client.call(5, "nothing", "-");
  EXPECT_THAT(client.read(), StartsWith("fail 5 UNIMPLEMENTED"));
  client.call(6, "add", "ff");
  EXPECT_THAT(client.read(), StartsWith("fail 6 INVALID_ARGUMENT"));
}

TEST_P(TextStreams, OnePortServesWeftBesideIt) {
  start();
  RawText text{url_};
  text.call(1, "count_up", hex_of(2));
#if WEFT_HAVE_TLS
  BlockingClient client{{.connect = url_}, make_transports(client_transports_)};
#else
  BlockingClient client{{.connect = url_}};
#endif
  const auto added = client.call<protocol_demo::add>(20, 22);
  ASSERT_TRUE(added.ok()) << added.status().to_string();
  EXPECT_EQ(*added, 42);
  auto numbers = client.open<protocol_demo::count_up>(1000);
  int count = 0;
  while (const auto number = numbers.next()) EXPECT_EQ(*number, count++);
  EXPECT_EQ(count, 1000);
  EXPECT_TRUE(numbers.status().ok());
  EXPECT_EQ(text.read(), item(1, 0));
  EXPECT_EQ(text.read(), item(1, 1));
  EXPECT_EQ(text.read(), "ok 1 -");
  EXPECT_EQ(server_->stats().connections, 2u);
}

TEST_P(TextStreams, AHandlerSendsItemsAndItsEnd) {
  start();
  RawText client{url_};
  client.call(1, "count_up", hex_of(3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read(), item(1, i));
  EXPECT_EQ(client.read(), "ok 1 -");
  client.call(2, "fail_after", hex_of(1));
  EXPECT_EQ(client.read(), item(2, 0));
  EXPECT_THAT(client.read(), HasSubstr("no more"));
  client.call(3, "squares", hex_of(3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read(), item(3, i * i));
  EXPECT_EQ(client.read(), "ok 3 -");
}

TEST_P(TextStreams, AHandlerTakesItems) {
  start();
  RawText client{url_};
  for (const std::string_view name : {"sum", "total_of"}) {
    client.call(1, name, name == "sum" ? hex_of(100) : "-");
    for (int i = 1; i <= 4; ++i) client.say(item(1, i));
    client.say("end 1");
    EXPECT_EQ(client.read(), "ok 1 " + (name == "sum" ? hex_of(110) : hex_of(10L)));
  }
  client.call(2, "first_of", "-");
  client.say(item(2, 7));
  EXPECT_EQ(client.read(), "ok 2 " + hex_of(7)) << "the rest is not needed";
  client.say(item(2, 8));
  client.call(3, "add", hex_of(1, 2));
  EXPECT_EQ(client.read(), "ok 3 " + hex_of(3)) << "an item behind the end is dropped";
}

TEST_P(TextStreams, BothSidesSendItems) {
  start();
  RawText client{url_};
  client.call(1, "twice", "-");
  client.call(2, "twice", "-");
  for (int i = 0; i < 100; ++i) {
    const int id = 1 + i % 2;
    grant(client, id, static_cast<std::uint64_t>(i) + 10);
    client.say(item(id, i));
    EXPECT_EQ(client.read(), item(id, 2 * i));
  }
  client.say("end 2");
  EXPECT_EQ(client.read(), "ok 2 -");
  client.say("end 1");
  EXPECT_EQ(client.read(), "ok 1 -");
}

TEST_P(TextStreams, ASlowReaderHoldsBackItsOwnStreamOnly) {
  start();
  RawText client{url_};
  client.call(1, "count_up", hex_of(1'000'000));
  for (int i = 0; i < kFirstItems; ++i) EXPECT_EQ(client.read(), item(1, i));
  client.call(2, "count_up", hex_of(1000));
  grant(client, 2, 1000);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(client.read(), item(2, i));
  EXPECT_EQ(client.read(), "ok 2 -");
  EXPECT_EQ(sent(), 1000 + kFirstItems) << "the first stream waits for credit";
  grant(client, 1, static_cast<std::uint64_t>(kFirstItems) + 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read(), item(1, kFirstItems + i));
  client.say("cancel 1");
  EXPECT_THAT(client.read(), StartsWith("fail 1 CANCELLED"));
}

TEST_P(TextStreams, AClientThatReadsNothingHoldsBackItsConnectionOnly) {
  start({.limits = {.process_memory_max = std::size_t{4} << 20}});
  RawText silent{url_, 4096};
  const std::string text(20'000, 'x');
  for (int id = 1; id <= 8; ++id) {
    silent.call(id, "texts", hex_of(text, 100));
    silent.say("credit " + std::to_string(id) + " 1000000000");
  }
  RawText other{url_};
  for (int i = 0; i < 50; ++i) {
    other.call(i, "count_up", hex_of(2));
    EXPECT_EQ(other.read(), item(i, 0));
    EXPECT_EQ(other.read(), item(i, 1));
    EXPECT_EQ(other.read(), "ok " + std::to_string(i) + " -");
  }
  // The items are eight times the memory of the server.
  int ended = 0;
  for (int items = 0; ended < 8;) {
    const std::string line = silent.read();
    if (line.starts_with("item ")) ++items;
    if (line.starts_with("ok ")) ++ended;
    ASSERT_TRUE(line.starts_with("item ") || line.starts_with("ok ")) << line.substr(0, 100);
    if (ended == 8) {
      EXPECT_EQ(items, 800);
    }
  }
}

TEST_P(TextStreams, ASlowHandlerHoldsBackItsClient) {
  start({.limits = {.stream_window = 4 * kItemCost}});
  RawText client{url_};
  client.call(1, "ignore", "-");
  client.call(2, "sum", hex_of(0));
  for (int i = 0; i < 4; ++i) client.say(item(1, i));
  for (std::uint64_t granted = 4, i = 0; i < 100; ++i) {
    while (i == granted) {
      const std::string line = client.read();
      ASSERT_THAT(line, StartsWith("credit 2 "));
      granted = std::stoull(line.substr(9)) / kItemCost;
    }
    client.say(item(2, 1));
  }
  client.say("end 2");
  std::string line;
  while ((line = client.read()).starts_with("credit 2 ")) continue;
  EXPECT_EQ(line, "ok 2 " + hex_of(100)) << "no credit came for the first stream";
  client.say(item(1, 4));
  EXPECT_THAT(client.read(), StartsWith("bye ")) << "the item exceeds the credit";
  EXPECT_EQ(client.read(), "<end>");
}

TEST_P(TextStreams, CancelDeadlineAndLeavingEndTheirStreams) {
  start();
  RawText client{url_};
  client.call(1, "count_up", hex_of(1'000'000));
  client.call(2, "ignore", "-");
  client.call(3, "squares", hex_of(1'000'000));
  await_running(3);
  for (int id = 1; id <= 3; ++id) client.say("cancel " + std::to_string(id));
  int cancelled = 0;
  while (cancelled < 3) {
    const std::string line = client.read();
    ASSERT_TRUE(line.starts_with("item ") || line.starts_with("fail ")) << line;
    if (line.starts_with("fail ")) ++cancelled;
  }
  await_running(0);
  client.call(4, "sum", hex_of(0), 20);
  client.say(item(4, 1));
  EXPECT_THAT(client.read(), StartsWith("fail 4 DEADLINE_EXCEEDED"));
  {
    RawText leaving{url_};
    leaving.call(1, "count_up", hex_of(1'000'000));
    leaving.call(2, "ignore", "-");
    leaving.call(3, "squares", hex_of(1'000'000));
    leaving.call(4, "twice", "-");
    await_running(4);
  }
  await_running(0);
  client.call(5, "add", hex_of(1, 2));
  EXPECT_EQ(client.read(), "ok 5 " + hex_of(3));
}

TEST_P(TextStreams, AHalfClosedConnectionGivesUpItsStreams) {
  if (GetParam() != std::string_view{"tcp"}) GTEST_SKIP() << "TLS ends both sides";
  start();
  RawText client{url_};
  client.call(1, "ignore", "-");
  await_running(1);
  client.end_sending();
  EXPECT_THAT(client.read(), StartsWith("fail 1 CANCELLED"));
  EXPECT_EQ(client.read(), "<end>");
}

TEST_P(TextStreams, GatesAndLimitsHoldForStreams) {
  class Refuses final : public ServerInterceptor {
   public:
    Status before(IncomingCall& call) override {
      if (call.metadata().find("tenant") != "red") return {};
      return {StatusCode::kPermissionDenied, Layer::kUser, "red"};
    }
    void after(const EndedCall& call) noexcept override {
      ++ended;
      if (!call.status.ok()) ++failed;
    }
    std::atomic<int> ended = 0;
    std::atomic<int> failed = 0;
  };
  const auto interceptor = std::make_shared<Refuses>();
  start({.calls_running_max = 3, .interceptors = {interceptor}, .limits = {.streams_max = 2}});
  RawText client{url_};
  client.call(1, "count_up", hex_of(1), 0, "tenant=red");
  EXPECT_THAT(client.read(), StartsWith("fail 1 PERMISSION_DENIED"));
  client.call(2, "ignore", "-", 0, "tenant=blue");
  client.call(3, "ignore", "-");
  await_running(2);
  client.call(4, "sum", hex_of(0));
  EXPECT_THAT(client.read(), HasSubstr("RpcLimits::streams_max"));
  RawText other{url_};
  other.call(1, "ignore", "-");
  await_running(3);
  other.call(2, "count_up", hex_of(1));
  EXPECT_THAT(other.read(), HasSubstr("calls_running_max"));
  client.say("cancel 2");
  EXPECT_THAT(client.read(), StartsWith("fail 2 CANCELLED"));
  client.call(5, "sum", hex_of(1));
  client.say("end 5");
  EXPECT_EQ(client.read(), "ok 5 " + hex_of(1));
  EXPECT_GE(interceptor->ended, 2);
  EXPECT_GE(interceptor->failed, 1);
}

TEST_P(TextStreams, UnreadItemsStayWithinTheConnectionsMemory) {
  start({.limits = {.connection_memory_max = std::size_t{2} << 20, .stream_window = 64u << 20}});
  RawText client{url_};
  client.call(1, "ignore", "-");
  await_running(1);
  const std::string large = "item 1 " + std::string(400'000, '0');
  for (int i = 0; i < 30; ++i) client.say(large);
  client.say("cancel 1");
  EXPECT_THAT(client.read(), StartsWith("fail 1 "));
  client.call(2, "sum", hex_of(1));
  client.say("end 2");
  EXPECT_EQ(client.read(), "ok 2 " + hex_of(1));
}

TEST_P(TextStreams, AnItemThatCannotBeSentFailsItsCall) {
  start();
  RawText client{url_};
  client.call(1, "unsendable", "-");
  EXPECT_EQ(client.read(), "item 1 01");
  EXPECT_THAT(client.read(), StartsWith("fail 1 DATA_LOSS"));
  client.call(2, "count_up", hex_of(0));
  EXPECT_EQ(client.read(), "ok 2 -");
}

TEST_P(TextStreams, LinesThatNoStreamAllowsEndTheConnection) {
  start();
  for (const char* line : {"item 1 0", "item 1 xy", "credit 1 1", "end 1", "call 1 0 a -", "nonsense 1"}) {
    RawText client{url_};
    client.call(1, "twice", "-");
    if (line == std::string_view{"end 1"}) client.say(line);
    client.say(line);
    std::string answer = client.read();
    if (answer == "ok 1 -") answer = "bye: the stream had ended before its second end";
    EXPECT_THAT(answer, StartsWith("bye")) << line;
  }
  RawText endless{url_};
  endless.say("call " + std::string(2 << 20, 'x'));
  EXPECT_THAT(endless.read(), StartsWith("bye the line is too long"));
}

TEST_P(TextStreams, AStoppedServerAnswersItsStreams) {
  start();
  RawText client{url_};
  client.call(1, "sum", hex_of(0));
  client.say(item(1, 5));
  await_running(1);
  server_->stop(10s);
  std::string line;
  do {  // the loop learns of the stop in a later turn
    client.call(2, "add", hex_of(1, 2));
    line = client.read();
  } while (line.starts_with("ok 2 "));
  EXPECT_THAT(line, StartsWith("fail 2 UNAVAILABLE"));
  client.say(item(1, 6));
  client.say("end 1");
  EXPECT_EQ(client.read(), "ok 1 " + hex_of(11));
  EXPECT_EQ(client.read(), "<end>");
  server_->wait();
}

TEST_P(TextStreams, AForcedStopEndsItsStreams) {
  start();
  RawText client{url_};
  client.call(1, "ignore", "-");
  client.call(2, "squares", hex_of(1'000'000));
  await_running(2);
  server_->stop(0s);
  std::string line;
  while ((line = client.read()).starts_with("item 2 ")) continue;
  EXPECT_THAT(line, HasSubstr("the server stops"));
  EXPECT_EQ(client.read(), "<end>");
  server_->wait();
  EXPECT_EQ(protocol_demo::running, 0);
}

TEST_P(TextStreams, AStreamStopsItsServer) {
  start();
  protocol_demo::to_stop = &*server_;
  RawText client{url_};
  client.call(1, "stop_server", "-");
  client.say(item(1, 5));
  EXPECT_EQ(client.read(), item(1, 5));
  EXPECT_THAT(client.read(), HasSubstr("the server stops"));
  EXPECT_EQ(client.read(), "<end>");
  server_->wait();
}

TEST_P(TextStreams, ManyStreamsWaitForRoomInTurns) {
  start();
  RawText client{url_, 4096};
  constexpr int kStreams = 100;
  const std::string text(10'000, 'y');
  for (int id = 0; id < kStreams; ++id) {
    client.call(id, "texts", hex_of(text, 10));
    client.say("credit " + std::to_string(id) + " 1000000");
  }
  std::vector<int> items(kStreams, 0);
  for (int ended = 0; ended < kStreams;) {
    const std::string line = client.read();
    const int id = std::atoi(line.c_str() + line.find(' '));
    if (line.starts_with("item ")) {
      ++items.at(static_cast<std::size_t>(id));
      continue;
    }
    ASSERT_EQ(line, "ok " + std::to_string(id) + " -");
    EXPECT_EQ(items.at(static_cast<std::size_t>(id)), 10);
    ++ended;
  }
}

INSTANTIATE_TEST_SUITE_P(InTheClear, TextStreams, ::testing::Values("tcp"));
#if WEFT_HAVE_TLS
INSTANTIATE_TEST_SUITE_P(OverTls, TextStreams, ::testing::Values("tls"));
#endif

}  // namespace
}  // namespace weft::testing
