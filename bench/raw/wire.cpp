// SPDX-License-Identifier: Apache-2.0
#include "raw/wire.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace weft::raw {

bool strip_tls(std::string& url) {
  if (!url.starts_with("tls://")) return false;
  url.replace(0, 3, "tcp");
  return true;
}

ssize_t Wire::receive_plain(std::byte* to, std::size_t room) {
  const ssize_t got = ::recv(fd(), to, room, 0);
  if (got > 0) return got;
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  return -1;
}

ssize_t Wire::send_plain(Bytes bytes) {
  const ssize_t sent = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return sent;
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

ssize_t Wire::send_plain(std::span<iovec> pieces) {
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  const ssize_t sent = ::sendmsg(fd(), &message, MSG_NOSIGNAL);
  if (sent >= 0) return sent;
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

}  // namespace weft::raw
