// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_carrier.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "weft/detail/runtime/loop.hpp"

namespace weft {

using namespace weft::detail;
namespace {

std::unique_ptr<tcp::TcpCarrier> carrier_of(Loop& loop, int fd) {
  tcp::SocketAddress address;
  address.storage.ss_family = AF_UNIX;
  return std::make_unique<tcp::TcpCarrier>(loop, tcp::Socket{fd}, address, address);
}

// Whoever asked again would make a system call for each time that the socket is full, only to hear that it
// is.
TEST(TcpCarriers, SayThatTheSocketIsFullWithWhatItTookLast) {
  const auto loop = Loop::create().value();
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const tcp::Socket peer{ends[1]};
  const auto carrier = carrier_of(*loop, ends[0]);

  std::vector<std::byte> bytes(64 << 20);
  const auto send = [&](std::size_t size) {
    const iovec piece{bytes.data(), size};
    return carrier->send({&piece, 1}, 0);
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

// As many as they say that they take, of which the system takes what it has room for.
TEST(TcpCarriers, SendManyPiecesInOrder) {
  const auto loop = Loop::create().value();
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const tcp::Socket peer{ends[1]};
  const auto carrier = carrier_of(*loop, ends[0]);
  const std::size_t count = carrier->capabilities().segments_max;
  ASSERT_GT(count, Capabilities::kSegmentsMin);

  constexpr std::size_t kPiece = 2048;
  std::vector<char> memory(2 * count * kPiece);
  std::vector<char> expected;
  std::vector<iovec> pieces;
  for (std::size_t i = 0; i < count; ++i) {
    char* const piece = memory.data() + 2 * i * kPiece;
    std::fill_n(piece, kPiece, static_cast<char>(i));
    expected.insert(expected.end(), piece, piece + kPiece);
    pieces.push_back({piece, kPiece});
  }
  std::vector<char> received(expected.size());
  std::size_t sent = 0;
  std::size_t got = 0;
  for (std::size_t first = 0; got < expected.size();) {
    if (first < count) {
      const Moved moved = carrier->send(std::span{pieces}.subspan(first), 0);
      ASSERT_EQ(moved.kind, Moved::Kind::kSome);
      EXPECT_EQ(moved.exhausted, moved.bytes < expected.size() - sent);
      sent += moved.bytes;
      first = sent / kPiece;
      if (first < count) {
        const std::size_t inside = sent % kPiece;
        pieces[first] = {memory.data() + 2 * first * kPiece + inside, kPiece - inside};
      }
    }
    while (got < sent) {
      const ssize_t part = ::recv(ends[1], received.data() + got, received.size() - got, 0);
      ASSERT_GT(part, 0);
      got += static_cast<std::size_t>(part);
    }
  }
  EXPECT_TRUE(received == expected);
}

}  // namespace
}  // namespace weft
