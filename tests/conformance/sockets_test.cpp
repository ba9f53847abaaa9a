// SPDX-License-Identifier: Apache-2.0
// What only sockets do: resets, files, options, names, descriptors.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <thread>

#include "conformance/fixture.hpp"
#include "support/raw_socket.hpp"
#include "weft/detail/coro/with_scope.hpp"

namespace weft::conformance {

using namespace weft::detail;
namespace {

class Sockets : public ConformanceTest {
 protected:
  // A server whose peer is a plain socket.
  void serve_raw(const ConnectionOptions& options = {}) {
    listener_ = listen(any_url());
    ASSERT_TRUE(listener_);
    raw_ = std::make_unique<testing::RawSocket>(listener_->local_url());
    ASSERT_TRUE(raw_->connected());
    ASSERT_TRUE(until([&] { return !incoming_.empty(); }));
    server_.connection = incoming_.front()->adopt_connection(*loop_, options).value();
    incoming_.clear();
    server_.connection->start(server_.sink);
  }
  std::unique_ptr<testing::RawSocket> raw_;
};

TEST_P(Sockets, AResetPeerIsNoticed) {
  ASSERT_NO_FATAL_FAILURE(serve_raw());
  ASSERT_TRUE(raw_->send(hello_text()));
  ASSERT_TRUE(until([&] { return server_.sink.hellos.size() == 1; }));
  CountedLease& lease = lent(pattern(20'000'000));
  server_.request_with(1, lease);
  run_until_idle();
  EXPECT_EQ(lease.released, 0);
  raw_->reset();
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.code(), StatusCode::kUnavailable) << server_.sink.why.to_string();
  EXPECT_NE(server_.sink.why.native(), 0);
  EXPECT_EQ(lease.released, 1);
}

TEST_P(Sockets, AResetPeerIsNoticedByAPausedConnectionToo) {
  ASSERT_NO_FATAL_FAILURE(serve_raw());
  ASSERT_TRUE(raw_->send(hello_text()));
  ASSERT_TRUE(until([&] { return server_.sink.hellos.size() == 1; }));
  server_.connection->pause_receiving();
  if (std::string_view{GetParam()} == "unix") {
    // A Unix socket's reset is an error only for a peer that has not read everything.
    server_.request(1, "unread");
    run_until_idle();
  }
  raw_->reset();
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.code(), StatusCode::kUnavailable);
}

TEST_P(Sockets, WhatAPeerSaidBeforeItResetIsStillHeard) {
  ASSERT_NO_FATAL_FAILURE(serve_raw());
  ASSERT_TRUE(raw_->send(hello_text() + frame_head({.type = wire::FrameType::kGoaway}, "bye")));
  raw_->close();
  server_.send_hello();
  server_.send({.type = wire::FrameType::kPing, .id = 1});
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  ASSERT_EQ(server_.sink.frames.size(), 1u);
  EXPECT_EQ(server_.sink.frames[0].body, "bye");
}

TEST_P(Sockets, NoBytesOfAHugeAnnouncementAreAwaited) {
  ASSERT_NO_FATAL_FAILURE(serve_raw());
  std::string hello = hello_text();
  const std::uint32_t announced = 0xFFFFFFF0;
  std::memcpy(hello.data() + 8, &announced, sizeof announced);
  ASSERT_TRUE(raw_->send(hello.substr(0, 16)));
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.layer(), Layer::kWire);
  EXPECT_TRUE(until([&] { return raw_->at_end(); }));
}

TEST_P(Sockets, APortOrPathInUseIsRefused) {
  auto first = listen(any_url());
  ASSERT_TRUE(first);
  const auto second = transport_->listen(*loop_, first->local_url());
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists) << second.status().to_string();
  EXPECT_NE(second.status().message().find(first->local_url().to_string()), std::string_view::npos);
}

TEST_P(Sockets, APortOrPathIsFreeAgainOnceItsListenerIsGone) {
  ASSERT_NO_FATAL_FAILURE(greet());
  const Url url = listener_->local_url();
  listener_.reset();
  listener_ = listen(url);
  ASSERT_TRUE(listener_);
  client_.request(1, "the old connection lives on");
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 1; }));
}

TEST_P(Sockets, ALoopWithoutDescriptorsAcceptsAgainWhenThereAreSome) {
  struct Counter final : Logger {
    void write(LogLevel, std::string_view message) override { messages.emplace_back(message); }
    std::vector<std::string> messages;
  } logger;
  transport_ = detail::make_tcp_transport({.logger = &logger});
  auto listener = listen(any_url());
  const Url url = listener->local_url();
  testing::RawSocket first{url};
  testing::RawSocket second{url};
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // No descriptor above those in use may be made.
  const int probe = ::dup(0);
  ASSERT_GE(probe, 0);
  ::close(probe);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(probe);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  const bool logged = until([&] { return !logger.messages.empty(); });
  run_until_idle();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(logged);
  EXPECT_TRUE(incoming_.empty());
  EXPECT_TRUE(until([&] { return incoming_.size() == 2; }));
  EXPECT_EQ(logger.messages.size(), 1u);
  incoming_.clear();
  listener.reset();
}

