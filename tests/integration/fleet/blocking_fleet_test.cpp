// SPDX-License-Identifier: Apache-2.0
// CR-13, CR-21: threads without a loop call the servers of a fleet, whose loop another thread runs.
#include "weft/detail/fleet/blocking_fleet.hpp"

#include <latch>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "integration/threads/threads_testing.hpp"
#include "weft/detail/fleet/fleet_client.hpp"

namespace weft::testing::blocking_fleet_tests {
namespace {

class BlockingFleets : public ::testing::Test {
 protected:
  ~BlockingFleets() override {
    thread_->stop();
    fleet_.reset();
  }

  FleetClient& make(std::string name) {
    FleetOptions options;
    options.name = std::move(name);
    options.outliers = std::nullopt;
    fleet_ = std::make_unique<FleetClient>(loop(), std::move(options));
    return *fleet_;
  }
  FleetClient& make() { return make("static:" + first_.url() + "," + second_.url()); }
  void end_fleet() {
    run_on(loop(), [this] { fleet_.reset(); });
  }
  Loop& loop() { return thread_->loop(); }

  Served first_;
  Served second_;
  std::unique_ptr<LoopThread> thread_ = LoopThread::start().value();
  std::unique_ptr<FleetClient> fleet_;
};

TEST_F(BlockingFleets, AreCalledByAnyThread) {
  FleetClient& fleet = make();
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([caller = blocking(fleet), i]() mutable {
      for (int number = 0; number < 50; ++number) {
        EXPECT_EQ(caller.call<add>(i, number).value(), i + number);
        const std::string text(static_cast<std::size_t>(number), 'x');
        EXPECT_EQ(caller.call<echoed>(std::string_view{text}).value(), text);
        EXPECT_TRUE(caller.call<nothing>().ok());
      }
    });
  }
  threads.clear();
  std::uint64_t calls = 0;
  run_on(loop(), [&] { calls = fleet.stats().calls; });
  EXPECT_EQ(calls, 600u);
}

TEST_F(BlockingFleets, SayWhatIsWrongWithANameAndMayGoBeforeItWasLookedAt) {
  const Result<int> sum = blocking(make("nonsense:x")).call<add>(1, 2);
  EXPECT_EQ(sum.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(sum.status().message().find("the name \"nonsense:x\""), std::string_view::npos)
      << sum.status().to_string();
  end_fleet();
  // Its loop is held up while it is made and closed.
  std::latch goes_on{1};
  loop().post([&] {
    goes_on.wait();
    fleet_->close();
  });
  const BlockingFleet caller = blocking(make());
  goes_on.count_down();
  EXPECT_EQ(BlockingFleet{caller}.call<add>(1, 2).status().code(), StatusCode::kCancelled);
}

TEST_F(BlockingFleets, TakeAttachmentsAndMetadata) {
  FleetClient& fleet = make();
  const Buffer sent = Buffer::copy_of(as_bytes("some bytes"));
  const FleetCallOptions with_bytes{.call = {.attachment = sent.bytes()}};
  const auto answer = blocking(fleet).call_with_attachment<with_attachment>(with_bytes);
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->value, sent.size());
  EXPECT_EQ(answer->attachment.size(), sent.size());
  EXPECT_EQ(blocking(fleet).call_with_attachment<add>(1, 2).value().value, 3);
  Metadata metadata;
  ASSERT_TRUE(metadata.set("tenant", "ann").ok());
  const FleetCallOptions with_metadata{.call = {.metadata = metadata.view()}};
  EXPECT_EQ(blocking(fleet).call<tenant>(with_metadata).value(), "tenant=ann;");
}

TEST_F(BlockingFleets, EndTheirCallsInTime) {
  FleetClient& fleet = make("static:tcp://127.0.0.1:1");
  const FleetCallOptions options{.call = {.timeout = 50ms}};
  const Status status = blocking(fleet).call<add>(options, 1, 2).status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.to_string();
  EXPECT_TRUE(status.unprocessed());
}

TEST_F(BlockingFleets, EndACallWhoseLoopDoesNotTurn) {
  FleetClient& fleet = make();
  std::latch stands{1};
  std::latch goes_on{1};
  loop().post([&] {
    stands.count_down();
    goes_on.wait();
  });
  stands.wait();
  const FleetCallOptions options{.call = {.timeout = 1ms}};
  const Status status = blocking(fleet).call<add>(options, 1, 2).status();
  goes_on.count_down();
  run_on(loop(), [] {});  // it needs the latches no more
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string{status.message()}, ::testing::HasSubstr("the fleet's loop does not turn"));
}

