// SPDX-License-Identifier: Apache-2.0
// Names and addresses on the way to a connection: resolvers that do not answer, addresses that swallow what
// asks them, and others that refuse. The clock stands still, so that no test waits for time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "support/sockets.hpp"
#include "transport/tcp/tcp_transport.hpp"
#include "weft/client.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/coro/with_scope.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::SilentListener;
using testing::SwallowingListener;

tcp::SocketAddress address_of(const std::string& url) {
  return tcp::addresses_of(Url::parse(url).value()).value().front();
}
std::string at(std::uint16_t port) {
  return "tcp://127.0.0.1:" + std::to_string(port);
}

/// Names that a test makes up; while it is shut, nobody who asks is answered.
class Names final : public tcp::HostNames {
 public:
  tcp::Addresses blocking_look_up(const std::string& host, std::uint16_t) override {
    std::unique_lock lock{mutex_};
    ++questions_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    return known_[host];
  }
  void add(const std::string& host, const std::vector<std::string>& urls) {
    const std::lock_guard lock{mutex_};
    auto& addresses = known_[host];
    for (const std::string& url : urls) addresses.push_back(address_of(url));
  }
  void set_open(bool open) {
    const std::lock_guard lock{mutex_};
    open_ = open;
    changed_.notify_all();
  }
  int questions() {
    const std::lock_guard lock{mutex_};
    return questions_;
  }
  void await_question() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return questions_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<tcp::SocketAddress>> known_;
  int questions_ = 0;
  bool open_ = true;
};

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) ++count;
  return count;
}

class TcpConnect : public ::testing::Test {
 protected:
  using Outcome = Result<std::unique_ptr<Connection>>;

  ~TcpConnect() override {
    names_->set_open(true);
    outcome_.reset();
  }

  void begin(const std::string& host, Duration time = kNoTimeout) {
    scope_.spawn(&TcpConnect::connect, this, Url{"tcp", host, 1}, Deadline::after(clock_.now(), time));
    loop_->run_until_idle();
  }
  static Task<void> connect(TcpConnect* its, Url url, Deadline deadline) {
    ConnectOptions options;
    options.deadline = deadline;
    its->outcome_ = co_await with_scope(its->cancel_, its->transport_->connect(*its->loop_, url, options));
  }
  void pass(Duration time) {
    clock_.advance(time);
    loop_->run_until_idle();
  }
  /// Turns until the attempt has ended: what it waits for happens without the clock.
  const Outcome& outcome() {
    while (!outcome_) loop_->run_once(10s);
    return *outcome_;
  }
  std::string text() { return std::string{outcome().status().message()}; }
  /// A port on which nobody listens.
  static std::string refusing() {
    SilentListener listener;
    return listener.url();
  }

  ManualClock clock_;
  std::unique_ptr<Loop> loop_ = Loop::create({.clock = &clock_}).value();
  std::shared_ptr<Names> names_ = std::make_shared<Names>();
  std::unique_ptr<Transport> transport_ = tcp::make_transport({}, names_);
  std::optional<Outcome> outcome_;
  CancelScope cancel_;
  Scope scope_;
};

TEST_F(TcpConnect, ACancelDoesNotWaitForTheResolver) {
  names_->set_open(false);
  begin("slow");
  names_->await_question();
  loop_->post([this] { cancel_.cancel(CancelReason::kStopping); });
  EXPECT_EQ(outcome().status().code(), StatusCode::kCancelled);
  transport_.reset();
}

