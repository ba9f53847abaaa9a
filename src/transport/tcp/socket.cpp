// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace weft::detail::tcp {

namespace {

Status set(int fd, int level, int option, int value, const char* name) {
  if (::setsockopt(fd, level, option, &value, sizeof value) == 0) return {};
  return errno_status(Layer::kTransport, std::string{"set socket option "} + name, errno);
}

Status set_if(bool wanted, int fd, int level, int option, int value, const char* name) {
  return wanted ? set(fd, level, option, value, name) : Status{};
}

int seconds_of(Duration duration) {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(duration).count();
  return static_cast<int>(std::clamp<std::int64_t>(whole, 1, 32767));
}

int milliseconds_of(Duration duration) {
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<std::int64_t>(whole, 1, 2'000'000'000));
}

Status apply_keepalive(const TcpOptions& options, int fd) {
  Status status = set(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE");
  if (status.ok()) {
    status = set(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds_of(options.keepalive_idle),
                 "TCP_KEEPIDLE (TcpOptions::keepalive_idle)");
  }
  if (status.ok()) {
    status = set_if(options.keepalive_interval > Duration::zero(), fd, IPPROTO_TCP, TCP_KEEPINTVL,
                    seconds_of(options.keepalive_interval), "TCP_KEEPINTVL (TcpOptions::keepalive_interval)");
  }
  if (status.ok()) {
    status = set_if(options.keepalive_count > 0, fd, IPPROTO_TCP, TCP_KEEPCNT, options.keepalive_count,
                    "TCP_KEEPCNT (TcpOptions::keepalive_count)");
  }
  return status;
}

Status apply_tcp(const TcpOptions& options, int fd) {
  Status status = set(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
  if (status.ok() && options.keepalive_idle > Duration::zero()) status = apply_keepalive(options, fd);
  if (status.ok()) {
    status = set_if(options.user_timeout > Duration::zero(), fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
                    milliseconds_of(options.user_timeout), "TCP_USER_TIMEOUT (TcpOptions::user_timeout)");
  }
  if (!status.ok() || options.congestion.empty()) return status;
  if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options.congestion.data(),
                   static_cast<socklen_t>(options.congestion.size())) == 0) {
    return {};
  }
  return errno_status(Layer::kTransport, "set congestion control \"" + options.congestion + "\"", errno);
}

}  // namespace

void Socket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Socket> open_socket(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno_status(Layer::kTransport, "open a socket", errno);
  return Socket{fd};
}

Status apply(const TcpOptions& options, int fd, int family) {
  Status status = set_if(options.send_buffer_bytes > 0, fd, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes,
                         "SO_SNDBUF (TcpOptions::send_buffer_bytes)");
  if (status.ok()) {
    status = set_if(options.receive_buffer_bytes > 0, fd, SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes,
                    "SO_RCVBUF (TcpOptions::receive_buffer_bytes)");
  }
  if (status.ok() && family != AF_UNIX) status = apply_tcp(options, fd);
  return status;
}

}  // namespace weft::detail::tcp
