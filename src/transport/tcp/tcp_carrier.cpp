// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_carrier.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <new>
#include <utility>

#include "transport/tcp/unix_carrier.hpp"
#include "weft/detail/base/saturated.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::tcp {

namespace {

// Measured with bodies of 2 to 32 KiB, 16 to 256 in flight: as much as one receive brings.
constexpr std::size_t kFewFramesBytes = 256 * 1024;
// Measured with attachments of 256 KiB to 64 MiB, 1 to 64 in flight, and small calls beside them.
constexpr std::size_t kLonePieceBytes = 1024 * 1024;

// Such a piece out of pages in one call, with its head and what ends it.
constexpr std::size_t kSegmentsMax = kLonePieceBytes / 4096 + 2;
static_assert(kSegmentsMax <= Capabilities::kSegmentsMost);
// Fewer pieces are not worth a look ahead.
constexpr std::size_t kManyPieces = 8;

constexpr Capabilities kTcp{.name = "tcp",
                            .lease_bytes_min = 16 * 1024,
                            .lone_piece_bytes = kLonePieceBytes,
                            .few_frames_bytes = kFewFramesBytes,
                            .peer_may_vanish = true,
                            .gathers = true,
                            .segments_max = kSegmentsMax,
                            .lends_runs = true};
constexpr Capabilities kUnix{.name = "unix",
                             .lease_bytes_min = 16 * 1024,
                             .lone_piece_bytes = kLonePieceBytes,
                             .few_frames_bytes = kFewFramesBytes,
                             .peer_may_vanish = true,
                             .gathers = true,
                             .segments_max = kSegmentsMax,
                             .lends_runs = true};

// Largest error of the kernel's time: a tick of its slowest usual clock.
constexpr Duration kTick = std::chrono::milliseconds{10};

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

ssize_t send_message(int fd, std::span<const iovec> pieces) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

// The system copies one piece after the other. When they lie apart it would wait for the memory at the
// beginning of each, which no hardware prefetcher predicts; prefetching here overlaps these waits. Sends of
// few pieces pay no instruction for it. Not a function of its own, because g++ 12 removes calls of functions
// that only prefetch.
[[gnu::noinline]] ssize_t send_many_pieces(int fd, std::span<const iovec> pieces) {
  for (const iovec& piece : pieces) __builtin_prefetch(piece.iov_base);
  return send_message(fd, pieces);
}

ssize_t send_pieces(int fd, std::span<const iovec> pieces) {
  return pieces.size() < kManyPieces ? send_message(fd, pieces) : send_many_pieces(fd, pieces);
}

std::size_t total_of(std::span<const iovec> pieces) {
  std::size_t total = 0;
  for (const iovec& piece : pieces) total += piece.iov_len;
  return total;
}

}  // namespace

Result<std::unique_ptr<BaseCarrier>> TcpCarrier::make(Loop& loop, Socket socket, const SocketAddress& peer) {
  std::unique_ptr<TcpCarrier> carrier;
  const SocketAddress local = local_address_of(socket.fd());
  if (peer.family() == AF_UNIX) {
    carrier = std::make_unique<UnixCarrier>(loop, std::move(socket), peer, local);
  } else {
    carrier = std::make_unique<TcpCarrier>(loop, std::move(socket), peer, local);
  }
  Result<void> watched = loop.watch(*carrier, carrier->socket_.fd());
  if (!watched) return std::move(watched).status();
  return std::unique_ptr<BaseCarrier>{std::move(carrier)};
}

TcpCarrier::TcpCarrier(Loop& loop, Socket socket, const SocketAddress& peer, const SocketAddress& local)
    : loop_(loop), socket_(std::move(socket)), unix_(peer.family() == AF_UNIX), ends_(local, peer) {
  tell_company();  // the connection does, by its frames
}

TcpCarrier::~TcpCarrier() {
  loop_.unwatch(*this);
}

const Capabilities& TcpCarrier::capabilities() const {
  return unix_ ? kUnix : kTcp;
}

Moved TcpCarrier::receive(std::span<const iovec> into, std::span<const iovec>) {
  if (made_in_.in_child()) return Moved::failed(EPIPE);  // the parent's bytes
  while (true) {
    const ssize_t got = into.size() == 1 ? ::recv(socket_.fd(), into[0].iov_base, into[0].iov_len, 0)
                                         : ::readv(socket_.fd(), into.data(), static_cast<int>(into.size()));
    if (got > 0) {
      const auto bytes = static_cast<std::size_t>(got);
      // Less than asked for means that there was no more; but the end, once announced, is waited for.
      return Moved::some(bytes, !hangup_ && bytes < total_of(into));
    }
    if (got == 0) return Moved::ended();
    if (would_block(errno)) return Moved::blocked();
    if (errno != EINTR) return Moved::failed(errno);
  }
}

Moved TcpCarrier::send(std::span<const iovec> from, std::size_t) {
  if (made_in_.in_child()) return Moved::failed(EPIPE);  // the parent's connection
  while (true) {
    const ssize_t sent = from.size() == 1
                             ? ::send(socket_.fd(), from[0].iov_base, from[0].iov_len, MSG_NOSIGNAL)
                             : send_pieces(socket_.fd(), from);
    if (sent >= 0) {
      const auto bytes = static_cast<std::size_t>(sent);
      // Less than given means that the socket is full, and it will say when it is not.
      return Moved::some(bytes, bytes < from[0].iov_len || (from.size() > 1 && bytes < total_of(from)));
    }
    if (would_block(errno)) return Moved::blocked();
    if (errno != EINTR) return Moved::failed(errno);
  }
}

// The kernel tells when the last bytes arrived, in ticks of its clock; earlier bytes arrived no later. It
// does not tell this of Unix sockets.
TimePoint TcpCarrier::arrived_by(TimePoint now) const {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (unix_ || ::getsockopt(socket_.fd(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return now;
  const Duration silent = std::chrono::milliseconds{info.tcpi_last_data_recv};
  return silent > kTick ? saturated_sum(now, kTick - silent) : now;
}

void TcpCarrier::end_sending() {
  ::shutdown(socket_.fd(), SHUT_WR);
}

void TcpCarrier::shut() {
  loop_.unwatch(*this);
  socket_.close();
}

void TcpCarrier::on_ready(Readiness readiness) {
  if (readiness.hangup || readiness.error) hangup_ = true;
  if (readiness.error && !owner().receives()) {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket_.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
    return owner().on_failed(lost(error != 0 ? error : ECONNRESET));
  }
  if (readiness.readable || hangup_) owner().on_readable();
  if (readiness.writable || hangup_) owner().on_writable();
}

// The text of the address needs memory.
Status TcpCarrier::lost(int error) const noexcept {
  try {
    return connection_lost("connection to ", ends_.remote(), error);
  } catch (const std::bad_alloc&) {
    return connection_lost("connection to ", "the peer", error);
  }
}

void TcpCarrier::on_report_end() {
  owner().on_report_end();
}

}  // namespace weft::detail::tcp