TEST_F(TcpConnect, ADeadlineDoesNotWaitForTheResolver) {
  names_->set_open(false);
  begin("slow", 3s);
  pass(3s);
  EXPECT_EQ(outcome().status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(text(), HasSubstr("look up \"slow\""));
}

TEST_F(TcpConnect, AResolverThatDoesNotAnswerIsAskedOnce) {
  SilentListener listener;
  names_->add("slow", {listener.url()});
  names_->set_open(false);
  for (int i = 0; i < 10; ++i) {
    outcome_.reset();
    begin("slow", 3s);
    pass(3s);
    EXPECT_EQ(outcome().status().code(), StatusCode::kDeadlineExceeded);
  }
  names_->await_question();
  EXPECT_EQ(names_->questions(), 1);
  outcome_.reset();
  begin("slow");
  names_->set_open(true);
  EXPECT_TRUE(outcome().ok()) << text();
}

TEST_F(TcpConnect, AnAddressThatSwallowsIsLeftForTheNextOneAfterAQuarterOfASecond) {
  SwallowingListener swallowing;
  SilentListener answering;
  names_->add("two", {at(swallowing.port()), answering.url()});
  const std::size_t before = open_descriptors();
  begin("two", 5s);
  while (loop_->watches() == 0) loop_->run_once(10s);
  pass(249ms);
  EXPECT_FALSE(outcome_.has_value());
  EXPECT_EQ(open_descriptors(), before + 1);
  pass(1ms);
  ASSERT_TRUE(outcome().ok()) << text();
  EXPECT_EQ((*outcome())->remote_endpoint(), answering.url());
  EXPECT_EQ(open_descriptors(), before + 1) << "the one that lost is closed";
}

TEST_F(TcpConnect, AnAddressThatRefusesIsLeftForTheNextOneAtOnce) {
  SilentListener answering;
  names_->add("two", {refusing(), refusing(), answering.url()});
  begin("two", 5s);
  ASSERT_TRUE(outcome().ok()) << text();
  EXPECT_EQ((*outcome())->remote_endpoint(), answering.url());
}

TEST_F(TcpConnect, EachAddressThatSwallowsCostsAQuarterOfASecond) {
  SilentListener answering;
  SwallowingListener swallowing;
  names_->add("three", {at(swallowing.port()), at(swallowing.port()), answering.url()});
  begin("three", 5s);
  while (loop_->watches() == 0) loop_->run_once(10s);
  pass(250ms);
  EXPECT_FALSE(outcome_.has_value());
  pass(250ms);
  EXPECT_TRUE(outcome().ok()) << text();
}

TEST_F(TcpConnect, FamiliesTakeTurns) {
  const std::string first = refusing(), second = refusing();
  names_->add("many", {first, second, "tcp://[::1]:1"});
  begin("many", 5s);
  const std::string said = text();
  EXPECT_LT(said.find(first), said.find("tcp://[::1]:1")) << said;
  EXPECT_LT(said.find("tcp://[::1]:1"), said.find(second)) << said;
}

TEST_F(TcpConnect, AFailureNamesEachAddressAndWhatItSaid) {
  const std::string refused = refusing();
  SwallowingListener swallowing;
  names_->add("two", {refused, at(swallowing.port())});
  begin("two", 5s);
  while (loop_->watches() == 0) loop_->run_once(10s);
  pass(5s);
  EXPECT_EQ(outcome().status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(text(), HasSubstr(refused + ": connect: Connection refused"));
  EXPECT_THAT(text(), HasSubstr(at(swallowing.port()) + ": the peer did not answer in time"));
}

TEST_F(TcpConnect, ANameWithoutAnAddressSaysSo) {
  begin("nothing");
  EXPECT_EQ(outcome().status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(text(), HasSubstr("the host has no address"));
}

// The time of an attempt to connect is the client's, and a call that waited for it had all the time there is.
TEST_F(TcpConnect, ACallThatWaitedForAnAttemptThatTookTooLongIsToldThatTheServerIsUnavailable) {
  SwallowingListener swallowing;
  names_->add("gone", {at(swallowing.port())});
  Transports transports;
  transports.add(tcp::make_transport({}, names_));
  ClientOptions options;
  options.connect = "tcp://gone:1";
  options.call_timeout = kNoTimeout;
  Client client{*loop_, options, transports};
  std::optional<Status> ended;
  scope_.spawn(
      [](Client* its, std::optional<Status>* to) -> Task<void> {
        const Result<int> result = co_await its->call<weft::remote<"answer", int()>>();
        *to = result.status();
      },
      &client, &ended);
  while (loop_->watches() == 0) loop_->run_once(10s);
  pass(5s);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->code(), StatusCode::kUnavailable) << ended->to_string();
  EXPECT_THAT(std::string{ended->message()}, HasSubstr("tcp://gone:1"));
}

TEST_F(TcpConnect, ClosingAClientDoesNotWaitForTheResolver) {
  names_->set_open(false);
  Transports transports;
  transports.add(tcp::make_transport({}, names_));
  Client client{*loop_, {.connect = "tcp://slow:1"}, transports};
  std::optional<Status> ended;
  scope_.spawn(
      [](Client* its, std::optional<Status>* to) -> Task<void> {
        const Result<int> result = co_await its->call<weft::remote<"answer", int()>>();
        *to = result.status();
      },
      &client, &ended);
  loop_->run_until_idle();
  names_->await_question();
  client.close();
  loop_->run_until_idle();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace weft
