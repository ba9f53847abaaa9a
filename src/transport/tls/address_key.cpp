// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/address_key.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::detail::tls {

namespace {

constexpr std::uint64_t kFnvPrime = 0x100000001b3;

// The first bits of no peer's IPv6 address.
constexpr std::uint64_t kIpv4 = std::uint64_t{0xffff} << 48;

std::uint64_t of_ipv4(const unsigned char* bytes) noexcept {
  std::uint64_t key = 0;
  for (int i = 0; i < 4; ++i) key = key << 8 | bytes[i];
  return kIpv4 | key;
}

}  // namespace

std::uint64_t address_key(std::string_view endpoint) noexcept {
  const std::size_t scheme = endpoint.find("://");
  const std::size_t colon = endpoint.rfind(':');
  if (scheme == std::string_view::npos || colon < scheme + 3) return 0;
  std::string_view host = endpoint.substr(scheme + 3, colon - scheme - 3);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string_view scope = host.substr(std::min(host.find('%'), host.size()));
  host.remove_suffix(scope.size());
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (host.size() >= text.size()) return 0;
  std::ranges::copy(host, text.begin());
  in_addr ipv4{};
  if (::inet_pton(AF_INET, text.data(), &ipv4) == 1) {
    return of_ipv4(reinterpret_cast<const unsigned char*>(&ipv4));
  }
  in6_addr ipv6{};
  if (::inet_pton(AF_INET6, text.data(), &ipv6) != 1) return 0;
  if (IN6_IS_ADDR_V4MAPPED(&ipv6)) return of_ipv4(ipv6.s6_addr + 12);
  std::uint64_t network = 0;
  for (int i = 0; i < 8; ++i) network = network << 8 | ipv6.s6_addr[i];
  // Each link has the same network.
  for (const char c : scope) network = (network ^ static_cast<unsigned char>(c)) * kFnvPrime;
  return network + 1;  // that of ::1 is zero
}

}  // namespace weft::detail::tls
