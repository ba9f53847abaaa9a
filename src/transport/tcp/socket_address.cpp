// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/socket_address.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <memory>

#include "weft/detail/base/peer_text.hpp"

namespace weft::detail::tcp {

namespace {

Status wrong(const std::string& message) {
  return {StatusCode::kInvalidArgument, Layer::kTransport, message};
}

template <typename Native>
SocketAddress from_native(const Native& native, std::size_t length = sizeof(Native)) {
  SocketAddress address;
  std::memcpy(&address.storage, &native, sizeof native);
  address.length = static_cast<socklen_t>(length);
  return address;
}

template <typename Native>
Native to_native(const SocketAddress& address) {
  Native native{};
  std::memcpy(&native, &address.storage, sizeof native);
  return native;
}

Result<SocketAddress> unix_address(const std::string& path) {
  sockaddr_un native{};
  native.sun_family = AF_UNIX;
  if (path.size() >= sizeof native.sun_path) {
    return wrong("the path of a Unix socket has at most " + std::to_string(sizeof native.sun_path - 1) +
                 " bytes, this one has " + std::to_string(path.size()));
  }
  std::memcpy(native.sun_path, path.data(), path.size());
  return from_native(native, offsetof(sockaddr_un, sun_path) + path.size() + 1);
}

Result<std::vector<SocketAddress>> ask_system(const std::string& host, std::uint16_t port, int flags,
                                              int& outcome) {
  // The system would take both for the loopback address, which is not the intention.
  if (host.empty() || host == "*") {
    outcome = EAI_FAIL;
    return wrong("\"" + host +
                 "\" is not a host; 0.0.0.0 stands for every IPv4 address, [::] for every IPv6 address");
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  outcome = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (outcome != 0) {
    const auto code = outcome == EAI_MEMORY ? StatusCode::kResourceExhausted : StatusCode::kUnavailable;
    return Status{code, Layer::kTransport,
                  [&] { return "look up \"" + host + "\": " + ::gai_strerror(outcome); }, outcome};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{list, &::freeaddrinfo};
  std::vector<SocketAddress> found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress address;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.length = entry->ai_addrlen;
    found.push_back(address);
  }
  return found;
}

bool lacks_scope(const SocketAddress& address) {
  if (address.family() != AF_INET6) return false;
  const auto native = to_native<sockaddr_in6>(address);
  return IN6_IS_ADDR_LINKLOCAL(&native.sin6_addr) && native.sin6_scope_id == 0;
}

// No name has a colon, so none is looked up for it. An interface may come later.
Status no_such_address(const std::string& host) {
  const std::size_t scope = host.find('%');
  if (scope == host.npos) return wrong("\"" + host + "\" is no IPv6 address");
  return {StatusCode::kUnavailable, Layer::kTransport,
          "\"" + host + "\": this machine has no interface \"" + host.substr(scope + 1) + "\""};
}

/// Returns "%" and the name of the interface that an address of one link belongs to; its number when it has
/// gone.
std::string scope_of(const sockaddr_in6& native) {
  if (native.sin6_scope_id == 0) return {};
  char name[IF_NAMESIZE] = "";
  if (::if_indextoname(native.sin6_scope_id, name) != nullptr) return std::string{"%"} + name;
  return "%" + std::to_string(native.sin6_scope_id);
}

}  // namespace

Result<std::vector<SocketAddress>> addresses_of(const Url& url) {
  if (url.scheme == "unix") {
    auto address = unix_address(url.host);
    if (!address) return std::move(address).status();
    return std::vector<SocketAddress>{*address};
  }
  int outcome = 0;
  if (url.host != "localhost") {
    auto found = ask_system(url.host, url.port, AI_NUMERICHOST, outcome);
    if (found.ok() && lacks_scope(found->front())) {
      return wrong("\"" + url.host +
                   "\" is an address of one link: name the interface too, as in fe80::1%eth0");
    }
    if (found.ok() || outcome != EAI_NONAME) return found;
    if (url.host.find(':') != url.host.npos) return no_such_address(url.host);
    return std::vector<SocketAddress>{};
  }
  auto found = ask_system("127.0.0.1", url.port, AI_NUMERICHOST, outcome);
  if (!found) return found;
  auto sixth = ask_system("::1", url.port, AI_NUMERICHOST, outcome);
  if (sixth.ok()) found->insert(found->end(), sixth->begin(), sixth->end());
  return found;
}

Result<std::vector<SocketAddress>> blocking_look_up(const std::string& host, std::uint16_t port) {
  int outcome = 0;
  return ask_system(host, port, AI_ADDRCONFIG, outcome);
}

Result<SocketAddress> parse_local_address(const std::string& text) {
  const bool bare_v6 = !text.starts_with('[') && text.find(':') != text.rfind(':');
  const std::size_t port_at = text.starts_with('[') ? text.find("]:") : text.find(':');
  Url url{"tcp", text, 0};
  if (!bare_v6 && port_at != std::string::npos) {
    auto parsed = Url::parse("tcp://" + text);
    if (!parsed) return std::move(parsed).status();
    url = *std::move(parsed);
  }
  auto addresses = addresses_of(url);
  if (!addresses) return std::move(addresses).status();
  if (addresses->empty()) return wrong("\"" + text + "\" is not a numeric address to bind to");
  return addresses->front();
}

Url url_of(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.family() == AF_INET) {
    const auto native = to_native<sockaddr_in>(address);
    ::inet_ntop(AF_INET, &native.sin_addr, text, sizeof text);
    return {"tcp", text, ntohs(native.sin_port)};
  }
  if (address.family() == AF_INET6) {
    const auto native = to_native<sockaddr_in6>(address);
    ::inet_ntop(AF_INET6, &native.sin6_addr, text, sizeof text);
    return {"tcp", text + scope_of(native), ntohs(native.sin6_port)};
  }
  const auto native = to_native<sockaddr_un>(address);
  const std::size_t head = offsetof(sockaddr_un, sun_path);
  const std::size_t size = address.length > head ? address.length - head : 0;
  return {"unix", std::string{native.sun_path, ::strnlen(native.sun_path, size)}, 0};
}

std::string endpoint_text(const SocketAddress& address, const SocketAddress& other) {
  const Url url = url_of(address);
  return peer_text((url.host.empty() ? url_of(other) : url).to_string());
}

SocketAddress local_address_of(int fd) {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (::getsockname(fd, address.get(), &address.length) != 0) address.length = 0;
  return address;
}

}  // namespace weft::detail::tcp
