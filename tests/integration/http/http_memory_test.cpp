// SPDX-License-Identifier: Apache-2.0
// CR-11: each allocation of a server that answers HTTP fails once. The client gets whole answers or the end
// of its connection, each call is counted once, and the next connection is served.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <weft/coroutines.hpp>
#include <weft/http.hpp>
#include <weft/streams.hpp>
#include <weft/weft.hpp>

#include "integration/http/raw_http.hpp"
#include "support/heap_count.hpp"

namespace http_memory {

std::string repeat(std::string text, std::uint32_t times) {
  std::string out;
  for (std::uint32_t i = 0; i < times; ++i) out += text;
  return out;
}
weft::Task<std::map<std::string, std::vector<int>>> wait(std::string text) {
  const weft::Result<void> slept = co_await weft::sleep_for(std::chrono::milliseconds{1});
  std::map<std::string, std::vector<int>> result;
  if (slept.ok()) result[text] = {1, 2, 3};
  co_return result;
}
weft::Stream<std::string> texts(std::string text, int times) {
  for (int i = 0; i < times; ++i) co_yield text;
}
weft::Task<weft::Result<std::size_t>> upload(weft::Reader<std::string>& texts, std::string name) {
  std::size_t bytes = name.size();
  while (const auto text = co_await texts.next()) bytes += text->size();
  if (!texts.status().ok()) co_return texts.status();
  co_return bytes;
}
weft::Result<int> find(std::string key) {
  return weft::Status{weft::StatusCode::kNotFound, weft::Layer::kUser, "no such key as " + key};
}

}  // namespace http_memory

namespace weft::testing {
namespace {

using namespace std::chrono_literals;

class SilentLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override {}
};

/// Returns the number of bytes of the answer that begins `text`; 0 when it is not whole.
std::size_t bytes_of_answer(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == text.npos) return 0;
  const std::size_t length = text.find("Content-Length: ");
  if (length < end) {
    const std::size_t bytes = end + 4 + static_cast<std::size_t>(std::atol(text.data() + length + 16));
    return bytes <= text.size() ? bytes : 0;
  }
  const std::size_t last_chunk = text.find("\r\n0\r\n\r\n", end);
  return last_chunk == text.npos ? 0 : last_chunk + 7;
}

/// Returns the number of whole answers in `text`, and -1 when it ends with a part of one.
int answers_in(std::string_view text) {
  int count = 0;
  for (; !text.empty(); ++count) {
    const std::size_t bytes = bytes_of_answer(text);
    if (bytes == 0) return -1;
    text.remove_prefix(bytes);
  }
  return count;
}

/// A server on a loop of the test's own thread.
class World {
 public:
  World() {
    ServerOptions options;
    options.listen = {"tcp://127.0.0.1:0"};
    options.loop = loop_.get();
    options.threads = 0;
    options.logger = &logger_;
    options.protocols = {http({.body_bytes_max = 100'000, .answer_bytes_max = 400'000})};
    server_ = std::make_unique<Server>(std::move(options));
    server_->register_handler<http_memory::repeat>();
    server_->register_handler<http_memory::wait>();
    server_->register_handler<http_memory::find>();
    server_->register_handler<http_memory::texts, http_memory::upload>();
    server_->start().value();
    url_ = server_->urls().front();
  }

  void run_until_idle() {
    while (loop_->run_once(2ms)) {
    }
  }
  /// Sends `request`, which asks for `answers`, while the allocation number `fails` from then on fails; 0:
  /// none. Returns what arrived up to the last answer, or to the end of the connection.
  std::string exchange(std::string_view request, int answers, std::size_t fails, bool& failed) {
    RawHttp client{url_};
    run_until_idle();
    client.send(request);
    std::string received;
    received.reserve(1'000'000);
    const auto patience = std::chrono::steady_clock::now() + 10s;
    fail_allocation(fails);
    while (client.read_now(received) && answers_in(received) != answers) {
      if (std::chrono::steady_clock::now() > patience) break;
      loop_->run_once(2ms);
    }
    failed = fails != 0 && !allocation_still_to_fail();
    fail_allocation(0);
    ended_ = !client.read_now(received);
    return received;
  }
  bool ended() const { return ended_; }
  /// Returns false when a call is in no counter, or in two.
  bool counted_once() {
    run_until_idle();
    for (const MethodStats& each : server_->stats().methods) {
      if (each.calls != each.answered + each.refused + each.dropped + each.failures()) return false;
    }
    return true;
  }

 private:
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<Server> server_;
  std::string url_;
  bool ended_ = false;
};

std::string post(std::string_view function, std::string_view json, std::string_view headers = {}) {
  std::string text = "POST /functions/http_memory::";
  return text.append(function)
      .append(" HTTP/1.1\r\nHost: localhost\r\nContent-Length: ")
      .append(std::to_string(json.size()))
      .append("\r\n")
      .append(headers)
      .append("\r\n")
      .append(json);
}

struct Asked {
  const char* name;
  std::string request;
  int answers = 1;
};

class HttpMemory : public ::testing::TestWithParam<Asked> {};

TEST_P(HttpMemory, EachAllocationMayFail) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's allocator is in place";
  World world;
  const Asked& asked = GetParam();
  bool failed = false;
  ASSERT_EQ(answers_in(world.exchange(asked.request, asked.answers, 0, failed)), asked.answers);
  std::size_t number = 1;
  for (;; ++number) {
    const std::string received = world.exchange(asked.request, asked.answers, number, failed);
    const bool whole = answers_in(received) == asked.answers;
    ASSERT_TRUE(whole || world.ended()) << "allocation " << number << ": " << received.substr(0, 1000);
    ASSERT_TRUE(world.counted_once()) << "allocation " << number;
    if (!failed) break;
    ASSERT_LT(number, 10'000u);
  }
  EXPECT_GT(number, 3u) << "nothing failed";
  EXPECT_EQ(answers_in(world.exchange(asked.request, asked.answers, 0, failed)), asked.answers);
}

INSTANTIATE_TEST_SUITE_P(
    Requests, HttpMemory,
    ::testing::Values(
        Asked{"Function", post("repeat", R"(["a text longer than a small string", 3])",
                               "Weft-Meta-Tenant: blue\r\nOrigin: http://localhost\r\n")},
        Asked{"LargeAnswer", post("repeat", "[\"" + std::string(1000, 'x') + "\", 300]")},
        Asked{"AnswerOverTheLimit", post("repeat", "[\"" + std::string(1000, 'x') + "\", 500]")},
        Asked{"LargeRequest", post("repeat", "[\"" + std::string(90'000, 'x') + "\", 1]")},
        Asked{"Coroutine",
              post("wait", R"(["a text longer than a small string"])", "Weft-Timeout-Ms: 60000\r\n")},
        Asked{"Failure", post("find", R"(["a text longer than a small string"])")},
        Asked{"BadArguments", post("find", R"([{"a": 1}])")}, Asked{"NoFunction", post("none", "[]")},
        Asked{"ResultStream", post("texts", R"(["a text longer than a small string", 5])")},
        Asked{"RequestStream", post("upload", "[\"a name longer than a small string\"]\n\"one\"\n" +
                                                  std::string{"\"a text longer than a small string\"\n"})},

        Asked{"Pipelined",
              post("find", R"(["a"])") + post("wait", R"(["b"])") + post("repeat", R"(["c", 2])"), 3}),
    [](const auto& parameters) { return std::string{parameters.param.name}; });

}  // namespace
}  // namespace weft::testing
