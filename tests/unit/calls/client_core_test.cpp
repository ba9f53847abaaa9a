// SPDX-License-Identifier: Apache-2.0
// The client's core alone: its connections are fake carriers, the test is every server, and the clock stands
// still.
#include "calls/client/client_core.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/manual_time.hpp"
#include "support/wire_bytes.hpp"
#include "unit/calls/fake_carrier.hpp"
#include "unit/calls/text_calls.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft::calls_testing {
namespace {

using ::testing::HasSubstr;

struct Silent final : Logger {
  void write(LogLevel, std::string_view) override {}
};

/// Transport whose connections are fake carriers, one for each attempt that does not fail.
class FakeTransport final : public Transport {
 public:
  bool handles(std::string_view scheme) const override { return scheme == "fake"; }
  Result<std::unique_ptr<Listener>> listen(Loop&, const Url&) override {
    return Status{StatusCode::kUnimplemented, Layer::kTransport, "nobody listens"};
  }
  Task<Result<std::unique_ptr<Connection>>> connect(Loop& loop, Url, ConnectOptions options) override {
    ++attempts;
    deadline = options.deadline;
    if (failures > 0) {
      --failures;
      co_return Status{StatusCode::kUnavailable, Layer::kTransport, "nobody is there"};
    }
    auto carrier = std::make_unique<FakeCarrier>();
    carriers.push_back(carrier.get());
    co_return std::make_unique<Connection>(loop, options.connection, std::move(carrier));
  }

  int attempts = 0;
  /// Deadline of the last attempt.
  Deadline deadline;
  /// Number of the next attempts that fail.
  int failures = 0;
  /// Carriers of all connections that were made; of one that is gone it dangles.
  std::vector<FakeCarrier*> carriers;
};

class ClientCores : public ::testing::Test {
 protected:
  ClientCores() {
    LoopOptions loop_options;
    loop_options.clock = &clock_;
    loop_ = Loop::create(loop_options).value();
    auto transport = std::make_unique<FakeTransport>();
    transport_ = transport.get();
    Transports transports;
    transports.add(std::move(transport));
    ClientOptions options;
    options.connect = "fake://there:1";
    options.call_timeout = kNoTimeout;
    options.connect_timeout = 5s;
    options.reconnect_wait_min = options.reconnect_wait_max = 20ms;
    options.limits.ping_interval = Duration::zero();
    options.logger = &logger_;
    core_ = std::make_unique<ClientCore>(*loop_, std::move(options), std::move(transports));
  }
  ~ClientCores() override {
    core_.reset();
    loop_->run_until_idle();
  }

  /// Lets an attempt begin whose time has come, and returns its carrier when it has said its hello.
  FakeCarrier& connected() {
    loop_->run_until_idle();
    EXPECT_FALSE(transport_->carriers.empty());
    FakeCarrier& carrier = *transport_->carriers.back();
    EXPECT_FALSE(carrier.take_sent().empty()) << "no hello was sent";
    return carrier;
  }
  FakeCarrier& greeted() {
    FakeCarrier& carrier = connected();
    say(carrier, testing::hello_bytes());
    return carrier;
  }
  void say(FakeCarrier& carrier, std::string_view bytes) {
    carrier.arrive(bytes);
    loop_->run_until_idle();
  }
  void pass(Duration time) { testing::pass(*loop_, clock_, time); }
  std::vector<SentFrame> sent(FakeCarrier& carrier) {
    loop_->run_until_idle();
    return frames_of(carrier.take_sent());
  }
  static void expect_unprocessed(TextCall& call, std::string_view why) {
    EXPECT_EQ(call.woken(), 1);
    const Status failure = call.take_failure();
    EXPECT_EQ(failure.code(), StatusCode::kUnavailable) << failure.to_string();
    EXPECT_TRUE(failure.unprocessed()) << failure.to_string();
    EXPECT_THAT(failure.to_string(), HasSubstr(std::string{why}));
  }

