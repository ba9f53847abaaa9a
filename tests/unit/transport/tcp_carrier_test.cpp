// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_carrier.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "weft/detail/runtime/loop.hpp"

namespace weft {

using namespace weft::detail;
namespace {

// Whoever asked again would make a system call for each time that the socket is full, only to hear that it
// is.
TEST(TcpCarriers, SayThatTheSocketIsFullWithWhatItTookLast) {
  const auto loop = Loop::create().value();
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const tcp::Socket peer{ends[1]};
  tcp::SocketAddress address;
  address.storage.ss_family = AF_UNIX;
  tcp::TcpCarrier carrier{*loop, tcp::Socket{ends[0]}, address, address};

  std::vector<std::byte> bytes(64 << 20);
  const auto send = [&](std::size_t size) {
    const iovec piece{bytes.data(), size};
    return carrier.send({&piece, 1}, 0);
  };
  const Moved little = send(10);
  ASSERT_EQ(little.kind, Moved::Kind::kSome);
  EXPECT_FALSE(little.exhausted) << "all of it was taken";
  const Moved much = send(bytes.size());
  ASSERT_EQ(much.kind, Moved::Kind::kSome);
  EXPECT_LT(much.bytes, bytes.size());
  EXPECT_TRUE(much.exhausted);
  EXPECT_EQ(send(bytes.size()).kind, Moved::Kind::kBlocked);
}

}  // namespace
}  // namespace weft