INSTANTIATE_TEST_SUITE_P(Over, Sockets, ::testing::Values("tcp4", "tcp6", "unix"),
                         [](const auto& test) { return std::string{test.param}; });

class Tcp : public ConformanceTest {};

TEST_P(Tcp, NamesAreLookedUpOffTheLoop) {
  listener_ = listen({"tcp", "localhost", 0});
  ASSERT_TRUE(listener_);
  const auto local = try_connect({"tcp", "localhost", listener_->local_url().port});
  EXPECT_TRUE(local.ok()) << local.status().to_string();
  const auto nowhere = try_connect({"tcp", "no such host.invalid", 1});
  EXPECT_EQ(nowhere.status().code(), StatusCode::kUnavailable) << nowhere.status().to_string();
  EXPECT_FALSE(transport_->listen(*loop_, {"tcp", "no such host.invalid", 1}).ok());
}

TEST_P(Tcp, ALocalAddressIsBoundBeforeConnecting) {
  listener_ = listen(any_url());
  const auto bound = try_connect(listener_->local_url(), {.local_address = "127.0.0.2"});
  ASSERT_TRUE(bound.ok()) << bound.status().to_string();
  EXPECT_TRUE((*bound)->local_endpoint().starts_with("tcp://127.0.0.2:")) << (*bound)->local_endpoint();
  const auto other = try_connect(listener_->local_url(), {.local_address = "[::1]:0"});
  EXPECT_EQ(other.status().code(), StatusCode::kInvalidArgument);
  const auto wrong = try_connect(listener_->local_url(), {.local_address = "somewhere"});
  EXPECT_EQ(wrong.status().code(), StatusCode::kInvalidArgument);
}

TEST_P(Tcp, AnUnknownCongestionControlIsNamed) {
  transport_ = detail::make_tcp_transport({.congestion = "no-such-thing"});
  const auto failed = transport_->listen(*loop_, any_url());
  EXPECT_FALSE(failed.ok());
  EXPECT_NE(failed.status().message().find("no-such-thing"), std::string_view::npos);
}

TEST_P(Tcp, AConnectThatGetsNoAnswerEndsAtItsDeadlineOrWhenCancelled) {
  // A full backlog of a listener that accepts nothing leaves further connects without an answer.
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(fd, 0), 0);
  socklen_t length = sizeof address;
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const Url url{"tcp", "127.0.0.1", ntohs(address.sin_port)};
  const auto deadline = [&] { return Deadline::after(loop_->now(), std::chrono::milliseconds{20}); };
  std::vector<std::unique_ptr<Connection>> fillers;
  Status status;
  while (status.ok() && fillers.size() < 20) {
    auto filler = try_connect(url, {.deadline = deadline()});
    status = filler.status();
    if (filler.ok()) fillers.push_back(*std::move(filler));
  }
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.to_string();
  CancelScope scope;
  loop_->post([&] { loop_->post([&] { scope.cancel(CancelReason::kStopping); }); });
  const auto cancelled = loop_->block_on(with_scope(scope, transport_->connect(*loop_, url, {})));
  EXPECT_EQ(cancelled.status().code(), StatusCode::kCancelled) << cancelled.status().to_string();
  fillers.clear();
  ::close(fd);
}

INSTANTIATE_TEST_SUITE_P(Over, Tcp, ::testing::Values("tcp4"),
                         [](const auto& test) { return std::string{test.param}; });

class Unix : public ConformanceTest {};

TEST_P(Unix, AStaleSocketFileIsReplacedAndAnythingElseIsNot) {
  const Url url = any_url();
  {
    // A server that died leaves its file.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    url.host.copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(fd);
  }
  listener_ = listen(url);
  ASSERT_TRUE(listener_);
  listener_.reset();
  struct stat info{};
  EXPECT_NE(::lstat(url.host.c_str(), &info), 0) << "the listener leaves its file";
  ASSERT_EQ(::mkdir(url.host.c_str(), 0700), 0);
  EXPECT_FALSE(transport_->listen(*loop_, url).ok());
  EXPECT_EQ(::rmdir(url.host.c_str()), 0);
}

