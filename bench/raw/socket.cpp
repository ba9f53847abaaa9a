// SPDX-License-Identifier: Apache-2.0
#include "raw/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::raw {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kUnix = "unix://";

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Status bad_url(const std::string& url, std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          "'" + url + "': " + std::string{why} + "; write tcp://HOST:PORT or unix:///path"};
}

Result<Address> unix_address(const std::string& url) {
  const std::string path = url.substr(kUnix.size());
  Address address;
  auto* name = reinterpret_cast<sockaddr_un*>(&address.storage);
  if (path.empty() || path[0] != '/') return bad_url(url, "the path must begin with /");
  if (path.size() >= sizeof name->sun_path) return bad_url(url, "the path is longer than 107 bytes");
  name->sun_family = AF_UNIX;
  std::memcpy(name->sun_path, path.c_str(), path.size() + 1);
  address.length = sizeof(sockaddr_un);
  return address;
}

Result<Address> tcp_address(const std::string& url) {
  const std::string rest = url.substr(kTcp.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string::npos || colon + 1 == rest.size()) return bad_url(url, "there is no port");
  std::string host = rest.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), rest.c_str() + colon + 1, &hints, &found);
  if (error != 0) return bad_url(url, gai_strerror(error));
  Address address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.length = found->ai_addrlen;
  freeaddrinfo(found);
  return address;
}

Result<Address> resolve(const std::string& url) {
  if (url.starts_with(kUnix)) return unix_address(url);
  if (url.starts_with(kTcp)) return tcp_address(url);
  return bad_url(url, "this scheme is not known here");
}

/// Makes the socket and sets what both sides of a comparison must have alike.
Result<Fd> make_socket(const Address& address, const std::string& congestion) {
  Fd fd{socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (!fd) return weft::detail::errno_status(Layer::kTransport, "make a socket", errno);
  if (address.family() == AF_UNIX) return fd;
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!congestion.empty() && setsockopt(fd.get(), IPPROTO_TCP, TCP_CONGESTION, congestion.data(),
                                        static_cast<socklen_t>(congestion.size())) != 0) {
    return weft::detail::errno_status(
        Layer::kTransport,
        "use congestion control '" + congestion +
            "' (sysctl net.ipv4.tcp_available_congestion_control lists what there is)",
        errno);
  }
  return fd;
}

void set_nonblocking(const Fd& fd) {
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

/// The file of a server that has gone stays behind and would keep its place for ever.
void remove_stale_socket(const Address& address) {
  const Fd probe{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (connect(probe.get(), address.get(), address.length) == 0 || errno != ECONNREFUSED) return;
  unlink(reinterpret_cast<const sockaddr_un*>(&address.storage)->sun_path);
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

Result<Fd> listen_on(const std::string& url, const std::string& congestion) {
  const auto address = resolve(url);
  if (!address) return address.status();
  auto fd = make_socket(*address, congestion);
  if (!fd) return fd;
  if (address->family() == AF_UNIX) remove_stale_socket(*address);
  const int on = 1;
  setsockopt(fd->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd->get(), address->get(), address->length) != 0 || listen(fd->get(), 4096) != 0) {
    const int error = errno;
    return weft::detail::errno_status(Layer::kTransport, "listen on " + url + " (port 0 takes any free one)",
                                      error);
  }
  set_nonblocking(*fd);
  return fd;
}

Result<std::string> listening_url(const Fd& listener, const std::string& asked) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return weft::detail::errno_status(Layer::kTransport, "read the listening address", errno);
  }
  char text[INET6_ADDRSTRLEN] = {};
  if (storage.ss_family == AF_INET) {
    const auto* name = reinterpret_cast<const sockaddr_in*>(&storage);
    inet_ntop(AF_INET, &name->sin_addr, text, sizeof text);
    return std::string{kTcp} + text + ":" + std::to_string(ntohs(name->sin_port));
  }
  if (storage.ss_family == AF_INET6) {
    const auto* name = reinterpret_cast<const sockaddr_in6*>(&storage);
    inet_ntop(AF_INET6, &name->sin6_addr, text, sizeof text);
    char scope[IF_NAMESIZE] = {};
    const bool scoped = name->sin6_scope_id != 0 && if_indextoname(name->sin6_scope_id, scope) != nullptr;
    return std::string{kTcp} + "[" + text + (scoped ? "%" : "") + scope +
           "]:" + std::to_string(ntohs(name->sin6_port));
  }
  return asked;
}

Result<Fd> accept_from(const Fd& listener) {
  Fd fd{accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
  if (!fd) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return fd;
    return weft::detail::errno_status(Layer::kTransport, "accept a connection", errno);
  }
  // Fails on Unix sockets, which have no Nagle to switch off.
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

Result<Fd> blocking_connect(const std::string& url, const std::string& congestion) {
  const auto address = resolve(url);
  if (!address) return address.status();
  auto fd = make_socket(*address, congestion);
  if (!fd) return fd;
  int outcome = 0;
  do {
    outcome = connect(fd->get(), address->get(), address->length);
  } while (outcome != 0 && errno == EINTR);
  if (outcome != 0) {
    const int error = errno;
    return weft::detail::errno_status(Layer::kTransport,
                                      "connect to " + url + " (is a server listening there?)", error);
  }
  set_nonblocking(*fd);
  return fd;
}

}  // namespace weft::raw
