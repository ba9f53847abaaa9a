// SPDX-License-Identifier: Apache-2.0
#include "side_channel.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "fail.hpp"

namespace weft::bench {
namespace {

[[noreturn]] void fail_with_errno(const char* what) {
  fail(std::string{what} + ": " + std::strerror(errno));
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int make_socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail_with_errno("making a socket");
  return fd;
}

int without_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

}  // namespace

SideChannel SideChannel::accept_one(std::uint16_t port) {
  const int listening = make_socket();
  sockaddr_in address = loopback(port);
  socklen_t size = sizeof address;
  if (::bind(listening, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listening, 1) != 0 ||
      ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail_with_errno("listening");
  }
  std::printf("listening on 127.0.0.1:%u\n", unsigned{ntohs(address.sin_port)});
  std::fflush(stdout);
  const int fd = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) fail_with_errno("accepting");
  ::close(listening);
  return SideChannel{without_delay(fd)};
}

SideChannel SideChannel::connect(std::uint16_t port) {
  const int fd = make_socket();
  const sockaddr_in address = loopback(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail_with_errno("connecting (does the server run?)");
  }
  return SideChannel{without_delay(fd)};
}

SideChannel::SideChannel(SideChannel&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

SideChannel::~SideChannel() {
  if (fd_ >= 0) ::close(fd_);
}

void SideChannel::send(Bytes bytes) const {
  send_value(std::uint64_t{bytes.size()});
  write(bytes.data(), bytes.size());
}

std::vector<std::byte> SideChannel::receive() const {
  std::vector<std::byte> bytes(receive_value<std::uint64_t>());
  read(bytes.data(), bytes.size());
  return bytes;
}

bool SideChannel::other_is_here() const {
  std::byte here{};
  const ssize_t got = ::recv(fd_, &here, 1, MSG_DONTWAIT);
  if (got == 0) fail("the other side is gone");
  if (got < 0 && errno != EAGAIN && errno != EINTR) fail_with_errno("receiving");
  if (got == 1 && here != kHere) fail("the other side does something else");
  return got == 1;
}

void SideChannel::write(const void* data, std::size_t size) const {
  const auto* at = static_cast<const std::byte*>(data);
  while (size > 0) {
    const ssize_t wrote = ::send(fd_, at, size, MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail_with_errno("sending");
    at += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
}

void SideChannel::read(void* data, std::size_t size) const {
  auto* at = static_cast<std::byte*>(data);
  while (size > 0) {
    const ssize_t got = ::recv(fd_, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno("receiving");
    if (got == 0) fail("the other side is gone");
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

}  // namespace weft::bench