TEST_F(BlockingFleets, EndACallThatIsStopped) {
  FleetClient& fleet = make("static:" + first_.url());
  std::stop_source stop;
  Status status;
  std::jthread caller{[&] { status = blocking(fleet, stop.get_token()).call<&Silence::ask>().status(); }};
  first_.silence.await(1);
  stop.request_stop();
  caller.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.to_string();
  const Status stopped_before = blocking(fleet, stop.get_token()).call<add>(1, 2).status();
  EXPECT_EQ(stopped_before.code(), StatusCode::kCancelled);
  EXPECT_TRUE(stopped_before.unprocessed());
}

TEST_F(BlockingFleets, EndTheirCallsWithTheFleetAndWithItsLoop) {
  FleetClient& fleet = make("static:" + first_.url());
  BlockingFleet caller = blocking(fleet);
  Status waiting;
  std::jthread asks{[&] { waiting = blocking(fleet).call<&Silence::ask>().status(); }};
  first_.silence.await(1);
  end_fleet();
  asks.join();
  EXPECT_EQ(waiting.code(), StatusCode::kCancelled) << waiting.to_string();
  const Status ended = caller.call<add>(1, 2).status();
  EXPECT_EQ(ended.code(), StatusCode::kCancelled);
  EXPECT_EQ(ended.message(), "the fleet has ended");
  thread_->stop();
  const Status stopped = caller.call<add>(1, 2).status();
  EXPECT_EQ(stopped.code(), StatusCode::kCancelled);
  EXPECT_EQ(stopped.message(), "the fleet's loop was stopped");
  EXPECT_TRUE(stopped.unprocessed());
}

TEST_F(BlockingFleets, SayThatTheLoopOfACallWasStopped) {
  FleetClient& fleet = make("static:" + first_.url());
  Status waiting;
  std::jthread asks{[&] { waiting = blocking(fleet).call<&Silence::ask>().status(); }};
  first_.silence.await(1);
  thread_->stop();
  asks.join();
  EXPECT_EQ(waiting.code(), StatusCode::kCancelled);
  EXPECT_EQ(waiting.message(), "the fleet's loop was stopped");
  EXPECT_FALSE(waiting.unprocessed());
}

