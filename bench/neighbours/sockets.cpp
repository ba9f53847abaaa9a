// SPDX-License-Identifier: Apache-2.0
#include "neighbours/sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace weft::neighbours {
namespace {

bool is_tcp(int fd) {
  int protocol = 0;
  socklen_t size = sizeof protocol;
  return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
}

}  // namespace

bool set_congestion(const std::string& name) {
  if (name.empty()) return true;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    const int fd = std::stoi(entry.path().filename().string());
    if (!is_tcp(fd)) continue;
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0)
      continue;
    std::fprintf(stderr, "congestion control '%s': %s\n", name.c_str(), std::strerror(errno));
    return false;
  }
  return true;
}

}  // namespace weft::neighbours
