// SPDX-License-Identifier: Apache-2.0
// How long calls last, as a server counts it: on a clock that only the handlers and the tests move.
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::call_times_tests {
namespace {

ManualClock* the_clock = nullptr;

/// Moves the clock forward by `microseconds`; fails for 0.
int work(int microseconds) {
  the_clock->advance(std::chrono::microseconds{microseconds});
  if (microseconds == 0) throw user_error(1, "nothing to do", StatusCode::kInvalidArgument);
  return microseconds;
}
Task<std::string> echo_later(std::string text) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(7ms);
  co_return text;
}
Task<Result<int>> count_items(Reader<int>& numbers, Writer<int>& copies) {
  int items = 0;
  while (auto number = co_await numbers.next()) {
    if (const bool taken = co_await copies.write(*number); !taken) co_return copies.status();
    ++items;
  }
  co_return items;
}

Task<int> exchange_items(Client& client) {
  auto stream = client.open<count_items>();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(co_await stream.write(i));
    auto copy = co_await stream.next();
    EXPECT_EQ(copy.value_or(-1), i);
  }
  stream.end_writing();
  Result<int> items = co_await stream.finish();
  co_return items.value_or(-1);
}

/// The clock is made before the loop that reads it.
class ClockFirst {
 protected:
  ManualClock clock_;
};

class CallTimes : private ClockFirst, public RpcTest {
 protected:
  CallTimes() : RpcTest({.clock = &clock_}) { the_clock = &clock_; }
  ~CallTimes() override { the_clock = nullptr; }
  void start(bool call_times = true) {
    server_ = &serve_here({.call_times = call_times},
                          [](Server& server) { server.register_handler<work, echo_later, count_items>(); });
    client_ = &client(*server_);
    connect(*client_).value();
  }
  Client& calls() { return *client_; }
  MethodStats of_work() const { return server_->stats().methods.at(0); }
  MethodStats of_echo() const { return server_->stats().methods.at(1); }
  ServerStats stats() const { return server_->stats(); }
  ManualClock& clock() { return clock_; }

  static std::uint64_t count_in(const LatencyHistogram& latency, Duration bound) {
    return latency.counts[LatencyHistogram::bucket(bound)];
  }

 private:
  Server* server_ = nullptr;
  Client* client_ = nullptr;
};

TEST_F(CallTimes, OfAnOrdinaryFunctionIsTheTimeUntilItsAnswerLeft) {
  start();
  EXPECT_TRUE((call<work>(calls(), 3000).ok()));
  const MethodStats stats = of_work();
  ASSERT_EQ(stats.latencies.size(), 1u);
  EXPECT_EQ(stats.latencies[0].code, StatusCode::kOk);
  EXPECT_EQ(stats.latencies[0].histogram.sum, 3ms);
  EXPECT_EQ(count_in(stats.latency(), 5ms), 1u);
  EXPECT_EQ(stats.latency().total(), 1u);
  EXPECT_EQ(stats.ran, 3ms);
  EXPECT_EQ(stats.waited, 0ms);
}

TEST_F(CallTimes, OfCallsThatCameTogetherEndTogether) {
  start();
  std::vector<Call<int>> both;
  both.push_back(calls().start<work>(1000));
  both.push_back(calls().start<work>(3000));
  for (const Result<int>& result : loop().block_on(await_all(both))) EXPECT_TRUE(result.ok());
  const MethodStats stats = of_work();
  EXPECT_EQ(count_in(stats.latency(), 5ms), 2u);
  EXPECT_EQ(stats.latency().sum, 8ms);
  EXPECT_EQ(stats.ran, 4ms) << "the time of the turn, divided among them";
  EXPECT_EQ(stats.waited, 4ms);
}

TEST_F(CallTimes, OfACoroutineIncludesWhatItWaitsFor) {
  start();
  Call<std::string> later = calls().start<echo_later>("text");
  loop().run_until_idle();
  EXPECT_EQ(of_echo().running, 1u);
  EXPECT_TRUE(of_echo().latencies.empty()) << "it has not ended";
  clock().advance(7ms);
  EXPECT_TRUE(wait_for(std::move(later)).ok());
  EXPECT_EQ(of_echo().latency().sum, 7ms);
  EXPECT_EQ(of_echo().ran, 7ms);
  EXPECT_EQ(count_in(of_echo().latency(), 10ms), 1u);
}