TEST_F(BlockingFleets, AskAllServersAndAQuorumOfThem) {
  BlockingFleet caller = blocking(make());
  const FleetCallOptions options{.call = {.timeout = 10s}};
  const FleetAnswers<int> all = caller.call_all<add>(options, 1, 2);
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_THAT((std::vector{(*all)[0].url, (*all)[1].url}),
              ::testing::UnorderedElementsAre(first_.url(), second_.url()));
  for (const FleetAnswer<int>& one : *all) EXPECT_EQ(one.outcome.value(), 3);
  const std::string text(std::size_t{1} << 20, 'x');
  const FleetAnswers<std::string> both = caller.call_quorum<echoed>(2, options, text);
  ASSERT_TRUE(both.ok()) << both.status().to_string();
  ASSERT_EQ(both->size(), 2u);
  for (const FleetAnswer<std::string>& one : *both) EXPECT_EQ(one.outcome.value(), text);
  const Status too_many = caller.call_quorum<add>(3, options, 1, 2).status();
  EXPECT_EQ(too_many.code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(too_many.unprocessed());
}

TEST_F(BlockingFleets, RefuseALandingForTheAnswersOfSeveralServers) {
  BlockingFleet caller = blocking(make());
  std::vector<std::byte> memory(64);
  const FleetCallOptions options{.call = {.landing = MutableBytes{memory}}};
  for (const Status& refused :
       {caller.call_all<add>(options, 1, 2).status(), caller.call_quorum<add>(2, options, 1, 2).status()}) {
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << refused.to_string();
    EXPECT_TRUE(refused.unprocessed());
  }
}

TEST_F(BlockingFleets, GiveAQuorumWithoutAServerThatIsGone) {
  BlockingFleet caller = blocking(make("static:" + first_.url() + ",tcp://127.0.0.1:1"));
  const FleetCallOptions options{.call = {.timeout = 10s}};
  const FleetAnswers<int> all = caller.call_all<add>(options, 1, 2);
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  ASSERT_EQ(all->size(), 2u);
  for (const FleetAnswer<int>& one : *all) {
    const StatusCode expected = one.url == first_.url() ? StatusCode::kOk : StatusCode::kUnavailable;
    EXPECT_EQ(one.outcome.status().code(), expected) << one.url;
  }
  const FleetAnswers<int> one = caller.call_quorum<add>(1, options, 1, 2);
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ(one->front().url, first_.url());
  const Status fewer = caller.call_quorum<add>(2, options, 1, 2).status();
  EXPECT_EQ(fewer.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string{fewer.message()}, ::testing::HasSubstr("1 of 2 servers "));
}

TEST_F(BlockingFleets, EndQuorumsInTime) {
  BlockingFleet caller = blocking(make());
  const FleetCallOptions options{.call = {.timeout = 50ms}};
  const auto all = caller.call_all<&Silence::ask>(options);
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  for (const auto& one : *all) EXPECT_EQ(one.outcome.status().code(), StatusCode::kDeadlineExceeded);
  const Status quorum = caller.call_quorum<&Silence::ask>(1, options).status();
  EXPECT_EQ(quorum.code(), StatusCode::kUnavailable) << quorum.to_string();
}

TEST_F(BlockingFleets, EndQuorumsThatAreStoppedOrWhoseFleetEnds) {
  FleetClient& fleet = make();
  const FleetCallOptions options{.call = {.timeout = 60s}};
  std::stop_source stop;
  Status stopped;
  std::jthread asks{
      [&] { stopped = blocking(fleet, stop.get_token()).call_quorum<&Silence::ask>(2, options).status(); }};
  first_.silence.await(1);
  second_.silence.await(1);
  stop.request_stop();
  asks.join();
  EXPECT_EQ(stopped.code(), StatusCode::kCancelled) << stopped.to_string();

  Status ended;
  std::jthread asks_again{[&, caller = blocking(fleet)]() mutable {
    const auto all = caller.call_all<&Silence::ask>(options);
    ended = all.ok() ? all->front().outcome.status() : all.status();
  }};
  first_.silence.await(2);
  second_.silence.await(2);
  end_fleet();
  asks_again.join();
  EXPECT_EQ(ended.code(), StatusCode::kCancelled) << ended.to_string();
}

TEST_F(BlockingFleets, TellAThreadThatWouldWaitForItself) {
  FleetClient& fleet = make();
  Status inside;
  run_on(loop(), [&] { inside = blocking(fleet).call_all<add>(1, 2).status(); });
  EXPECT_EQ(inside.code(), StatusCode::kFailedPrecondition);
  run_on(loop(), [&] { inside = blocking(fleet).call<add>(1, 2).status(); });
  EXPECT_EQ(inside.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string{inside.message()}, ::testing::HasSubstr("co_await fleet.call<f>"));
  EXPECT_THAT(std::string{inside.message()},
              ::testing::HasSubstr("co_await weft::on_loop_of(fleet).call<f>"));
}

TEST_F(BlockingFleets, RefuseABodyThatIsTooLarge) {
  FleetClient& fleet = make();
  const FleetCallOptions options{.call = {.timeout = 10s}};
  const std::string large(std::size_t{17} << 20, 'x');
  EXPECT_EQ(blocking(fleet).call<echoed>(options, large).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace weft::testing::blocking_fleet_tests