  ManualClock clock_;
  Silent logger_;
  std::unique_ptr<Loop> loop_;
  FakeTransport* transport_ = nullptr;
  std::unique_ptr<ClientCore> core_;
};

TEST_F(ClientCores, ConnectAtTheFirstCallAndSendItWhenTheServerHasSaidHello) {
  loop_->run_until_idle();
  EXPECT_EQ(transport_->attempts, 0);
  TextCall first{*core_, "one"};
  TextCall second{*core_, "two"};
  ASSERT_TRUE(first.begin() && second.begin());
  EXPECT_EQ(transport_->attempts, 0) << "never on the caller's stack";
  FakeCarrier& carrier = connected();
  EXPECT_TRUE(sent(carrier).empty());
  EXPECT_FALSE(core_->ready());
  say(carrier, testing::hello_bytes());
  EXPECT_TRUE(core_->ready());
  const std::vector<SentFrame> requests = sent(carrier);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].body, "one");
  EXPECT_EQ(requests[1].body, "two");
  say(carrier, answer_bytes(requests[1].header.id, "second") + answer_bytes(requests[0].header.id, "first"));
  EXPECT_EQ(first.answer(), "first");
  EXPECT_EQ(second.answer(), "second");
  EXPECT_EQ(transport_->attempts, 1) << "both share one connection";
  EXPECT_EQ(core_->stats().connections, 1u);
  EXPECT_EQ(core_->stats().calls, 2u);
}

TEST_F(ClientCores, AFailedAttemptFailsAllWhoWaitedForItAndWhoComesThenWaitsForTheNext) {
  transport_->failures = 1;
  TextCall first{*core_};
  TextCall second{*core_};
  ASSERT_TRUE(first.begin() && second.begin());
  loop_->run_until_idle();
  expect_unprocessed(first, "nobody is there");
  expect_unprocessed(second, "nobody is there");
  TextCall later{*core_, "later"};
  ASSERT_TRUE(later.begin());
  loop_->run_until_idle();
  EXPECT_EQ(transport_->attempts, 1) << "it waits before it connects again";
  pass(20ms);
  EXPECT_EQ(transport_->attempts, 2);
  const std::vector<SentFrame> requests = sent(greeted());
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].body, "later");
  EXPECT_EQ(core_->stats().connect_failures, 1u);
}

TEST_F(ClientCores, AnAttemptHasTheTimeOfTheOptions) {
  TextCall call{*core_};
  ASSERT_TRUE(call.begin());
  connected();
  ASSERT_FALSE(transport_->deadline.is_infinite());
  const Duration left = transport_->deadline.remaining(loop_->now());
  EXPECT_GT(left, 4s);
  EXPECT_LE(left, 5s);
}

TEST_F(ClientCores, NobodyConnectsAgainForNobody) {
  transport_->failures = 1;
  TextCall call{*core_};
  ASSERT_TRUE(call.begin());
  loop_->run_until_idle();
  expect_unprocessed(call, "nobody is there");
  pass(1min);
  EXPECT_EQ(transport_->attempts, 1);
}

TEST_F(ClientCores, AServerThatDoesNotSayHelloInTimeIsLeftAndItsCallsSayThatTheyDidNotRun) {
  TextCall call{*core_};
  ASSERT_TRUE(call.begin());
  connected();
  pass(4s);
  EXPECT_EQ(call.woken(), 0);
  pass(2s);
  expect_unprocessed(call, "connect to fake://there:1");
  EXPECT_EQ(core_->stats().connections, 0u);
  TextCall next{*core_};
  ASSERT_TRUE(next.begin());
  pass(20ms);
  ASSERT_EQ(transport_->attempts, 2) << "they do not try again";
  EXPECT_EQ(sent(greeted()).size(), 1u);
  EXPECT_EQ(core_->stats().connections, 1u);
}

TEST_F(ClientCores, ToldToGoAwayTheyMakeNewCallsElsewhereAndTheOldConnectionEndsItsOwn) {
  TextCall old{*core_, "old"};
  ASSERT_TRUE(old.begin());
  FakeCarrier& first = greeted();
  const std::vector<SentFrame> requests = sent(first);
  ASSERT_EQ(requests.size(), 1u);
  say(first, goaway_bytes(0));
  EXPECT_FALSE(core_->ready());
  TextCall fresh{*core_, "fresh"};
  ASSERT_TRUE(fresh.begin());
  EXPECT_TRUE(sent(first).empty());
  pass(20ms);
  FakeCarrier& next = greeted();
  ASSERT_NE(&next, &first);
  const std::vector<SentFrame> others = sent(next);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].body, "fresh");
  say(first, answer_bytes(requests[0].header.id, "still here"));
  EXPECT_EQ(old.answer(), "still here");
  say(next, answer_bytes(others[0].header.id, "here now"));
  EXPECT_EQ(fresh.answer(), "here now");
  EXPECT_TRUE(first.ended()) << "nobody needs it any more";
  EXPECT_FALSE(next.ended());
}