TEST_F(CallTimes, AreKeptByCode) {
  start();
  EXPECT_TRUE((call<work>(calls(), 1000).ok()));
  EXPECT_FALSE((call<work>(calls(), 0).ok()));
  EXPECT_FALSE((call<remote<"no such", int(int)>>(calls(), 1).ok()));
  const MethodStats stats = of_work();
  ASSERT_EQ(stats.latencies.size(), 2u);
  EXPECT_EQ(stats.latencies[1].code, StatusCode::kInvalidArgument);
  EXPECT_EQ(stats.latencies[1].histogram.total(), 1u);
  EXPECT_EQ(stats.latency().total(), 2u);
  EXPECT_EQ(stats.failed_with(StatusCode::kInvalidArgument), 1u);
  const MethodStats unknown = this->stats().unknown;
  EXPECT_EQ(unknown.calls, 1u);
  EXPECT_EQ(unknown.refused, 1u);
  EXPECT_EQ(unknown.refused_with(StatusCode::kUnimplemented), 1u);
  EXPECT_EQ(unknown.answered, 0u);
  ASSERT_EQ(unknown.latencies.size(), 1u);
  EXPECT_EQ(unknown.latencies[0].code, StatusCode::kUnimplemented);
}

TEST_F(CallTimes, AreNotMeasuredWhenSwitchedOff) {
  start(false);
  EXPECT_TRUE((call<work>(calls(), 1000).ok()));
  EXPECT_FALSE((call<work>(calls(), 0).ok()));
  const MethodStats stats = of_work();
  EXPECT_TRUE(stats.latencies.empty());
  EXPECT_EQ(stats.ran, 0ms);
  EXPECT_EQ(stats.bytes_received, 0u);
  EXPECT_EQ(stats.calls, 2u);
  EXPECT_EQ(stats.answered, 1u);
  EXPECT_EQ(stats.failed_with(StatusCode::kInvalidArgument), 1u);
}

TEST_F(CallTimes, ComeWithTheBytesOfRequestsAndAnswers) {
  start();
  EXPECT_TRUE((call<work>(calls(), 1).ok()));
  EXPECT_EQ(of_work().bytes_received, sizeof(int));
  EXPECT_EQ(of_work().bytes_sent, sizeof(int));
  Call<std::string> later = calls().start<echo_later>(std::string(1000, 'x'));
  loop().run_until_idle();
  clock().advance(7ms);
  EXPECT_TRUE(wait_for(std::move(later)).ok());
  EXPECT_GE(of_echo().bytes_received, 1000u);
  EXPECT_LT(of_echo().bytes_received, 1016u);
  EXPECT_EQ(of_echo().bytes_sent, of_echo().bytes_received);
}

TEST_F(CallTimes, OfAFullListAreCountedInTheMiddleOfATurn) {
  start();
  std::vector<Call<std::string>> many;
  for (int i = 0; i < 300; ++i) {
    many.push_back(calls().start<echo_later>("text"));
    clock().advance(1us);
    loop().run_until_idle();
  }
  clock().advance(7ms);
  for (const Result<std::string>& result : loop().block_on(await_all(many))) EXPECT_TRUE(result.ok());
  EXPECT_EQ(of_echo().latency().total(), 300u);
  EXPECT_EQ(of_echo().latency().sum, 300 * 7ms + 299 * 300 / 2 * 1us);
}

TEST_F(CallTimes, OfALoopAreBusyAsLongAsItsHandlers) {
  start();
  const Duration before = stats().loops.at(0).busy;
  EXPECT_TRUE((call<work>(calls(), 3000).ok()));
  clock().advance(1s);  // between two turns
  const ServerStats after = stats();
  EXPECT_EQ(after.loops.at(0).busy - before, 3ms);
  EXPECT_GT(after.memory.limit, after.memory.used);
  EXPECT_GT(after.loops.at(0).turns, 0u);
}

TEST_F(CallTimes, AreCountedBesideTheItemsOfStreams) {
  start();
  EXPECT_EQ(loop().block_on(exchange_items(calls())), 5);
  EXPECT_EQ(stats().traffic.items_received, 5u);
  EXPECT_EQ(stats().traffic.items_sent, 5u);
  EXPECT_EQ(calls().stats().traffic.items_received, 5u);
  EXPECT_EQ(calls().stats().traffic.items_sent, 5u);
}

}  // namespace
}  // namespace weft::testing::call_times_tests
