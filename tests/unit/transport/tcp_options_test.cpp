// SPDX-License-Identifier: Apache-2.0
// The system has what TcpOptions ask for, on the sockets of those who connect and of those who are accepted.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/tcp.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;

/// Ends of the connections that this process has to its own `listener`.
enum class WhichEnd { kConnected, kAccepted };

/// The descriptor of the socket that is `end`; -1 where there is none.
int socket_at(WhichEnd end, const Listener& listener) {
  constexpr int kDescriptorsMax = 1024;
  for (int fd = 0; fd < kDescriptorsMax; ++fd) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::getpeername(fd, any, &length) != 0) continue;
    length = sizeof address;
    if (end == WhichEnd::kAccepted && ::getsockname(fd, any, &length) != 0) continue;
    if (address.sin_family == AF_INET && ntohs(address.sin_port) == listener.local_url().port) return fd;
  }
  return -1;
}

int option_of(int fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(::getsockopt(fd, level, name, &value, &length), 0);
  return value;
}

class TcpSockets : public ::testing::Test {
 protected:
  /// Connects to a listener of the same options.
  void make(const TcpOptions& options) {
    transport_ = make_tcp_transport(options);
    listener_ = transport_->listen(*loop_, kAnyPort).value();
    listener_->start([this](std::unique_ptr<Incoming> incoming) { accepted_ = std::move(incoming); });
    connected_ = loop_->block_on(transport_->connect(*loop_, listener_->local_url(), {})).value();
    while (accepted_ == nullptr) loop_->run_once(10s);
  }
  void expect(int level, int name, int value) {
    for (const WhichEnd end : {WhichEnd::kConnected, WhichEnd::kAccepted}) {
      const int fd = socket_at(end, *listener_);
      ASSERT_GE(fd, 0);
      EXPECT_EQ(option_of(fd, level, name), value)
          << (end == WhichEnd::kConnected ? "connected" : "accepted");
    }
  }

  const Url kAnyPort{"tcp", "127.0.0.1", 0};
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Incoming> accepted_;
  std::unique_ptr<Connection> connected_;
};

TEST_F(TcpSockets, AskASilentPeerAsOftenAsTheOptionsSay) {
  make({.keepalive_idle = 40s, .keepalive_interval = 7s, .keepalive_count = 5});
  expect(SOL_SOCKET, SO_KEEPALIVE, 1);
  expect(IPPROTO_TCP, TCP_KEEPIDLE, 40);
  expect(IPPROTO_TCP, TCP_KEEPINTVL, 7);
  expect(IPPROTO_TCP, TCP_KEEPCNT, 5);
}

TEST_F(TcpSockets, AskNobodyWithoutAnIdleTime) {
  make({.keepalive_idle = Duration::zero()});
  expect(SOL_SOCKET, SO_KEEPALIVE, 0);
}

TEST_F(TcpSockets, GiveUpUnacknowledgedBytesAfterTheTimeOfTheOptionsInWholeMilliseconds) {
  make({.user_timeout = 1500us});
  expect(IPPROTO_TCP, TCP_USER_TIMEOUT, 2);
}

// Linux reports twice of what it was asked for, the other half being its own.
TEST_F(TcpSockets, HaveBuffersOfTheSizesThatTheOptionsSay) {
  make({.send_buffer_bytes = 30'000, .receive_buffer_bytes = 40'000});
  expect(SOL_SOCKET, SO_SNDBUF, 60'000);
  expect(SOL_SOCKET, SO_RCVBUF, 80'000);
}

TEST_F(TcpSockets, ShareAPortWhereAllWhoListenOnItWantTo) {
  const auto sharing = make_tcp_transport({.reuse_port = true});
  const auto first = sharing->listen(*loop_, kAnyPort).value();
  const auto second = sharing->listen(*loop_, first->local_url());
  EXPECT_TRUE(second.ok()) << second.status().to_string();
  EXPECT_FALSE(make_tcp_transport()->listen(*loop_, first->local_url()).ok());
}

}  // namespace
}  // namespace weft
