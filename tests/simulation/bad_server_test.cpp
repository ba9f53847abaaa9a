// SPDX-License-Identifier: Apache-2.0
// A client whose server is well mannered in all but one: it leaves, or sends the client away, each time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "simulation/world.hpp"
#include "support/manual_time.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::simulation {

using namespace weft::detail;
namespace {

enum class Manners { kLeavesAfterItsHello, kLeavesAtTheFirstCall, kSendsAwayAtTheFirstCall };

/// One connection of such a server.
class Visit final : private FrameSink {
 public:
  Visit(std::unique_ptr<Connection> connection, Manners manners)
      : connection_(std::move(connection)), manners_(manners) {
    connection_->start(*this);
    wire::Hello hello;
    hello.body_bytes_max = 1 << 20;
    hello.calls_in_flight_max = 100;
    send(wire::encode_hello(hello));
    if (manners_ == Manners::kLeavesAfterItsHello) connection_->finish();
  }
  bool over() const { return over_; }

 private:
  Status on_hello(const wire::Hello&) override { return {}; }
  Status on_frames(std::span<const Frame> frames, const ChunkRef&) override {
    if (frames.front().header.type != wire::FrameType::kRequest) return {};
    if (manners_ == Manners::kLeavesAtTheFirstCall) connection_->finish();
    if (manners_ == Manners::kSendsAwayAtTheFirstCall) {
      wire::FrameHeader header;
      header.type = wire::FrameType::kGoaway;
      std::string frame(wire::kHeaderBytes, '\0');
      wire::store_header(reinterpret_cast<std::byte*>(frame.data()), header);
      send(frame);
    }
    return {};
  }
  Landing on_attachment(const Frame&) override { return Landing::skip(); }
  Status on_attachment_end(const Frame&, const ChunkRef&, bool) override { return {}; }
  void on_drained() override {}
  void on_closed(Status) override { over_ = true; }

  void send(const std::string& bytes) {
    std::byte* const room = connection_->outbox().append(bytes.size());
    std::memcpy(room, bytes.data(), bytes.size());
  }

  const std::unique_ptr<Connection> connection_;
  const Manners manners_;
  bool over_ = false;
};

/// A server of such manners, and a client that makes a call every 10 ms, whatever becomes of the others.
class BadServer {
 public:
  explicit BadServer(Manners manners) {
    auto network = std::make_unique<MemoryNetwork>();
    listener_ = network->listen(*loop_, Url::parse("memory://server").value()).value();
    transports_.add(std::move(network));
    listener_->start([this, manners](std::unique_ptr<Incoming> incoming) {
      visits_.push_back(std::make_unique<Visit>(incoming->adopt(*loop_, {}).value(), manners));
    });
    ClientOptions options;
    options.connect = "memory://server";
    options.call_timeout = kNoTimeout;
    options.logger = &logger_;
    client_ = std::make_unique<Client>(*loop_, options, transports_);
    loop_->post([this] { scope_.spawn(&BadServer::call_again_and_again, this); });
  }
  ~BadServer() {
    stopping_ = true;
    client_->close();
    pass(10ms);
  }

  void pass(Duration time) { testing::pass(*loop_, clock_, time); }
  std::size_t connections() const { return visits_.size(); }
  std::size_t open_connections() const {
    return static_cast<std::size_t>(
        std::count_if(visits_.begin(), visits_.end(), [](const auto& visit) { return !visit->over(); }));
  }
  std::size_t failed() const { return failed_; }
  const Status& last_failure() const { return last_failure_; }

 private:
  static Task<void> call_again_and_again(BadServer* its) {
    while (!its->stopping_) {
      its->scope_.spawn(&BadServer::call_once, its);
      [[maybe_unused]] const Result<void> slept = co_await sleep_for(10ms);
    }
  }
  static Task<void> call_once(BadServer* its) {
    const Result<std::uint32_t> result = co_await its->client_->call<&Service::plain>(1u);
    if (result.ok() || its->stopping_) co_return;
    ++its->failed_;
    its->last_failure_ = result.status();
  }

  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_ = Loop::create({.clock = &clock_}).value();
  Transports transports_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Visit>> visits_;
  std::unique_ptr<Client> client_;
  std::size_t failed_ = 0;
  Status last_failure_;
  bool stopping_ = false;
  Scope scope_;
};

// Four seconds have room for waits that double from 10 or 20 ms to a second, and for a few of a second.
constexpr std::size_t kAttemptsIn4s = 14;

TEST(ABadServer, ThatLeavesAfterItsHelloIsMetLessAndLessOften) {
  BadServer server{Manners::kLeavesAfterItsHello};
  server.pass(4s);
  std::printf("%zu connections in 4 s\n", server.connections());
  EXPECT_GE(server.connections(), 5u);
  EXPECT_LE(server.connections(), kAttemptsIn4s);
}

TEST(ABadServer, ThatLeavesAtTheFirstCallIsMetLessAndLessOften) {
  BadServer server{Manners::kLeavesAtTheFirstCall};
  server.pass(4s);
  EXPECT_GE(server.connections(), 5u);
  EXPECT_LE(server.connections(), kAttemptsIn4s);
  EXPECT_EQ(server.last_failure().code(), StatusCode::kUnavailable);
}

TEST(ABadServer, ThatSendsEachConnectionAwayAndAnswersNothingIsKeptFewConnections) {
  BadServer server{Manners::kSendsAwayAtTheFirstCall};
  server.pass(4s);
  EXPECT_LE(server.connections(), kAttemptsIn4s);
  server.pass(60s);
  std::printf("%zu connections, %zu of them open\n", server.connections(), server.open_connections());
  EXPECT_GE(server.connections(), 60u);
  EXPECT_LE(server.open_connections(), 9u);
  EXPECT_GT(server.failed(), 0u) << "the oldest calls end";
  EXPECT_EQ(server.last_failure().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace weft::simulation