TEST_F(ClientCores, ALostConnectionFailsItsCallsAndIsMadeAgainForTheNextOne) {
  TextCall lost{*core_, "lost"};
  ASSERT_TRUE(lost.begin());
  FakeCarrier& first = greeted();
  ASSERT_EQ(sent(first).size(), 1u);
  first.fail({StatusCode::kUnavailable, Layer::kTransport, "the wire was cut"});
  loop_->run_until_idle();
  EXPECT_EQ(lost.woken(), 1);
  const Status failure = lost.take_failure();
  EXPECT_EQ(failure.code(), StatusCode::kUnavailable);
  EXPECT_FALSE(failure.unprocessed()) << "the server may have run it";
  TextCall next{*core_, "next"};
  ASSERT_TRUE(next.begin());
  pass(20ms);
  EXPECT_EQ(transport_->attempts, 2);
  const std::vector<SentFrame> requests = sent(greeted());
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].body, "next") << "what was lost is not sent again";
  EXPECT_EQ(core_->stats().connections, 2u);
}

// A server that tells each connection to go away, and answers nothing there, would have the client keep all
// of them.
TEST_F(ClientCores, KeepEightConnectionsOfAServerThatSendsThemAllAway) {
  constexpr std::size_t kKept = 8;
  constexpr std::size_t kAll = 2 * kKept;
  std::vector<std::unique_ptr<TextCall>> calls;
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < kAll; ++i) {
    calls.push_back(std::make_unique<TextCall>(*core_));
    ASSERT_TRUE(calls.back()->begin());
    if (i != 0) pass(20ms);
    FakeCarrier& carrier = greeted();
    ASSERT_EQ(transport_->carriers.size(), i + 1);
    const std::vector<SentFrame> requests = sent(carrier);
    ASSERT_EQ(requests.size(), 1u);
    ids.push_back(requests[0].header.id);
    say(carrier, goaway_bytes(0));
  }
  for (std::size_t i = 0; i < kAll; ++i) {
    SCOPED_TRACE(i);
    if (i >= kAll - kKept) {
      EXPECT_FALSE(calls[i]->done()) << "it is one of the last, and waits for its answer";
      say(*transport_->carriers[i], answer_bytes(ids[i], "late"));
      EXPECT_EQ(calls[i]->answer(), "late");
      continue;
    }
    EXPECT_EQ(calls[i]->woken(), 1);
    const Status failure = calls[i]->take_failure();
    EXPECT_EQ(failure.code(), StatusCode::kUnavailable);
    EXPECT_THAT(failure.message(), HasSubstr("one connection after the other"));
  }
  EXPECT_EQ(core_->stats().calls_in_flight, 0u);
}

// A server that drains says so first, and says how much it took when it closes.
TEST_F(ClientCores, TheLaterGoawayOfAServerEndsTheCallsThatItDidNotTake) {
  TextCall taken{*core_, "taken"};
  ASSERT_TRUE(taken.begin());
  loop_->run_until_idle();
  ASSERT_FALSE(transport_->carriers.empty());
  FakeCarrier& first = *transport_->carriers.back();
  say(first, testing::hello_bytes());
  const std::size_t bytes = first.take_sent().size();
  TextCall late{*core_, "late"};
  ASSERT_TRUE(late.begin());
  ASSERT_EQ(sent(first).size(), 1u);
  say(first, goaway_bytes(0, "soon"));
  EXPECT_FALSE(late.done());
  say(first, goaway_bytes(bytes, "now"));
  expect_unprocessed(late, "now");
  EXPECT_FALSE(taken.done()) << "the server has it, and may answer";
}

TEST_F(ClientCores, ThatAreClosedCancelWhatWaitsAndWhatIsUnderWayAndRefuseTheRest) {
  TextCall under_way{*core_};
  ASSERT_TRUE(under_way.begin());
  greeted();
  say(*transport_->carriers.back(), goaway_bytes(0));
  TextCall waiting{*core_};
  ASSERT_TRUE(waiting.begin());
  core_->close();
  loop_->run_until_idle();
  for (TextCall* call : {&under_way, &waiting}) {
    EXPECT_EQ(call->woken(), 1);
    EXPECT_EQ(call->take_failure().code(), StatusCode::kCancelled);
  }
  TextCall late{*core_};
  EXPECT_FALSE(late.begin());
  EXPECT_EQ(late.take_failure().code(), StatusCode::kCancelled);
  pass(1min);
  EXPECT_EQ(transport_->attempts, 1);
}

}  // namespace
}  // namespace weft::calls_testing
