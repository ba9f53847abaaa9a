// SPDX-License-Identifier: Apache-2.0
// Replaces the functions of the C library that a connection asks the kernel by.
#include "support/kernel_calls.hpp"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>

namespace weft::testing {

namespace {
std::size_t asked = 0;
}  // namespace

std::size_t kernel_calls() noexcept {
  return asked;
}

}  // namespace weft::testing

// The program's own names come before those of the C library, also for the library's callers.
extern "C" {
ssize_t read(int fd, void* data, size_t size) {
  ++weft::testing::asked;
  return ::syscall(SYS_read, fd, data, size);
}
ssize_t write(int fd, const void* data, size_t size) {
  ++weft::testing::asked;
  return ::syscall(SYS_write, fd, data, size);
}
ssize_t sendto(int fd, const void* data, size_t size, int flags, const sockaddr* to, socklen_t length) {
  ++weft::testing::asked;
  return ::syscall(SYS_sendto, fd, data, size, flags, to, length);
}
ssize_t recvfrom(int fd, void* data, size_t size, int flags, sockaddr* from, socklen_t* length) {
  ++weft::testing::asked;
  return ::syscall(SYS_recvfrom, fd, data, size, flags, from, length);
}
int ioctl(int fd, unsigned long request, ...) noexcept {
  ++weft::testing::asked;
  std::va_list more;
  va_start(more, request);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
}
ssize_t send(int fd, const void* data, size_t size, int flags) {
  ++weft::testing::asked;
  return ::syscall(SYS_sendto, fd, data, size, flags, nullptr, 0);
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  ++weft::testing::asked;
  return ::syscall(SYS_sendmsg, fd, message, flags);
}
ssize_t recv(int fd, void* data, size_t size, int flags) {
  ++weft::testing::asked;
  return ::syscall(SYS_recvfrom, fd, data, size, flags, nullptr, nullptr);
}
ssize_t readv(int fd, const iovec* pieces, int count) {
  ++weft::testing::asked;
  return ::syscall(SYS_readv, fd, pieces, count);
}
int epoll_wait(int fd, epoll_event* events, int count, int milliseconds) {
  ++weft::testing::asked;
  return static_cast<int>(::syscall(SYS_epoll_pwait, fd, events, count, milliseconds, nullptr, 8));
}
int epoll_pwait2(int fd, epoll_event* events, int count, const timespec* timeout, const sigset_t* mask) {
  ++weft::testing::asked;
  return static_cast<int>(::syscall(SYS_epoll_pwait2, fd, events, count, timeout, mask, 8));
}
}
