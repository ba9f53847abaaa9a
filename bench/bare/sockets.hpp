// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace weft::bare {

/// Ends the program, which cannot measure without `what`; errno says why.
[[noreturn]] inline void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// Two ends of a tcp connection over loopback, without Nagle's algorithm at the one that sends.
struct Sockets {
  Sockets() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener, at, size) != 0 || ::listen(listener, 1) != 0) fail("listen");
    ::getsockname(listener, at, &size);
    sends = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(sends, at, size) != 0) fail("connect");
    receives = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (receives < 0) fail("accept");
    ::close(listener);
    const int on = 1;
    ::setsockopt(sends, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Sockets() {
    ::close(sends);
    ::close(receives);
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  int sends = -1;
  int receives = -1;
};

}  // namespace weft::bare
