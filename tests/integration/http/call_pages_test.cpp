// SPDX-License-Identifier: Apache-2.0
// Samples of slow and failed calls, on a clock that only the handlers and the tests move.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <weft/http.hpp>

#include "integration/http/raw_http.hpp"
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::call_pages_tests {
namespace {

using Json = nlohmann::json;

ManualClock* the_clock = nullptr;

/// Moves the clock forward by `milliseconds`; fails for 0.
int work(int milliseconds) {
  the_clock->advance(std::chrono::milliseconds{milliseconds});
  if (milliseconds == 0) throw user_error(1, std::string(1000, 'x'), StatusCode::kInvalidArgument);
  return milliseconds;
}
Task<int> work_later(int milliseconds) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(7ms);
  co_return work(milliseconds);
}
Task<std::string> long_text(int bytes) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(2ms);
  co_return std::string(static_cast<std::size_t>(bytes), 'x');
}

/// The clock is made before the loop that reads it.
class ClockFirst {
 protected:
  ManualClock clock_;
};

class CallPages : private ClockFirst, public RpcTest {
 protected:
  CallPages() : RpcTest({.clock = &clock_}) { the_clock = &clock_; }
  ~CallPages() override { the_clock = nullptr; }
  void start(ServerOptions options = {}) {
    options.protocols = {http()};
    if (options.slow_call_from == ServerOptions{}.slow_call_from) options.slow_call_from = 5ms;
    server_ = &serve_here(std::move(options), [](Server& server) {
      server.register_handler<method<work, "work">, method<work_later, "work_later">,
                              method<long_text, "long_text">>();
    });
    client_ = &client(*server_);
    connect(*client_).value();
  }
  Client& calls() { return *client_; }
  const Server& server() const { return *server_; }
  ManualClock& clock() { return clock_; }
  Json samples() {
    RawHttp http{server_->urls().front()};
    http.send("GET /calls HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    std::string text;
    EXPECT_TRUE(turn_until(loop(), [&] { return !http.read_now(text); }));
    return Json::parse(text.substr(text.find("\r\n\r\n") + 4));
  }
  /// Lets so much time pass that a method gets a sample again.
  void wait_for_next_sample() { clock_.advance(1s); }

 private:
  Server* server_ = nullptr;
  Client* client_ = nullptr;
};

TEST_F(CallPages, ShowTheTimeOfASlowCall) {
  start();
  EXPECT_TRUE((call<method<work, "work">>(calls(), 4).ok()));
  EXPECT_TRUE(samples()["slow"].empty()) << "it was not slow";
  EXPECT_TRUE((call<method<work, "work">>(calls(), 5).ok()));
  const Json page = samples();
  EXPECT_EQ(page["slow_from_us"], 5000);
  ASSERT_EQ(page["slow"].size(), 1u);
  const Json& slow = page["slow"][0];
  EXPECT_EQ(slow["method"], "work");
  EXPECT_EQ(slow["code"], "OK");
  EXPECT_EQ(slow["calls"], 1);
  EXPECT_EQ(slow["duration_us"], 5000);
  EXPECT_EQ(slow["waited_us"], 0);
  EXPECT_EQ(slow["ran_us"], 5000);
  EXPECT_EQ(slow["sending_us"], 0);
  EXPECT_EQ(slow["ended"].get<std::string>().size(), std::string{"2026-11-29T21:10:03.123Z"}.size());
  EXPECT_TRUE(page["failed"].empty());
}

TEST_F(CallPages, ShowTheTimeThatCallsWaitedBehindOthers) {
  start();
  std::vector<Call<int>> both;
  both.push_back(calls().start<method<work, "work">>(6));
  both.push_back(calls().start<method<work, "work">>(2));
  for (const Result<int>& result : loop().block_on(await_all(both))) EXPECT_TRUE(result.ok());
  const Json page = samples();
  ASSERT_EQ(page["slow"].size(), 1u);
  EXPECT_EQ(page["slow"][0]["calls"], 2);
  EXPECT_EQ(page["slow"][0]["duration_us"], 8000);
  EXPECT_EQ(page["slow"][0]["waited_us"], 4000) << "the time of the turn is divided among them";
  EXPECT_EQ(page["slow"][0]["ran_us"], 4000);
}

TEST_F(CallPages, ShowTheTimeOfACoroutine) {
  start();
  Call<int> later = calls().start<method<work_later, "work_later">>(1);
  loop().run_until_idle();
  clock().advance(7ms);
  EXPECT_TRUE(wait_for(std::move(later)).ok());
  const Json page = samples();
  ASSERT_EQ(page["slow"].size(), 1u);
  EXPECT_EQ(page["slow"][0]["method"], "work_later");
  EXPECT_EQ(page["slow"][0]["duration_us"], 8000);
  EXPECT_EQ(page["slow"][0]["ran_us"], 8000);
  EXPECT_EQ(page["slow"][0]["stream"], false);
}

TEST_F(CallPages, ShowTheTimeThatAnAnswerWaitedForRoom) {
  start();
  const std::unique_ptr<Loop> other = Loop::create({.clock = &clock()}).value();
  Client reader{*other, {.connect = server().urls().front()}};
  std::vector<Call<std::string>> texts;
  for (int i = 0; i < 8; ++i) texts.push_back(reader.start<method<long_text, "long_text">>(4 << 20));
  ASSERT_TRUE(turn_until(loop(), [&] {
    other->run_once(0ms);
    return server().stats().calls_running == 8;
  }));
  // The reader does not read now. The first answers fill the socket and the queue of the connection.
  clock().advance(2ms);
  loop().run_until_idle();
  ASSERT_LT(server().stats().methods.at(2).answered, 8u);
  clock().advance(50ms);
  ASSERT_TRUE(turn_until(loop(), [&] {
    other->run_once(0ms);
    return server().stats().methods.at(2).answered == 8;
  }));
  const Json page = samples();
  ASSERT_EQ(page["slow"].size(), 1u);
  EXPECT_EQ(page["slow"][0]["method"], "long_text");
  EXPECT_EQ(page["slow"][0]["duration_us"], 52'000);
  EXPECT_EQ(page["slow"][0]["ran_us"], 2000);
  EXPECT_EQ(page["slow"][0]["sending_us"], 50'000);
}

TEST_F(CallPages, ShowWhyACallFailedAndWhoCalled) {
  start();
  EXPECT_FALSE((call<method<work, "work">>(calls(), 0).ok()));
  EXPECT_FALSE((call<remote<"no such", int(int)>>(calls(), 1).ok()));
  const Json page = samples();
  EXPECT_TRUE(page["slow"].empty());
  ASSERT_EQ(page["failed"].size(), 2u);
  Json failed = page["failed"][1];
  Json unknown = page["failed"][0];
  if (failed["method"] != "work") std::swap(failed, unknown);
  EXPECT_EQ(failed["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(failed["message"], std::string(256, 'x')) << "its beginning";
  EXPECT_EQ(failed["endpoint"].get<std::string>().find("tcp://127.0.0.1:"), 0u);
  EXPECT_EQ(failed["caller"], "anonymous");
  EXPECT_EQ(unknown["method"], "_OTHER") << "the name is a stranger's";
  EXPECT_EQ(unknown["code"], "UNIMPLEMENTED");
}

TEST_F(CallPages, ShowTheTimeOfAFailedCall) {
  start();
  Call<int> later = calls().start<method<work_later, "work_later">>(0);
  loop().run_until_idle();
  clock().advance(9ms);
  EXPECT_FALSE(wait_for(std::move(later)).ok());
  const Json page = samples();
  ASSERT_EQ(page["failed"].size(), 1u);
  EXPECT_EQ(page["failed"][0]["duration_us"], 9000);
  EXPECT_EQ(page["failed"][0]["ran_us"], 9000);
  EXPECT_EQ(page["failed"][0]["waited_us"], 0);
}

TEST_F(CallPages, HaveOneSampleASecondOfEachMethodAndCode) {
  start();
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE((call<method<work, "work">>(calls(), 0).ok()));
  }
  EXPECT_EQ(samples()["failed"].size(), 1u);
  wait_for_next_sample();
  EXPECT_FALSE((call<method<work, "work">>(calls(), 0).ok()));
  EXPECT_EQ(samples()["failed"].size(), 2u);
}

TEST_F(CallPages, KeepTheLastSamplesOnly) {
  start();
  for (int i = 0; i < 100; ++i) {
    wait_for_next_sample();
    EXPECT_TRUE((call<method<work, "work">>(calls(), 5 + i).ok()));
    EXPECT_FALSE((call<method<work, "work">>(calls(), 0).ok()));
  }
  const Json page = samples();
  EXPECT_EQ(page["slow"].size(), 64u);
  EXPECT_EQ(page["failed"].size(), 64u);
  std::vector<int> durations;
  for (const Json& sample : page["slow"]) durations.push_back(sample["duration_us"].get<int>() / 1000);
  EXPECT_EQ(*std::max_element(durations.begin(), durations.end()), 104);
  EXPECT_EQ(*std::min_element(durations.begin(), durations.end()), 41) << "the oldest are gone";
}

TEST_F(CallPages, AreEmptyWhereNothingIsTimed) {
  start({.call_times = false});
  EXPECT_TRUE((call<method<work, "work">>(calls(), 50).ok()));
  EXPECT_FALSE((call<method<work, "work">>(calls(), 0).ok()));
  EXPECT_TRUE(samples()["slow"].empty());
  EXPECT_TRUE(samples()["failed"].empty());
}

TEST_F(CallPages, HaveNoSlowCallsWhereNoCallIsSlow) {
  start({.slow_call_from = kNoTimeout});
  EXPECT_TRUE((call<method<work, "work">>(calls(), 100'000).ok()));
  const Json page = samples();
  EXPECT_TRUE(page["slow"].empty());
  EXPECT_TRUE(page["slow_from_us"].is_null());
}

}  // namespace
}  // namespace weft::testing::call_pages_tests