TEST_P(Unix, APathThatIsTooLongIsRefused) {
  const auto refused = transport_->listen(*loop_, {"unix", "/" + std::string(200, 'x'), 0});
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Over, Unix, ::testing::Values("unix"),
                         [](const auto& test) { return std::string{test.param}; });

class Memory : public ConformanceTest {};

TEST_P(Memory, ShortReceivesChangeNothing) {
  memory_options_.to_server.receive_bytes_max = 7;
  ASSERT_NO_FATAL_FAILURE(greet());
  CountedLease& lease = lent(pattern(20'001));
  client_.request_with(1, lease, "body");
  client_.request(2, pattern(5000));
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 2; }));
  EXPECT_TRUE(server_.sink.frames[0].attachment == lease.bytes);
  EXPECT_TRUE(server_.sink.frames[1].body == pattern(5000));
}

TEST_P(Memory, DelayIsByTheLoopsClock) {
  memory_options_.to_server.delay = std::chrono::seconds{3};
  ASSERT_NO_FATAL_FAILURE(connect());
  client_.send_hello();
  run_until_idle();
  EXPECT_TRUE(server_.sink.hellos.empty());
  clock_.advance(std::chrono::milliseconds{2999});
  run_until_idle();
  EXPECT_TRUE(server_.sink.hellos.empty());
  clock_.advance(std::chrono::milliseconds{1});
  run_until_idle();
  EXPECT_EQ(server_.sink.hellos.size(), 1u);
}

TEST_P(Memory, ACutEndsBothSides) {
  memory_options_.to_server.cut_after = hello_text().size() + 60;
  ASSERT_NO_FATAL_FAILURE(greet());
  for (std::uint64_t id = 1; id < 4; ++id) client_.request(id);
  ASSERT_TRUE(until([&] { return server_.sink.closed() && client_.sink.closed(); }));
  EXPECT_EQ(server_.sink.frames.size(), 1u);
  EXPECT_EQ(server_.sink.why.code(), StatusCode::kUnavailable);
  EXPECT_EQ(client_.sink.why.code(), StatusCode::kUnavailable);
}

TEST_P(Memory, AHalfCloseIsTheEndForTheReceiver) {
  memory_options_.to_server.half_close_after = hello_text().size() + 40;
  ASSERT_NO_FATAL_FAILURE(greet());
  for (std::uint64_t id = 1; id < 4; ++id) client_.request(id);
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.frames.size(), 1u);
  EXPECT_TRUE(server_.sink.why.ok()) << server_.sink.why.to_string();
}

TEST_P(Memory, ASilentPeerIsNotToldFromAnIdleOneAndLosesTheEndToo) {
  memory_options_.to_server.drop_after = hello_text().size() + 40;
  ASSERT_NO_FATAL_FAILURE(greet());
  for (std::uint64_t id = 1; id < 4; ++id) client_.request(id);
  run_until_idle();
  EXPECT_TRUE(client_.outbox().empty());
  client_.connection.reset();
  run_until_idle();
  EXPECT_EQ(server_.sink.frames.size(), 1u);
  EXPECT_FALSE(server_.sink.closed());
}

TEST_P(Memory, EndsOnTwoThreadsExchangeFrames) {
  // On a clock that advances by itself, each end on its own loop.
  auto here = Loop::create({.mode = WaitMode::kWait}).value();
  auto there = Loop::create({.mode = WaitMode::kWait}).value();
  auto listener = transport_->listen(*there, {"memory", "two", 0}).value();
  Peer far;
  far.sink.during_frames = [&](std::span<const Frame> batch) {
    for (const Frame& frame : batch) {
      far.send({.type = wire::FrameType::kAnswer, .id = frame.header.id}, as_text(frame.body));
    }
    return Status{};
  };
  listener->start([&](std::unique_ptr<Incoming> peer) {
    far.connection = peer->adopt_connection(*there).value();
    far.connection->start(far.sink);
    far.send_hello();
  });
  std::thread thread{[&] { there->run(); }};
  Peer near;
  near.connection = here->block_on(transport_->connect(*here, {"memory", "two", 0}, {})).value();
  near.connection->start(near.sink);
  near.send_hello();
  for (std::uint64_t id = 0; id < 2000; ++id) near.request(id, pattern(500, static_cast<unsigned>(id)));
  while (near.sink.frames.size() < 2000 && !near.sink.closed()) here->run_once(std::chrono::seconds{5});
  EXPECT_EQ(near.sink.frames.size(), 2000u);
  near.connection.reset();
  there->stop();
  thread.join();
  far.connection.reset();
  listener.reset();
}

INSTANTIATE_TEST_SUITE_P(Over, Memory, ::testing::Values("memory"),
                         [](const auto& test) { return std::string{test.param}; });

}  // namespace
}  // namespace weft::conformance
