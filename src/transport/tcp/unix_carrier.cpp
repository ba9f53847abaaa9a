// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/unix_carrier.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace weft::detail::tcp {

namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int) * Descriptors::kMost);

msghdr message_of(std::span<const iovec> pieces, std::span<std::byte> control) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  return message;
}

}  // namespace

// The system records the credentials when the socket connects, and they never change. Without them, or
// without memory, the peer is anonymous.
UnixCarrier::UnixCarrier(Loop& loop, Socket socket, const SocketAddress& peer, const SocketAddress& local)
    : TcpCarrier(loop, std::move(socket), peer, local) {
  ucred process{};
  socklen_t length = sizeof process;
  if (::getsockopt(fd(), SOL_SOCKET, SO_PEERCRED, &process, &length) != 0 || length != sizeof process) return;
  try {
    set_peer_identity(Identity::of_process({process.uid, process.gid, process.pid}));
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): anonymous
  }
}

void UnixCarrier::look(std::size_t most) noexcept {
  most_ = std::min(most, Descriptors::kMost);
  looking_ = true;
}

void UnixCarrier::look_no_more() noexcept {
  looking_ = false;
  came_.clear();
}

// The system ends a receive after bytes that carry descriptors: a short receive does not mean that there is
// no more.
Moved UnixCarrier::receive_with_descriptors(std::span<const iovec> into) {
  if (in_child()) return Moved::failed(EPIPE);
  alignas(cmsghdr) std::byte control[kControlBytes];
  while (true) {
    msghdr message = message_of(into, control);
    const ssize_t got = ::recvmsg(fd(), &message, MSG_CMSG_CLOEXEC);
    if (got >= 0) take_in(message);
    if (got > 0) return Moved::some(static_cast<std::size_t>(got), false);
    if (got == 0) return Moved::ended();
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Moved::blocked();
    if (errno != EINTR) return Moved::failed(errno);
  }
}

// Each descriptor is owned before anything is judged. The system has closed descriptors without a place in
// the message, and those for which this process has no number left: the former are the peer's fault, and
// without the latter the carrier does not come up.
void UnixCarrier::take_in(msghdr& message) noexcept {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, reinterpret_cast<const std::byte*>(part) + at, sizeof fd);
      if (!came_.add(Descriptor{fd})) unasked_ = true;
    }
  }
  const bool cut = (message.msg_flags & MSG_CTRUNC) != 0;
  if (came_.size() > most_ || (cut && came_.size() == Descriptors::kMost)) unasked_ = true;
  if (unasked_ || cut) came_.clear();
}

// A user may have a bounded number of descriptors on their way, RLIMIT_NOFILE for each process. Beyond it the
// bytes leave alone: the peer's end then lacks descriptors, and the base carrier goes on.
Moved UnixCarrier::send_with_descriptors(std::span<const iovec> from) {
  if (in_child()) return Moved::failed(EPIPE);
  if (ahead_ > 0) return send_ahead(from.front());
  alignas(cmsghdr) std::byte control[kControlBytes] = {};
  const std::size_t bytes = to_pass_.size() * sizeof(int);
  msghdr message = message_of(from, {control, CMSG_SPACE(bytes)});
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(bytes);
  for (std::size_t i = 0; i < to_pass_.size(); ++i) {
    const int fd = to_pass_[i].get();
    std::memcpy(CMSG_DATA(part) + i * sizeof fd, &fd, sizeof fd);
  }
  while (true) {
    const ssize_t sent = ::sendmsg(fd(), &message, MSG_NOSIGNAL);
    if (sent >= 0) {
      to_pass_.clear();
      return Moved::some(static_cast<std::size_t>(sent), false);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Moved::blocked();
    if (errno == ETOOMANYREFS) {
      to_pass_.clear();
      return TcpCarrier::send(from, 0);
    }
    if (errno != EINTR) return Moved::failed(errno);
  }
}

// A send of their own, so that they begin the next one: the system passes descriptors with its first byte.
Moved UnixCarrier::send_ahead(iovec first) {
  first.iov_len = std::min(first.iov_len, ahead_);
  const Moved moved = TcpCarrier::send({&first, 1}, 0);
  if (moved.kind == Moved::Kind::kSome) ahead_ -= moved.bytes;
  return moved;
}

}  // namespace weft::detail::tcp
